// The folder of one attempt, held open from before its trainer runs. Whatever the trainer makes of
// names afterwards, what is found here lies in that very folder and is reached through no link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/files/file_system.h"
#include "common/trainer_protocol/json.h"

namespace noisefloor {

// A regular file, open to be read.
struct FoundFile {
  std::unique_ptr<ReadableFile> file;
  uint64_t size_bytes = 0;
};

// Any thread.
class AttemptFolder {
 public:
  // `path` itself must be no link.
  static absl::StatusOr<AttemptFolder> Open(const std::string& path);
  ~AttemptFolder();
  AttemptFolder(AttemptFolder&& other) noexcept;
  AttemptFolder& operator=(AttemptFolder&&) = delete;

  // InvalidArgument says what is wrong with the path: nothing is there, a link is on the way, it is
  // no file (a pipe is not waited for, a device not touched). Other codes speak of the moment.
  absl::StatusOr<FoundFile> Find(const std::string& path) const;

 private:
  explicit AttemptFolder(int folder) : folder_(folder) {}

  int folder_ = -1;
};

// Below which artifacts have their paths, and where the trainer's output is.
inline constexpr char kWorkName[] = "work";
inline constexpr char kLogName[] = "log";

// Whether the artifact is what the trainer said: InvalidArgument names what differs; other codes
// speak of the moment. Reads all of it.
absl::Status CheckArtifact(const AttemptFolder& folder, const Artifact& artifact);

// The trainer's output as an artifact; size 0 when there is none.
Artifact DescribeLog(const AttemptFolder& folder);

}  // namespace noisefloor
