// Classes and slots of machines that are not here.
#include "worker/devices/layout.h"

#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

Gpu H200(const std::string& uuid) { return {"NVIDIA H200", uuid, 0, "nvidia-h200", "sm_90"}; }
Gpu T4(const std::string& uuid) { return {"Tesla T4", uuid, 0, "nvidia-t4"}; }

Host Machine(int cores, std::vector<Gpu> gpus = {}) {
  Host host;
  host.name = "box";
  host.cpu = {"amd", "EPYC", {"sse2", "sse4_1", "sse4_2", "avx2", "fma"}};
  host.cores.resize(static_cast<size_t>(cores));
  std::iota(host.cores.begin(), host.cores.end(), 0);
  host.gpus.driver = "575.57.08";
  host.gpus.gpus = std::move(gpus);
  return host;
}

// "uuid,uuid|class,class|first core-last core" of each slot.
std::vector<std::string> Slots(const Host& host, const LayoutWish& wish = {},
                               const std::vector<std::string>& wanted = {}) {
  std::vector<std::string> slots;
  for (const SlotPlan& slot :
       LayOut(host, ChooseClasses(host, wanted, wish.gpus_per_slot).value(), wish).slots) {
    std::string classes;
    for (const std::string& name : slot.classes) classes += (classes.empty() ? "" : ",") + name;
    slots.push_back(UuidsOf(slot) + "|" + classes + "|" + std::to_string(slot.cores.front()) + "-" +
                    std::to_string(slot.cores.back()));
  }
  return slots;
}

TEST(ClassesTest, AllUnlessTold) {
  EXPECT_THAT(ChooseClasses(Machine(2), {}).value(), ElementsAre("cpu-amd-avx2", "cpu-amd-sse"));
  EXPECT_THAT(ChooseClasses(Machine(2), {"cpu-amd-sse"}).value(), ElementsAre("cpu-amd-sse"));
  EXPECT_THAT(ChooseClasses(Machine(2, {H200("GPU-1"), T4("GPU-2"), H200("GPU-3")}), {}).value(),
              ElementsAre("nvidia-h200", "nvidia-t4", "cpu-amd-avx2", "cpu-amd-sse"));
}

TEST(ClassesTest, AClassTheMachineLacksIsRefusedByNameWithWhatIsWrong) {
  EXPECT_EQ(Message(ChooseClasses(Machine(1), {"cpu-amd-avx512"}).status()),
            "hardware class 'cpu-amd-avx512': this machine has cpu-amd-avx2, cpu-amd-sse");
  Host host = Machine(1, {H200("GPU-1")});
  host.gpus.gpus[0].fault = "it burns";
  EXPECT_EQ(Message(ChooseClasses(host, {"nvidia-h200"}).status()),
            "hardware class 'nvidia-h200': this machine has cpu-amd-avx2, cpu-amd-sse; GPU-1 "
            "(NVIDIA H200): it burns");
  host.gpus = {"", {}, "NVML: init: Driver/library version mismatch"};
  EXPECT_EQ(Message(ChooseClasses(host, {"nvidia-h200"}).status()),
            "hardware class 'nvidia-h200': this machine has cpu-amd-avx2, cpu-amd-sse; its GPUs: "
            "NVML: init: Driver/library version mismatch");
}

TEST(LayoutTest, ProcessorsHaveASlotForEveryCoreUnlessTold) {
  EXPECT_THAT(Slots(Machine(2)),
              ElementsAre("|cpu-amd-avx2,cpu-amd-sse|0-0", "|cpu-amd-avx2,cpu-amd-sse|1-1"));
  EXPECT_THAT(Slots(Machine(8), {.cores_per_slot = 4}, {"cpu-amd-sse"}),
              ElementsAre("|cpu-amd-sse|0-3", "|cpu-amd-sse|4-7"));
  EXPECT_THAT(Slots(Machine(1), {.cpu_slots = 2}, {"cpu-amd-sse"}),
              ElementsAre("|cpu-amd-sse|0-0", "|cpu-amd-sse|0-0"));
}

TEST(LayoutTest, ADeclaredMachineIsThatAndHasOneSlotUnlessTold) {
  Host host = Machine(4, {H200("GPU-1")});
  host.declared = "tpu-v4";
  EXPECT_THAT(Slots(host), ElementsAre("|tpu-v4|0-3"));
  EXPECT_THAT(Slots(host, {.cpu_slots = 2}), ElementsAre("|tpu-v4|0-1", "|tpu-v4|2-3"));
  const std::vector<Inventory::Device> devices = DevicesOf(host);
  EXPECT_THAT(devices.front().hardware_classes, ElementsAre("tpu-v4"));
  EXPECT_THAT(devices.front().architectures, IsEmpty());
}

