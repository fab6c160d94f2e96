// How the GPUs of this machine are, for people. Devices that are offered are gpu.h's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace noisefloor {

// A process that computes on a GPU.
struct GpuUser {
  int process = 0;
  std::string name;  // Of its program; "" = it is not seen from here.
};

struct GpuHealth {
  std::string unit;  // UUID.
  std::string model;
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;
  uint32_t processes = 0;      // That compute on it, whoever's.
  std::vector<GpuUser> users;  // Those of them that the driver names.
  uint64_t uncorrected_errors = 0;
  std::string fault;    // Why its memory needs a reset or a new board; "" = it does not.
  std::string problem;  // Why it cannot be looked at; "" = it can, and the rest is filled.
};

struct GpuReport {
  bool installed = false;  // There is a driver.
  std::string driver;      // Its version.
  std::string problem;     // Why the driver does not work; "" = it does, or there is none.
  std::vector<GpuHealth> gpus;
};

// Any thread.
GpuReport LookAtGpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace noisefloor
