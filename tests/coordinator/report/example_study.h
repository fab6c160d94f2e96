// A made-up study with the shape of a real one: control, algo and impl on three CPU classes, with
// a known control failure, a retry and mixed values in the environment. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "coordinator/report/study_input.h"

namespace noisefloor::report {

struct ExampleOptions {
  uint32_t replicates = 4;
  int64_t examples = 120;
  int32_t classes = 10;
  int32_t side = 20;           // Of the square grey images.
  bool break_control = false;  // One member of cell 2 gets other bits from evaluation 2 on.
  bool groups = false;         // Every third example is of an old camera.
  bool silent_impl = false;    // impl gives the bits of control on every class.
};

// Owns the matrices that `input` views. Not copyable; movable.
struct ExampleStudy {
  ExampleStudy() = default;
  ExampleStudy(ExampleStudy&&) = default;
  ExampleStudy& operator=(ExampleStudy&&) = default;
  ExampleStudy(const ExampleStudy&) = delete;
  ExampleStudy& operator=(const ExampleStudy&) = delete;

  MemberInput& Member(const std::string& id);

  StudyInput input;
  std::vector<std::vector<float>> logits;   // One for each member.
  std::vector<std::vector<float>> weights;  // Parameters, then two buffers.
  std::vector<uint8_t> images;
  // Of each member each evaluation's.
  std::vector<std::vector<int16_t>> answers_on_the_way;
  std::vector<std::vector<float>> weights_on_the_way;
};

ExampleStudy MakeExampleStudy(const ExampleOptions& options = {});

}  // namespace noisefloor::report