TEST(LayoutTest, GpusAndProcessorsHaveSlotsAndCoresOfTheirOwn) {
  EXPECT_THAT(Slots(Machine(16, {H200("GPU-1"), T4("GPU-2")}), {.cores_per_slot = 4}),
              ElementsAre("GPU-1|nvidia-h200|0-3", "GPU-2|nvidia-t4|4-7",
                          "|cpu-amd-avx2,cpu-amd-sse|8-11", "|cpu-amd-avx2,cpu-amd-sse|12-15"));
  EXPECT_THAT(Slots(Machine(6, {H200("GPU-1")}), {.cores_per_slot = 6, .cores_per_gpu = 5}),
              ElementsAre("GPU-1|nvidia-h200|0-4", "|cpu-amd-avx2,cpu-amd-sse|5-5"));
}

TEST(LayoutTest, GpusAloneShareAllCores) {
  EXPECT_THAT(Slots(Machine(64, {H200("GPU-1"), H200("GPU-2")}), {}, {"nvidia-h200"}),
              ElementsAre("GPU-1|nvidia-h200|0-31", "GPU-2|nvidia-h200|32-63"));
  EXPECT_THAT(Slots(Machine(16, {H200("GPU-1")}), {.cores_per_gpu = 4}, {"nvidia-h200"}),
              ElementsAre("GPU-1|nvidia-h200|0-3"))
      << "unless told how many";
}

TEST(LayoutTest, WithTooFewCoresThatAreShared) {
  EXPECT_THAT(Slots(Machine(1, {H200("GPU-1")})),
              ElementsAre("GPU-1|nvidia-h200|0-0", "|cpu-amd-avx2,cpu-amd-sse|0-0"));
  EXPECT_THAT(Slots(Machine(2, {H200("GPU-1"), H200("GPU-2")}), {.cores_per_slot = 2}),
              ElementsAre("GPU-1|nvidia-h200|0-0", "GPU-2|nvidia-h200|1-1",
                          "|cpu-amd-avx2,cpu-amd-sse|0-1"));
}

TEST(LayoutTest, ASlotOfSeveralGpusHasAClassOfItsOwn) {
  const Host host = Machine(8, {H200("GPU-1"), T4("GPU-2"), H200("GPU-3"), H200("GPU-4")});
  const LayoutWish wish = {.gpus_per_slot = 2};

  EXPECT_THAT(Slots(host, wish, {"nvidia-h200", "nvidia-t4"}),
              ElementsAre("GPU-1,GPU-3|nvidia-h200-x2|0-7"));
  const Layout layout = LayOut(host, {"nvidia-h200", "nvidia-t4"}, wish);
  EXPECT_THAT(
      layout.withheld,
      ElementsAre(Inventory::Withheld{"GPU-4 (NVIDIA H200)", "nvidia-h200-x2", "",
                                      "it is left over: a slot takes 2 GPUs of one class"},
                  Inventory::Withheld{"GPU-2 (Tesla T4)", "nvidia-t4-x2", "",
                                      "it is left over: a slot takes 2 GPUs of one class"}));
  EXPECT_THAT(DevicesOf(host, layout.slots[0]), ElementsAre(1, 3));
}

TEST(LayoutTest, SlotsOfSeveralGpusAreChosenByTheClassThatTheyOffer) {
  const Host host = Machine(8, {H200("GPU-1"), T4("GPU-2"), H200("GPU-3"), T4("GPU-4")});

  EXPECT_THAT(Slots(host, {.gpus_per_slot = 2}, {"nvidia-t4-x2"}),
              ElementsAre("GPU-2,GPU-4|nvidia-t4-x2|0-7"));
  EXPECT_THAT(Slots(host, {.gpus_per_slot = 2}, {"nvidia-h200-x2", "cpu-amd-sse"}),
              ElementsAre("GPU-1,GPU-3|nvidia-h200-x2|0-3", "|cpu-amd-sse|4-4", "|cpu-amd-sse|5-5",
                          "|cpu-amd-sse|6-6", "|cpu-amd-sse|7-7"));
  EXPECT_EQ(Message(ChooseClasses(host, {"nvidia-h200-x4"}, 2).status()),
            "hardware class 'nvidia-h200-x4': this machine has nvidia-h200-x2, nvidia-t4-x2, "
            "cpu-amd-avx2, cpu-amd-sse");
  EXPECT_FALSE(ChooseClasses(host, {"nvidia-h200-x2"}, 1).ok());
  EXPECT_FALSE(ChooseClasses(host, {"cpu-amd-sse-x2"}, 2).ok());
}

TEST(LayoutTest, AGpuMayHaveSeveralSlots) {
  EXPECT_THAT(Slots(Machine(4, {H200("GPU-1")}), {.slots_per_gpu = 2}, {"nvidia-h200"}),
              ElementsAre("GPU-1|nvidia-h200|0-1", "GPU-1|nvidia-h200|2-3"));
}

