// A request that is right, to be broken in one place at a time.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "common/trainer_protocol/fields.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::test {

inline sweep::SweepRequest GoodRequest() {
  sweep::SweepRequest request;
  request.name = "first";
  request.training = {{"train.epochs", int64_t{2}}};
  request.noise = {{"control", "", {}}};
  request.hardware = sweep::HardwareKind::kList;
  request.classes = {"cpu-a"};
  return request;
}

// Two classes, and the stacks s and t with our settings.
inline sweep::Known TwoOfEach() {
  return {.classes = {"cpu-a", "cpu-b"}, .stacks = {{"s", OwnSchema()}, {"t", OwnSchema()}}};
}

inline sweep::Sweep MustResolve(const sweep::SweepRequest& request) {
  return std::get<sweep::Sweep>(sweep::Resolve(request, TwoOfEach()));
}

}  // namespace noisefloor::test
