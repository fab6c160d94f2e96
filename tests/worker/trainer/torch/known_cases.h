// Small trainings whose results are known: one for each network and, together, nearly every
// setting.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/trainer_protocol/json.h"

namespace noisefloor::trainer {

struct KnownCase {
  std::string name;
  TrainerRequest (*request)();  // The work directory is new; no hardware class.
  // How far rounding may take the training from float64: a tensor of weights, in units of the
  // distance that it moved; logits, of the largest. Where an input of a ReLU or of a maximum lies
  // within rounding of the other side, a gradient goes another way; in a large network some do.
  double rounding = 1e-3;
};
void PrintTo(const KnownCase& known, std::ostream* out);

const std::vector<KnownCase>& KnownCases();

}  // namespace noisefloor::trainer
