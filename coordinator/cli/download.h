// Downloads with resume and a pinned SHA-256. The only file that meets libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"

namespace noisefloor::cli {

struct DownloadRequest {
  std::string url;
  std::string path;    // Where the file goes; what has come so far waits in `path`.part.
  std::string sha256;  // Lower-case hexadecimal.
  // Called now and then; `total` is 0 when the server does not say. May be empty.
  std::function<void(uint64_t received, uint64_t total)> progress;
  // Asked now and then: true ends the download and keeps the part. May be empty.
  std::function<bool()> stop;
};

// Nothing when `path` is there with this hash. Goes on after what is in the part, if the server
// can; a part whose whole turns out wrong is removed. NotFound, Unavailable (try again), DataLoss
// (wrong hash: expected and got), Cancelled.
absl::Status Download(const DownloadRequest& request);

}  // namespace noisefloor::cli
