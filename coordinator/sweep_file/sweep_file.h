// A sweep file: YAML to the protocol's Sweep, with the place of every field. What the command line
// and the coordinator read alike.
//
// Required: name, noise. Left out: seed 0, hardware all, replicates 1, blocks 1, and the defaults
// of the trainer's settings. Every mistake is found, not only the first. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/schema.h"
#include "coordinator/sweep_file/yaml_tree.h"
#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor::sweep_file {

// The settings of a stack, "" = of a sweep that names none. NotFound, in words, when nobody has
// told of it: a mistake of the file. Any other error is passed on.
using SchemaSource = std::function<absl::StatusOr<SettingsSchemaRef>(const std::string& stack)>;

// Of our own stacks; another one is NotFound.
absl::StatusOr<SettingsSchemaRef> OwnSettings(const std::string& stack);

// Where every field stands, by its path: "noise[2].init".
using Places = std::map<std::string, Place>;
// The place of the field, or of the nearest thing round it.
Place PlaceOf(const Places& places, std::string path);

struct Parsed {
  v1::Sweep sweep;  // Only when there are no mistakes.
  Places places;
  std::vector<Mistake> mistakes;
  std::string design = {};  // "noise[2]": where the plan that `design` is stands.
};
absl::StatusOr<Parsed> Parse(std::string_view text, const SchemaSource& settings);

struct SweepFile {
  std::string path;  // As the user wrote it.
  std::string text;  // All of it.
  v1::Sweep sweep;
  Places places;
  std::string design;  // "noise[2]": where the plan that `design` is stands; "": there is none.
};

// A mistake is a line of the message: "FILE:LINE:COLUMN: PATH: expected ..., got ...".
absl::StatusOr<SweepFile> ParseSweep(std::string_view text, const std::string& path,
                                     const SchemaSource& settings);
absl::StatusOr<SweepFile> ReadSweepFile(const std::string& path, const SchemaSource& settings);

// Gives the mistakes that the coordinator found (BadSweep) their places in the file. Any other
// status stays as it is.
absl::Status WithPlaces(const absl::Status& status, const SweepFile& file);

}  // namespace noisefloor::sweep_file
