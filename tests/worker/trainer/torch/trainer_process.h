// Runs the real noisefloor-trainer as a child and gathers what it says. For tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/trainer_protocol/json.h"
#include "tests/worker/trainer/torch/synthetic_data.h"

namespace noisefloor::trainer {

struct Ran {
  int exit_code = -1;  // 128 + signal when one ended it.
  std::vector<TrainerEvent> events;
  std::string output;  // Standard output and error together.

  const Outcome& outcome() const;   // The last event; fails the test without one.
  const HelloEvent& hello() const;  // The first.
  std::string Hash(const std::string& name) const;
  std::vector<Record> RecordsOf(const std::string& metric) const;  // As they came.
};

struct RunOptions {
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> variables = {};
  uint64_t memory_limit_bytes = 0;         // Of address space; 0: none.
  bool stop_after_first_progress = false;  // Sends SIGTERM then.
  bool keep_input_open = false;            // The request's end does not come.
  bool nobody_hears = false;               // Who would read its events has gone.
};

// `input` is what the child reads on standard input.
Ran RunTrainer(const std::string& input, const RunOptions& options = {});
Ran RunTrainer(const TrainerRequest& request, const RunOptions& options = {});

// A small, quick training of a network on synthetic data: all sources fixed, 256 + 200 examples, 2
// epochs. The work directory is new.
TrainerRequest SmallRequest(const std::string& model = "small_cnn");

// Frees one source, on another lane than the fixed one.
void Free(Specification& specification, NoiseSource source, uint32_t replicate = 0);

}  // namespace noisefloor::trainer
