// What was kept of evaluations on the way: artifacts "predictions-3" and "weights-3" after the
// third.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "coordinator/inputs/study_source.h"

namespace noisefloor::inputs {

struct OnTheWay {
  std::string_view kind;   // That of the end: "predictions" or "weights". Static.
  int64_t evaluation = 0;  // From 1.
  friend auto operator<=>(const OnTheWay&, const OnTheWay&) = default;
};
// Absent of all other kinds.
std::optional<OnTheWay> ReadOnTheWay(std::string_view artifact_kind);

// Those of one kind, by evaluation; they live in `files`.
std::map<int64_t, const InputFile*> FilesOnTheWay(const StudySource::MemberFiles& files,
                                                  std::string_view kind);

}  // namespace noisefloor::inputs