TEST(LayoutTest, WhatIsWrongIsWithheldWithItsReason) {
  Host host = Machine(1, {H200("GPU-1"), H200("GPU-2")});
  host.gpus.gpus[0].fault = "it burns";
  EXPECT_THAT(Slots(host, {}, {"nvidia-h200"}), ElementsAre("GPU-2|nvidia-h200|0-0"));
  EXPECT_THAT(
      LayOut(host, {"nvidia-h200"}, {}).withheld,
      ElementsAre(Inventory::Withheld{"GPU-1 (NVIDIA H200)", "nvidia-h200", "", "it burns"}));

  host.gpus = {"", {}, "no driver"};
  const Layout layout = LayOut(host, {"cpu-amd-sse"}, {});
  EXPECT_EQ(layout.slots.size(), 1u);
  EXPECT_THAT(layout.withheld,
              ElementsAre(Inventory::Withheld{"the GPUs of this machine", "", "", "no driver"}));
}

TEST(LayoutTest, WithAShareOfTheProcessorsTimeNothingIsPinned) {
  Host host = Machine(64);
  BoundCores(std::nullopt, host);
  BoundCores(64.0, host);
  EXPECT_EQ(host.cores.size(), 64u);
  EXPECT_TRUE(LayOut(host, {"cpu-amd-sse"}, {}).slots.at(0).pinned);

  BoundCores(4.7, host);

  const Layout layout = LayOut(host, {"cpu-amd-sse"}, {});
  EXPECT_EQ(layout.slots.size(), 4u);
  for (const SlotPlan& slot : layout.slots) EXPECT_FALSE(slot.pinned);
  BoundCores(0.3, host);
  EXPECT_EQ(host.cores.size(), 1u);
}

TEST(LayoutTest, WhatIsAssumedIsOfAnyStack) {
  Host host = Machine(2, {H200("GPU-1")});
  host.gpus.gpus[0].memory_bytes = 150;
  host.gpus.gpus[0].note = "2 other processes use it";
  const Inventory inventory =
      AssumedInventory(host, LayOut(host, ChooseClasses(host, {}).value(), {}));

  ASSERT_EQ(inventory.devices.size(), 2u);
  EXPECT_EQ(inventory.devices[0].unit, "box EPYC");
  EXPECT_EQ(inventory.devices[0].model, "EPYC");
  EXPECT_EQ(inventory.devices[0].driver, "");
  EXPECT_EQ(inventory.devices[1].unit, "GPU-1");
  EXPECT_EQ(inventory.devices[1].model, "NVIDIA H200");
  EXPECT_EQ(inventory.devices[1].memory_bytes, 150u);
  EXPECT_EQ(inventory.devices[1].driver, "575.57.08");
  EXPECT_EQ(inventory.devices[1].note, "2 other processes use it");
  EXPECT_EQ(inventory.devices[0].hardware_classes, CpuClasses(host.cpu));
  EXPECT_THAT(inventory.devices[0].architectures, Contains("sse"));
  EXPECT_THAT(inventory.devices[1].hardware_classes, ElementsAre("nvidia-h200"));
  EXPECT_THAT(inventory.devices[1].architectures, ElementsAre("sm_90"));
  EXPECT_THAT(ClassesOf(inventory), ElementsAre("nvidia-h200", "cpu-amd-avx2", "cpu-amd-sse"));
  EXPECT_THAT(StacksOf(inventory), ElementsAre(""));
  ASSERT_EQ(inventory.slots.size(), 2u);
  EXPECT_EQ(UnitOf(inventory, inventory.slots[0]), "GPU-1");
  EXPECT_THAT(inventory.slots[0].offers, ElementsAre(0));
  EXPECT_EQ(UnitOf(inventory, inventory.slots[1]), "box EPYC");
  EXPECT_EQ(inventory.slots[1].cores, 1u);
  EXPECT_THAT(inventory.slots[1].offers, ElementsAre(1, 2));
  EXPECT_THAT(inventory.withheld, IsEmpty());
}

TEST(ClassesTest, TheCountOfGpusIsReadFromTheClass) {
  EXPECT_EQ(ClassOfSeveral("nvidia-h200", 4), "nvidia-h200-x4");
  EXPECT_EQ(ClassOfSeveral("nvidia-h200", 1), "nvidia-h200");
  for (const auto& [name, one, count] :
       {std::tuple("nvidia-h200-x4", "nvidia-h200", 4), std::tuple("nvidia-h200", "nvidia-h200", 1),
        std::tuple("nvidia-v100-32gb-x16", "nvidia-v100-32gb", 16),
        std::tuple("nvidia-rtx-x1", "nvidia-rtx-x1", 1), std::tuple("nvidia-xp", "nvidia-xp", 1),
        std::tuple("nvidia-x-x04", "nvidia-x-x04", 1), std::tuple("nvidia-a-x", "nvidia-a-x", 1)}) {
    EXPECT_EQ(CountGpus(name).one, one);
    EXPECT_EQ(CountGpus(name).count, static_cast<uint32_t>(count)) << name;
  }
}

}  // namespace
}  // namespace noisefloor
