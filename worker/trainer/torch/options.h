// The command line of noisefloor-trainer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace noisefloor::trainer {

struct Options {
  enum class Mode : uint8_t {
    kServe,       // Read one request on standard input: what the daemon does.
    kServeForks,  // Fork a process for each request on the socket that is standard input.
    kDirect,      // --spec: a person's own run.
    kDescribe,
    kProbe,  // `probed_class`.
    kExampleSpec,
    kPrint,    // Help or version: `text`.
    kMistake,  // `text` says which.
  };
  Mode mode = Mode::kServe;
  std::string text;  // With its last newline.
  bool gpu = false;  // Open CUDA before the request comes.
  std::string probed_class;
  std::string specification_file;
  std::string data_root;
  std::string cache;  // Folder of worker/trainer/data/data_cache.h; empty: none.
  uint64_t cache_limit_bytes = 0;
  std::string checkpoints;  // Folder of worker/trainer/checkpoint; empty: none are kept.
  absl::Duration checkpoint_every = absl::Seconds(60);  // Infinite: only when asked to stop.
  std::string work_directory;
  std::string weights;  // To be evaluated; empty: train.
  bool write_evaluation_set = false;
};

// `stack`: what --version names.
Options ParseOptions(int argc, char** argv, std::string_view stack);

}  // namespace noisefloor::trainer
