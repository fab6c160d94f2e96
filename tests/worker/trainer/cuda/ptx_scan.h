// What the compiled kernels may not hold, read from their PTX.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor::cuda {

struct PtxScan {
  std::vector<std::string> kernels;   // Entries, in their order.
  std::vector<std::string> atomics;   // Those with atomics.
  std::vector<std::string> findings;  // "KERNEL: INSTRUCTION: why"; empty when nothing is wrong.
};

// Wrong are: multiplications and additions that are one operation, or that the assembler may make
// one (without a named rounding); flush to zero; approximations; half precision; atomics in a
// kernel of which `may_be_noisy` says no.
PtxScan ScanPtx(std::string_view text, const std::function<bool(std::string_view)>& may_be_noisy);

}  // namespace noisefloor::cuda
