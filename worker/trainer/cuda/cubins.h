// The compiled kernels, embedded in the program: one module for each architecture.
#pragma once

#include <span>
#include <vector>

namespace noisefloor::cuda {

struct Cubin {
  int architecture = 0;                 // As in kArchitectures.
  std::span<const unsigned char> code;  // An ELF file, as cuModuleLoadData takes it.
};

// In the order of kArchitectures. The bytes live as long as the program.
std::vector<Cubin> AllCubins();

}  // namespace noisefloor::cuda
