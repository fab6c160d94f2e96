// From a member's seeds to one drawer per source: the only place where seeds become state.
#pragma once

#include <cstdint>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/noise/draws.h"
#include "worker/trainer/noise/order.h"

namespace noisefloor::trainer {

// A value; any thread. Sources share nothing: another seed of one leaves the others' draws alone.
struct Streams {
  InitDraws init;
  DataOrder data_order;
  AugmentDraws augment;
  DropoutDraws dropout;
  DialDraws dial;
  int64_t threads = 1;  // Drawn when `threads` is on, else train.threads.
  int64_t load = 0;     // Busy threads beside the training: drawn when `load` is on.
};

// The specification must be a checked one.
Streams MakeStreams(const Specification& specification);

}  // namespace noisefloor::trainer
