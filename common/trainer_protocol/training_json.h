// A training as its canonical JSON and back. Pure.
#pragma once

#include <string_view>

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

}  // namespace noisefloor
