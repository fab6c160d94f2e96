// Batches that our kernels make where the images lie, in a rehearsal on the host, against the
// batches of the host.
#include "worker/trainer/torch/step/device_images.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/worker/trainer/cuda/rehearsal.h"
#include "tests/worker/trainer/torch/failing_launcher.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/torch/step/batches.h"

namespace noisefloor::trainer {
namespace {

Specification SpecificationOf(const char* model) {
  Specification specification;
  specification.model.name = model;
  specification.augment = {.crop_padding = 2, .flip = true, .cutout = 3, .standardise = true};
  specification.train.batch_size = 8;
  return specification;
}

// Layouts are channels_last for one and rows for the other.
TEST(DeviceImagesTest, BatchesOfADeviceAreThoseOfTheHost) {
  for (const char* model : {"small_cnn", "mlp"}) {
    for (const ImageShape shape : {ImageShape{3, 8, 8}, ImageShape{1, 9, 7}}) {
      const Dataset dataset = DrawnDataset(shape, 20);
      const Specification specification = SpecificationOf(model);
      const Streams streams = MakeStreams(specification);
      cuda::rehearsal::RehearsalLauncher launcher(1);
      auto host = TrainingBatches::Make(specification, dataset, streams);
      auto device = TrainingBatches::Make(specification, dataset, streams, {{at::kCPU, &launcher}});
      ASSERT_TRUE(host.ok() && device.ok());
      for (int i = 0; i < 4; ++i) {  // Over the end of an epoch, whose last batch is smaller.
        const auto batch = host->Next();
        ASSERT_TRUE(batch.ok() && device->Next().ok());
        const auto size = static_cast<int64_t>(batch->examples.size());
        for (const int64_t first : {int64_t{0}, size / 2}) {
          const Examples a = host->Load(*batch, first, size / 2);
          const Examples b = device->Load(*batch, first, size / 2);
          EXPECT_EQ(a.images.sizes(), b.images.sizes());
          EXPECT_EQ(a.images.strides(), b.images.strides());
          EXPECT_TRUE(at::equal(a.images.view(at::kInt), b.images.view(at::kInt))) << "bits";
          EXPECT_TRUE(at::equal(a.labels, b.labels));
        }
      }
      EXPECT_EQ(launcher.launches(), 8u);
      EXPECT_EQ(*host->HashFirst(), *device->HashFirst());
    }
  }
}

// Images may lie in another order than their examples, as those of a folder in the cache.
TEST(DeviceImagesTest, ImagesGoToADeviceInTheOrderOfTheirExamples) {
  const Dataset plain = DrawnDataset({3, 5, 5}, 12);
  Dataset moved = plain;
  const auto pixels = static_cast<size_t>(plain.shape.pixels());
  std::vector<uint8_t> images((plain.train.size() + 1) * pixels, 0xee);
  std::vector<uint32_t> places;
  for (uint32_t example = 0; example < plain.train.size(); ++example) {
    places.push_back((5 * example + 1) % (plain.train.size() + 1));
    std::copy_n(plain.train.Image(example), pixels, images.data() + places.back() * pixels);
  }
  moved.train.images = std::move(images);
  moved.train.places = std::move(places);
  const Specification specification = SpecificationOf("mlp");
  const Streams streams = MakeStreams(specification);
  cuda::rehearsal::RehearsalLauncher launcher(1);
  auto host = TrainingBatches::Make(specification, plain, streams);
  auto device = TrainingBatches::Make(specification, moved, streams, {{at::kCPU, &launcher}});
  ASSERT_TRUE(host.ok() && device.ok());
  const auto batch = host->Next();
  ASSERT_TRUE(batch.ok());
  EXPECT_TRUE(at::equal(host->Load(*batch, 0, 8).images, device->Load(*batch, 0, 8).images));
  EXPECT_EQ(launcher.launches(), 1u);
}

TEST(DeviceImagesTest, AttributesOfExamplesOnADeviceAreThoseOfTheHost) {
  Dataset dataset = DrawnDataset({1, 4, 4}, 8);
  dataset.attributes = {"young", "smiling"};
  dataset.classes = 2;
  std::vector<uint8_t> attributes(16);
  for (size_t i = 0; i < attributes.size(); ++i) attributes[i] = i % 3 == 0 ? 1 : 0;
  dataset.train.attributes = std::move(attributes);
  const Specification specification = SpecificationOf("mlp");
  const Streams streams = MakeStreams(specification);
  cuda::rehearsal::RehearsalLauncher launcher(1);
  auto host = TrainingBatches::Make(specification, dataset, streams);
  auto device = TrainingBatches::Make(specification, dataset, streams, {{at::kCPU, &launcher}});
  ASSERT_TRUE(host.ok() && device.ok());
  const auto batch = host->Next();
  ASSERT_TRUE(batch.ok());
  const Examples a = host->Load(*batch, 3, 5);
  const Examples b = device->Load(*batch, 3, 5);
  ASSERT_EQ(b.labels.sizes(), (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(b.labels.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(a.labels, b.labels));
  EXPECT_TRUE(at::equal(a.images, b.images));
  EXPECT_EQ(launcher.launches(), 1u);
}

TEST(DeviceImagesTest, ALaunchThatFailsIsAnErrorOfCuda) {
  const Dataset dataset = DrawnDataset({1, 4, 4}, 8);
  const Specification specification = SpecificationOf("mlp");
  const Streams streams = MakeStreams(specification);
  FailingLauncher launcher;
  auto batches = TrainingBatches::Make(specification, dataset, streams, {{at::kCPU, &launcher}});
  ASSERT_TRUE(batches.ok());
  const auto batch = batches->Next();
  try {
    batches->Load(*batch, 0, 8);
    FAIL() << "it was taken";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("CUDA error: cuLaunchKernel: gone"),
              std::string::npos);
  }
}

TEST(DeviceImagesTest, AMachineWithoutAGpuHasNoKernels) {
  const auto kernels = OpenGpuKernels(at::kCPU);
  ASSERT_TRUE(kernels.ok());
  EXPECT_EQ(kernels->launcher, nullptr);
}

TEST(DeviceImagesTest, AGpuWithoutRoomForOurKernelsIsOutOfMemory) {
  const auto none = OpenGpuKernels(FAKE_DRIVER, 0);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  setenv("FAKE_GPU", "9.0", 1);
  const auto kernels = OpenGpuKernels(FAKE_DRIVER, 0);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_NE(kernels->launcher, nullptr);
  setenv("FAKE_GPU_FULL", "1", 1);
  EXPECT_THROW((void)OpenGpuKernels(FAKE_DRIVER, 0), c10::OutOfMemoryError);
  unsetenv("FAKE_GPU_FULL");
  unsetenv("FAKE_GPU");
}

TEST(DeviceImagesTest, WhatIsSentIsACopy) {
  const at::Tensor host = at::arange(6, at::kInt).view({2, 3});
  const at::Tensor sent = SendTo(at::kCPU, host);
  EXPECT_TRUE(at::equal(sent, host));
  EXPECT_EQ(sent.scalar_type(), at::kInt);
  EXPECT_NE(sent.const_data_ptr(), host.const_data_ptr());
}

TEST(DeviceImagesTest, WhatIsTooLargeStaysOnTheHost) {
  Split split{{3, 32, 32}, std::vector<uint8_t>(3072), std::vector<int64_t>(1)};
  EXPECT_TRUE(DeviceImages::Fits(split));
  split.shape = {1, int64_t{1} << 16, int64_t{1} << 15};  // One image of 2^31 values.
  EXPECT_FALSE(DeviceImages::Fits(split));
}

}  // namespace
}  // namespace noisefloor::trainer
