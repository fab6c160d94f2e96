// What a worker can train with, and what it cannot: made by the worker, kept and read by the
// coordinator. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace noisefloor {

// "cudnn" -> "9.12.0"
using Versions = std::map<std::string, std::string>;

struct Inventory {
  // A GPU, or all processors of the host.
  struct Device {
    std::string unit;           // GPU UUID; of the processors the host's name and their model.
    std::string model;          // "NVIDIA H200"
    uint64_t memory_bytes = 0;  // Of a GPU; else 0.
    std::string driver;         // Of a GPU: "575.57.08"
    std::string note;           // What is worth knowing; "" = nothing.
    // What it can be by itself, the preferred first: "nvidia-h200", "cpu-amd-avx2".
    std::vector<std::string> hardware_classes = {};
    // What code for it is made for: "sm_90"; of processors instruction sets, "avx2".
    std::vector<std::string> architectures = {};
    friend bool operator==(const Device&, const Device&) = default;
  };
  // A stack on a hardware class, tried on the devices of each slot that has it.
  struct Offer {
    std::string hardware_class;  // "cpu-amd-avx2"
    std::string stack;           // "torch-2.11-cu130"
    std::string fingerprint;     // Hash of all that makes results of that stack on that class.
    std::string build;           // Hash of the trainer's executable.
    std::string schema;          // Identity of its settings; "" = those of version 0.2.
    Versions versions = {};      // What the fingerprint was taken of, where it has a name.
    bool infers = false;         // Its trainer evaluates weights that it is given.
    friend bool operator==(const Offer&, const Offer&) = default;
  };
  // Where one trainer runs at a time.
  struct Slot {
    std::vector<uint32_t> devices;  // Places in Inventory::devices; one or more.
    uint32_t cores = 0;
    std::vector<uint32_t> offers;  // Places in Inventory::offers, the preferred first; one or more.
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  // What is there and is not offered.
  struct Withheld {
    std::string what;            // "GPU-8a3f... (NVIDIA H200)"
    std::string hardware_class;  // That it would be; "" = not known.
    std::string stack;           // "" = every one.
    std::string reason;
    friend bool operator==(const Withheld&, const Withheld&) = default;
  };

  std::vector<Device> devices;
  std::vector<Offer> offers;
  std::vector<Slot> slots;  // Their places are their numbers.
  std::vector<Withheld> withheld;
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

// The physical device of a slot: the units of its devices, joined by '+'.
std::string UnitOf(const Inventory& inventory, const Inventory::Slot& slot);

// The place of the offer in the inventory, which gets it unless it has it.
uint32_t PlaceOf(const Inventory::Offer& offer, Inventory& inventory);

// Each once: classes in the order of the offers, stacks sorted.
std::vector<std::string> ClassesOf(const Inventory& inventory);
std::vector<std::string> StacksOf(const Inventory& inventory);

}  // namespace noisefloor
