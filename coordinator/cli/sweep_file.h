// Reads a sweep file: YAML to the protocol's Sweep, with the place of every field.
//
// Required: name, noise. Left out: seed 0, hardware all, replicates 1, blocks 1, and the defaults
// of the table of settings. Every mistake is found, not only the first; each is one line,
// "FILE:LINE:COLUMN: PATH: expected ..., got ...". Thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coordinator/cli/yaml_tree.h"
#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor::cli {

struct SweepFile {
  std::string path;  // As the user wrote it.
  std::string text;  // All of it.
  v1::Sweep sweep;
  std::map<std::string, Place> places;  // By field path: "noise[2].init".
};

absl::StatusOr<SweepFile> ParseSweep(std::string_view text, const std::string& path);
absl::StatusOr<SweepFile> ReadSweepFile(const std::string& path);

// Gives the mistakes that the coordinator found (BadSweep) their places in the file. Any other
// status stays as it is.
absl::Status WithPlaces(const absl::Status& status, const SweepFile& file);

}  // namespace noisefloor::cli
