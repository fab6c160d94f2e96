// What a worker has, in words.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/v1/common.pb.h"

namespace noisefloor::cli {

// Each once, in the order of the offers.
std::vector<std::string> ClassesOf(const v1::Inventory& inventory);
std::vector<std::string> StacksOf(const v1::Inventory& inventory);
// "cpu-intel-avx512, cpu-intel-avx2".
std::string ClassesText(const v1::Inventory& inventory);
// "8 NVIDIA H200, Intel(R) Xeon(R) ...": those that some slot has.
std::string DevicesText(const v1::Inventory& inventory);
// "8 nvidia-h200, 16 cpu-intel-avx512 or cpu-intel-avx2".
std::string SlotsText(const v1::Inventory& inventory);
// "GPU-8a3f (Tesla V100) from torch-2.11-cu130 as nvidia-v100-32gb: no kernel image".
std::string WithheldText(const v1::Withheld& withheld);

}  // namespace noisefloor::cli
