// Whether a stack works on what a slot has: asked of its trainer before it is offered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/inventory.h"
#include "common/base/status.h"
#include "worker/daemon/stacks.h"
#include "worker/devices/layout.h"

namespace noisefloor {

// Of the answer to --probe.
inline constexpr int kProbeVersion = 1;

// What `PROGRAM --probe CLASS` says, started with the variables of that class and seeing the slot's
// GPUs: one line, {"probes": 1, "works", "reason", "devices": [{"name", "memory_bytes"}], "facts"}.
// The devices are those it saw, in CUDA's words; none for a class of processors. Its facts are all
// that makes results besides the build: versions of CUDA, cuDNN, cuBLAS; none for processors, which
// --describe has told of. Pure.
struct ProbeAnswer {
  struct Device {
    std::string name;
    uint64_t memory_bytes = 0;
  };
  bool works = false;
  std::string reason;  // Why not.
  std::vector<Device> devices;
  std::string facts;  // A JSON object.
  Versions versions;  // VersionsFrom it.
};
absl::StatusOr<ProbeAnswer> ParseProbeAnswer(std::string_view line);

// Hash of all that makes results of the stack on a class: see Inventory::Offer. `driver`: of GPUs.
std::string FingerprintOf(const Stack& stack, const std::string& facts, const std::string& driver);

// What a worker of these slots can register, and which of the slots are in it, in their order.
struct ProbedSlots {
  Inventory inventory;
  std::vector<SlotPlan> slots;
};
// Asks every stack on every kind of slot, several at once: a convolution and a matrix product on
// its devices. What does not work is withheld, with the reason; slots on which nothing works are
// left out. See spawn.h for the thread that may call this.
ProbedSlots Probe(const Host& host, const Layout& layout, const Stacks& stacks);

}  // namespace noisefloor
