#include "worker/devices/layout.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include "fmt/format.h"

#include "common/trainer_protocol/hardware_class.h"
#include "worker/devices/cores.h"

namespace noisefloor {

namespace {

constexpr uint32_t kCoresPerGpu = 4;  // Enough to feed one, as the data are resident or cached.

std::string NameOf(const Gpu& gpu) {
  return gpu.name.empty() ? gpu.uuid : fmt::format("{} ({})", gpu.uuid, gpu.name);
}

// The chosen GPUs by class, in their order.
std::map<std::string, std::vector<Gpu>> ByClass(const Host& host,
                                                const std::vector<std::string>& classes,
                                                std::vector<Inventory::Withheld>& withheld) {
  std::map<std::string, std::vector<Gpu>> chosen;
  if (!host.gpus.fault.empty()) {
    withheld.push_back({"the GPUs of this machine", "", "", host.gpus.fault});
  }
  for (const Gpu& gpu : host.gpus.gpus) {
    if (!gpu.fault.empty()) {
      withheld.push_back({NameOf(gpu), gpu.hardware_class, "", gpu.fault});
    } else if (std::ranges::find(classes, gpu.hardware_class) != classes.end()) {
      chosen[gpu.hardware_class].push_back(gpu);
    }
  }
  return chosen;
}

void AddGpuSlots(const std::string& name, const std::vector<Gpu>& gpus, const LayoutWish& wish,
                 Layout& layout) {
  const std::string offered = ClassOfSeveral(name, wish.gpus_per_slot);
  const size_t whole = gpus.size() - gpus.size() % wish.gpus_per_slot;
  for (size_t first = 0; first < whole; first += wish.gpus_per_slot) {
    for (uint32_t i = 0; i < wish.slots_per_gpu; ++i) {
      const auto begin = gpus.begin() + static_cast<int64_t>(first);
      layout.slots.push_back({{begin, begin + wish.gpus_per_slot}, {}, {offered}});
    }
  }
  for (size_t i = whole; i < gpus.size(); ++i) {
    layout.withheld.push_back(
        {NameOf(gpus[i]), offered, "",
         fmt::format("it is left over: a slot takes {} GPUs of one class", wish.gpus_per_slot)});
  }
}

void GiveCores(std::span<const int> cores, std::span<SlotPlan> slots) {
  if (slots.empty()) return;
  const auto lists = AssignCores(cores, static_cast<uint32_t>(slots.size()));
  for (size_t i = 0; i < slots.size(); ++i) slots[i].cores = lists[i];
}

// Of `cores`, how many go to the slots of GPUs when processors have slots, too. All of them when
// there are too few for both, which then share them.
size_t CoresForGpus(size_t cores, size_t gpu_slots, const LayoutWish& wish) {
  const size_t fair = std::clamp<size_t>(cores / (gpu_slots + 1), 1, kCoresPerGpu);
  return std::min(cores, gpu_slots * (wish.cores_per_gpu > 0 ? wish.cores_per_gpu : fair));
}

}  // namespace

Layout LayOut(const Host& host, const std::vector<std::string>& classes, const LayoutWish& wish) {
  Layout layout;
  for (const auto& [name, gpus] : ByClass(host, classes, layout.withheld)) {
    AddGpuSlots(name, gpus, wish, layout);
  }
  std::vector<std::string> cpu_classes;
  std::ranges::copy_if(classes, std::back_inserter(cpu_classes),
                       [](const std::string& name) { return !IsGpuClass(name); });
  const size_t gpu_slots = layout.slots.size();
  std::span<const int> cores = host.cores;
  std::span<const int> left = cores;
  if (gpu_slots > 0 && (!cpu_classes.empty() || wish.cores_per_gpu > 0)) {
    cores = cores.first(CoresForGpus(cores.size(), gpu_slots, wish));
    if (cores.size() < left.size()) left = left.subspan(cores.size());
  }
  if (!cpu_classes.empty()) {
    // What a declared class is we do not know: it may take one trainer only.
    const auto room =
        host.declared.empty() ? static_cast<uint32_t>(left.size()) / wish.cores_per_slot : 1;
    layout.slots.resize(gpu_slots + (wish.cpu_slots > 0 ? wish.cpu_slots : std::max(1u, room)),
                        {{}, {}, cpu_classes});
  }
  const std::span<SlotPlan> slots = layout.slots;
  GiveCores(cores, slots.first(gpu_slots));
  GiveCores(left, slots.subspan(gpu_slots));
  for (SlotPlan& slot : slots) slot.pinned = !host.cores_are_shared;
  return layout;
}

std::string UuidsOf(const SlotPlan& slot) {
  std::string uuids;
  for (const Gpu& gpu : slot.gpus) uuids += (uuids.empty() ? "" : ",") + gpu.uuid;
  return uuids;
}

std::string ProcessorUnit(const Host& host) {
  return fmt::format("{} {}", host.name, host.cpu.model);
}

std::vector<Inventory::Device> DevicesOf(const Host& host) {
  std::vector<std::string> classes = CpuClasses(host.cpu);
  if (!host.declared.empty()) classes = {host.declared};
  std::vector<std::string> sets = classes;  // A class of processors is named by its set.
  if (!host.declared.empty()) sets.clear();
  for (std::string& name : sets) name.erase(0, name.rfind('-') + 1);
  std::vector<Inventory::Device> devices = {
      {ProcessorUnit(host), host.cpu.model, 0, "", "", std::move(classes), std::move(sets)}};
  for (const Gpu& gpu : host.gpus.gpus) {
    Inventory::Device& added = devices.emplace_back();
    added = {gpu.uuid, gpu.name, gpu.memory_bytes, host.gpus.driver, gpu.note};
    if (!gpu.hardware_class.empty()) added.hardware_classes = {gpu.hardware_class};
    if (!gpu.architecture.empty()) added.architectures = {gpu.architecture};
  }
  return devices;
}

std::vector<uint32_t> DevicesOf(const Host& host, const SlotPlan& slot) {
  if (slot.gpus.empty()) return {0};
  std::vector<uint32_t> places;
  for (const Gpu& used : slot.gpus) {
    const auto it = std::ranges::find(host.gpus.gpus, used.uuid, &Gpu::uuid);
    places.push_back(static_cast<uint32_t>(it - host.gpus.gpus.begin()) + 1);
  }
  return places;
}

Inventory AssumedInventory(const Host& host, const Layout& layout) {
  Inventory inventory;
  inventory.devices = DevicesOf(host);
  inventory.withheld = layout.withheld;
  for (const SlotPlan& plan : layout.slots) {
    Inventory::Slot& slot = inventory.slots.emplace_back();
    slot.devices = DevicesOf(host, plan);
    slot.cores = static_cast<uint32_t>(plan.cores.size());
    for (const std::string& name : plan.classes) {
      slot.offers.push_back(PlaceOf({name, "", "", ""}, inventory));
    }
  }
  return inventory;
}

}  // namespace noisefloor
