// Which slots a worker makes of its machine. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/inventory.h"
#include "worker/devices/host.h"

namespace noisefloor {

struct LayoutWish {
  uint32_t cpu_slots = 0;       // 0: one for every `cores_per_slot` cores that GPUs leave.
  uint32_t cores_per_slot = 1;  // Of the processors' slots.
  uint32_t cores_per_gpu = 0;   // 0: up to 4, as many as leave some to the processors' slots.
  uint32_t gpus_per_slot = 1;
  uint32_t slots_per_gpu = 1;  // More than 1 only with 1 GPU per slot.
};

// Slots of GPUs have those of one class, and cores of their own: what trains on processors never
// sits in them.
struct SlotPlan {
  std::vector<Gpu> gpus;             // None: a slot of the processors.
  std::vector<int> cores;            // That its trainers are pinned to, if `pinned`; else how many.
  std::vector<std::string> classes;  // The fastest first.
  bool pinned = true;                // False where cores are shared: Host::cores_are_shared.
};

struct Layout {
  std::vector<SlotPlan> slots;
  std::vector<Inventory::Withheld> withheld;  // GPUs with a fault, and what fills no slot.
};

// `classes`, from ChooseClasses, are those to offer; of slots with N GPUs of one: ClassOfSeveral.
// With fewer cores than slots these share cores.
Layout LayOut(const Host& host, const std::vector<std::string>& classes, const LayoutWish& wish);

// What CUDA_VISIBLE_DEVICES must be for its trainers: "" for a slot of the processors.
std::string UuidsOf(const SlotPlan& slot);

// "vm AMD EPYC 9654 96-Core Processor": the processors as a unit.
std::string ProcessorUnit(const Host& host);

// What LayOut made, as if all of it worked, on any stack: for plans.
Inventory AssumedInventory(const Host& host, const Layout& layout);

// The devices of the host: the processors, then all GPUs.
std::vector<Inventory::Device> DevicesOf(const Host& host);
// Places in DevicesOf.
std::vector<uint32_t> DevicesOf(const Host& host, const SlotPlan& slot);

}  // namespace noisefloor
