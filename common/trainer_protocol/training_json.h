// A training as its canonical JSON and back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/training.h"

namespace noisefloor {

// What TrainingToJson writes.
Json TrainingAsJson(const Training& training);
// Of what TrainingToJson writes, whoever's settings it holds. InvalidArgument names the path of
// what is no setting, and of what is missing or wrong besides settings.
absl::StatusOr<Training> TrainingFrom(const Json& json);
absl::StatusOr<Training> TrainingFromJson(std::string_view text);

// The levels of a lane rule, a list of whole numbers that is not empty; nothing where it is none.
std::optional<std::vector<uint32_t>> LevelsFrom(const Json& json);

}  // namespace noisefloor
