#include "common/base/inventory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(InventoryTest, AUnitIsTheDevicesOfASlot) {
  Inventory inventory;
  inventory.devices = {{"host"}, {"GPU-1"}, {"GPU-2"}};
  EXPECT_EQ(UnitOf(inventory, {{0}, 4, {}}), "host");
  EXPECT_EQ(UnitOf(inventory, {{1, 2}, 4, {}}), "GPU-1+GPU-2");
}

TEST(InventoryTest, ClassesAndStacksAreToldOnce) {
  Inventory inventory;
  EXPECT_THAT(ClassesOf(inventory), IsEmpty());
  inventory.offers = {{"nvidia-h200", "torch-2"}, {"nvidia-h200", "torch-1"}, {"cpu", "torch-1"}};
  EXPECT_THAT(ClassesOf(inventory), ElementsAre("nvidia-h200", "cpu"));
  EXPECT_THAT(StacksOf(inventory), ElementsAre("torch-1", "torch-2"));
}

}  // namespace
}  // namespace noisefloor
