// A request that is right, to be broken in one place at a time.
#pragma once

#include <string>
#include <variant>
#include <vector>

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

inline sweep::Sweep MustResolve(const sweep::SweepRequest& request) {
  return std::get<sweep::Sweep>(sweep::Resolve(request, {"cpu-a", "cpu-b"}));
}

}  // namespace noisefloor::test
