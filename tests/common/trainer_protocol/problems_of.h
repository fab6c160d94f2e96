// What does not fit together in a specification, "PATH: MESSAGE" each.
#pragma once

#include <string>
#include <vector>

#include "common/trainer_protocol/fields.h"

namespace noisefloor {

inline std::vector<std::string> ProblemsOf(const Specification& specification) {
  std::vector<std::string> texts;
  for (const FieldProblem& problem : CheckTogether(specification)) {
    texts.push_back(problem.path + ": " + problem.message);
  }
  return texts;
}

}  // namespace noisefloor
