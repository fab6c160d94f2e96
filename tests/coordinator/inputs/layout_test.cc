#include "coordinator/inputs/layout.h"

#include "gtest/gtest.h"

namespace noisefloor::inputs {
namespace {

TEST(LayoutTest, FilesLieWhereTheirKindAndTestSetSay) {
  const nlohmann::json specification = {{"data", {{"name", "cifar10"}, {"test_examples", 500}}}};
  EXPECT_EQ(PlaceOf("predictions", "s1c0r0", specification), "predictions/s1c0r0.npy");
  EXPECT_EQ(PlaceOf("predictions-3", "s1c0r0", specification), "predictions/s1c0r0-3.npy");
  EXPECT_EQ(PlaceOf("weights", "s1c0r0", specification), "weights/s1c0r0.safetensors");
  EXPECT_EQ(PlaceOf("evaluation_labels", "s1c0r0", specification),
            "evaluation_labels/cifar10-500.npy");
  EXPECT_EQ(PlaceOf("log", "s1c0r0", specification), "");
  for (const char* climbs : {"weights-/../../x", "kernels-/!", "predictions-../x", "weights-\n"}) {
    EXPECT_EQ(PlaceOf(climbs, "s1c0r0", specification), "") << climbs;
  }
  const nlohmann::json faces = {
      {"data", {{"name", "faces"}, {"image_size", 64}, {"identity", "1a2b3c4d5e"}}}};
  EXPECT_EQ(PlaceOf("evaluation_groups", "s1c0r0", faces), "evaluation_groups/faces-1a2b3c4d.csv");
  EXPECT_EQ(PlaceOf("evaluation_labels", "s1c0r0", "no object"), "evaluation_labels/s1c0r0.npy");
}

}  // namespace
}  // namespace noisefloor::inputs
