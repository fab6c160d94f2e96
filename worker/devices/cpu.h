// The processor as hardware classes: the instruction sets that its libraries may use.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

struct CpuFacts {
  std::string vendor;  // "intel", "amd" or "other"
  std::string model;   // "AMD EPYC 9654 96-Core Processor"
  std::set<std::string, std::less<>> flags;
};

// From the text of /proc/cpuinfo; the first processor speaks for all. Of one that is no x86-64
// processor there are no flags, and so no classes.
CpuFacts ParseCpuInfo(std::string_view text);
CpuFacts ReadCpuFacts();

// "cpu-amd-avx512", "cpu-amd-avx2", "cpu-amd-sse": those whose kernels the processor can run, the
// fastest first.
std::vector<std::string> CpuClasses(const CpuFacts& facts);

// What a class of processors takes its kernels from and this processor lacks, in words: "AVX-512",
// "AVX2 with FMA", "SSE4.2". "" where it has all, of whatever vendor, and of other hardware.
std::string LackingSet(const CpuFacts& facts, std::string_view hardware_class);

// Cores that this process may run on, in order: what a container or a batch system left us.
absl::StatusOr<std::vector<int>> AvailableCores();

}  // namespace noisefloor
