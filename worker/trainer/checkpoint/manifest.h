// The last file of a checkpoint: what belongs to it, with sizes and hashes, and of what it is.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/checkpoint/checkpoint.h"

namespace noisefloor::trainer {

inline constexpr int64_t kCheckpointFormat = 1;

struct FileSum {
  std::string sha256;
  uint64_t size_bytes = 0;
};

struct Manifest {
  CheckpointIdentity identity;
  int64_t step = 0;
  Json facts;
  std::map<std::string, FileSum> files;  // Of the checkpoint's own folder.
  std::vector<KeptFile> kept;
};

// {"manifest":{...},"sha256":"..."}: the hash is of the manifest as canonical JSON, so that a digit
// that a disk has changed is seen.
std::string ManifestToJson(const Manifest& manifest);

// InvalidArgument, in words for a log, for text that is none, is not what was written, is of
// another format (a newer one is named as such) or of another identity than `mine`.
absl::StatusOr<Manifest> ManifestFromJson(std::string_view text, const CheckpointIdentity& mine);

}  // namespace noisefloor::trainer
