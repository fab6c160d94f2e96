// The built-in noise plans.
#include <algorithm>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

namespace {

SourceState& StateOf(SourceStates& states, NoiseSource source) {
  return states[static_cast<size_t>(source) - 1];
}

// Everything fixed, but for what acts only when it is asked for.
SourceStates Control() {
  SourceStates states;
  states.fill(SourceState::kFixed);
  StateOf(states, NoiseSource::kPoke) = SourceState::kOff;
  StateOf(states, NoiseSource::kThreads) = SourceState::kOff;
  return states;
}

SourceStates Freeing(bool algorithmic, bool physical) {
  SourceStates states = Control();
  for (const NoiseSource source : kAllNoiseSources) {
    SourceState& state = StateOf(states, source);
    if (state == SourceState::kOff) continue;
    if (IsPhysical(source) ? physical : algorithmic) state = SourceState::kFree;
  }
  return states;
}

}  // namespace

const SourceStates* BuiltInPlan(std::string_view name) {
  static const SourceStates control = Control();
  static const SourceStates algo = Freeing(true, false);
  static const SourceStates impl = Freeing(false, true);
  static const SourceStates both = Freeing(true, true);
  if (name == "control") return &control;
  if (name == "algo") return &algo;
  if (name == "impl") return &impl;
  if (name == "algo+impl") return &both;
  return nullptr;
}

bool IsControl(const SourceStates& states) {
  return std::ranges::find(states, SourceState::kFree) == states.end();
}

}  // namespace noisefloor::sweep
