// The stacks that noisefloor builds its trainer with: deploy/stacks, as it was when this was built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

struct KnownStack {
  std::string name;                        // "torch-2.7-cu126"
  std::string libtorch;                    // "2.7.1"
  std::string cuda;                        // "12.6"
  std::string gpus;                        // For people: which run it.
  int64_t megabytes = 0;                   // To download.
  std::vector<std::string> architectures;  // That its own kernels are made for: "sm_70".
  std::vector<std::string> lacks;          // What newer ones have, and what is done instead.
  std::string lock;                        // Text of its lock file: packages with hashes.
};

// By name. Lives for ever.
const std::vector<KnownStack>& KnownStacks();
// Null when there is none.
const KnownStack* FindKnownStack(std::string_view name);
// That of the program noisefloor-trainer; the others have their names behind it.
std::string_view DefaultStack();

// "torch==2.7.1\n...": the packages of a lock file, a line each, without hashes.
std::string PackagesOf(const KnownStack& stack);

}  // namespace noisefloor
