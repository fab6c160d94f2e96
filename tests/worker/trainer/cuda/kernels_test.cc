// Every kernel against its twin on the CPU, bit for bit, for many shapes, blocks and orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <vector>

#include "common/base/philox.h"
#include "common/base/seed.h"
#include "tests/worker/trainer/cuda/test_device.h"
#include "worker/trainer/cuda/requests.h"
#include "worker/trainer/cuda/state_hash.h"
#include "worker/trainer/data/augment.h"

namespace noisefloor::cuda {

namespace {

using testing::Each;
using testing::SizeIs;
using trainer::AugmentDraws;
using trainer::Augmenter;
using trainer::AugmentKey;
using trainer::DropoutDraws;
using trainer::ImageShape;
using trainer::Layout;
using trainer::Split;

// Bits, so that a negative zero and a nan are themselves.
std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

std::vector<float> Floats(size_t count, uint64_t seed) {
  const PhiloxStream stream(seed, 77);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = 4.0f * UniformFloat(stream.Word(i)) - 2.0f;
  return values;
}

// Among its images a black one, a white one and one that is nearly flat.
Split MakeSplit(ImageShape shape, uint32_t examples) {
  const PhiloxStream stream(5, 6);
  std::vector<uint8_t> images(static_cast<size_t>(shape.pixels()) * examples);
  std::vector<int64_t> labels(examples);
  for (size_t i = 0; i < images.size(); ++i) {
    const size_t example = i / static_cast<size_t>(shape.pixels());
    const auto byte = static_cast<uint8_t>(stream.Word(i));
    images[i] = example == 0 ? 0 : example == 1 ? 255 : example == 2 ? 128 + byte % 2 : byte;
  }
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i * 7 % 10) - 3;
  return {shape, std::move(images), std::move(labels)};
}

struct Case {
  ImageShape shape;
  AugmentSettings settings;
  Layout layout = Layout::kNchw;
  AugmentKey key = AugmentKey::kExample;
  bool random = true;
};

struct Made {
  std::vector<uint32_t> images;  // Bits.
  std::vector<int64_t> labels;
};

constexpr uint64_t kSeed = 0x123456789abcdef0u;
constexpr uint64_t kEpoch = (uint64_t{3} << 32) + 5;  // Both words of the stream count.
constexpr uint64_t kFirst = 11;

Made OnHost(const Case& c, const Split& split, const std::vector<uint32_t>& examples) {
  std::vector<float> out(examples.size() * static_cast<size_t>(c.shape.pixels()));
  const Augmenter augmenter(c.shape, c.settings, c.layout);
  if (c.random) {
    augmenter.Training(split, {kEpoch, kFirst, examples}, AugmentDraws(kSeed, c.key), out);
  } else {
    augmenter.Evaluation(split, examples, out);
  }
  Made made{BitsOf(out), {}};
  for (const uint32_t example : examples) made.labels.push_back(split.labels[example]);
  return made;
}

Made OnDevice(const Case& c, const Split& split, const std::vector<uint32_t>& examples,
              uint32_t block, uint64_t order) {
  const auto device = MakeTestDevice(order);
  const ResidentSplit resident{
      c.shape, split.size(),
      device->Put(std::vector<uint8_t>(split.images.begin(), split.images.end())),
      device->Put(std::vector<int64_t>(split.labels.begin(), split.labels.end()))};
  const size_t values = examples.size() * static_cast<size_t>(c.shape.pixels());
  float* out = device->Put(std::vector<float>(values, -99.0f));
  int64_t* labels = device->Put(std::vector<int64_t>(examples.size(), -99));
  const KernelLaunch launch = AugmentLaunch(
      resident, {c.settings, c.layout, c.random}, AugmentDraws(kSeed, c.key),
      {kEpoch, kFirst, static_cast<uint32_t>(examples.size()), device->Put(examples), out, labels},
      block);
  const absl::Status status = device->launcher().Launch(launch);
  EXPECT_TRUE(status.ok()) << status;
  return {BitsOf(device->Get(out, values)), device->Get(labels, examples.size())};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const ImageShape shape :
       {ImageShape{3, 8, 6}, ImageShape{1, 7, 7}, ImageShape{1, 1, 1}, ImageShape{2, 3, 11}}) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      for (const AugmentSettings& settings :
           {AugmentSettings{}, AugmentSettings{.crop_padding = 2}, AugmentSettings{.flip = true},
            AugmentSettings{.cutout = 3}, AugmentSettings{.standardise = true},
            AugmentSettings{.crop_padding = 12, .standardise = true},
            AugmentSettings{.crop_padding = 2, .flip = true, .cutout = 4, .standardise = true}}) {
        cases.push_back({shape, settings, layout, AugmentKey::kExample, true});
      }
      const AugmentSettings all{.crop_padding = 1, .flip = true, .cutout = 2, .standardise = true};
      cases.push_back({shape, all, layout, AugmentKey::kPosition, true});
      cases.push_back({shape, all, layout, AugmentKey::kExample, false});
    }
  }
  return cases;
}

TEST(KernelsTest, ImagesAreThoseOfTheProcessor) {
  const std::vector<uint32_t> examples = {2, 0, 7, 1, 5, 7, 3, 8, 4};
  uint32_t turn = 0;
  for (const Case& c : Cases()) {
    const Split split = MakeSplit(c.shape, 9);
    const uint32_t block = std::array<uint32_t, 3>{32, 64, 96}[turn++ % 3];
    const Made host = OnHost(c, split, examples);
    const Made device = OnDevice(c, split, examples, block, turn);
    ASSERT_EQ(device.images, host.images)
        << c.shape.channels << "x" << c.shape.height << "x" << c.shape.width << " crop "
        << c.settings.crop_padding << " flip " << c.settings.flip << " cutout " << c.settings.cutout
        << " standardise " << c.settings.standardise;
    ASSERT_EQ(device.labels, host.labels);
  }
}

TEST(KernelsTest, NeitherBlocksNorOrdersChangeImages) {
  const Case c{{3, 32, 32},
               {.crop_padding = 4, .flip = true, .cutout = 8, .standardise = true},
               Layout::kNhwc};
  const Split split = MakeSplit(c.shape, 6);
  const std::vector<uint32_t> examples = {5, 3, 4};
  const Made host = OnHost(c, split, examples);
  for (const uint32_t block : {32u, 128u, 256u, 1024u}) {
    for (const uint64_t order : {1u, 2u}) {
      ASSERT_EQ(OnDevice(c, split, examples, block, order).images, host.images) << block;
    }
  }
}

TEST(KernelsTest, MasksAreThoseOfTheProcessor) {
  const DropoutDraws draws(kSeed);
  // Of which the first element's word is the threshold: it is kept.
  const double first_word = PhiloxStream(kSeed, StreamOf("drop1")).Block(uint64_t{9} << 36)[0];
  for (const double probability : {0.0, 0.25, 0.5, 0.999, first_word / 4294967296.0}) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{1}, uint64_t{6}, (uint64_t{1} << 37) + 3}) {
      for (const size_t count : {size_t{1}, size_t{2}, size_t{7}, size_t{1030}}) {
        std::vector<float> host(count);
        draws.Fill(9, "drop1", probability, first, host);
        const auto device = MakeTestDevice(count);
        float* mask = device->Put(std::vector<float>(count, -99.0f));
        const absl::Status status = device->launcher().Launch(
            DropoutLaunch(draws, 9, "drop1", probability, first, mask, count, 64));
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_EQ(BitsOf(device->Get(mask, count)), BitsOf(host)) << probability << " " << first;
      }
    }
  }
}

// Of the page of noise: worker/trainer/noise/README.md.
TEST(KernelsTest, MasksHaveTheirKnownAnswer) {
  const auto device = MakeTestDevice(1);
  float* mask = device->Put(std::vector<float>(24));
  const DropoutDraws draws(DeriveSeed(0, NoiseSource::kDropout, {}));
  ASSERT_TRUE(
      device->launcher().Launch(DropoutLaunch(draws, 9, "drop1", 0.25, 0, mask, 24, 32)).ok());
  const std::vector<float> values = device->Get(mask, 24);
  std::vector<size_t> zeros;
  for (size_t i = 0; i < 24; ++i) {
    if (values[i] == 0.0f) zeros.push_back(i);
  }
  EXPECT_THAT(zeros, testing::ElementsAre(1, 7, 13, 19, 22, 23));
}

TensorSums HashOnDevice(uint64_t key, const DeviceTensor& shape, const std::vector<uint32_t>& words,
                        uint32_t block, uint64_t order) {
  const auto device = MakeTestDevice(order);
  DeviceTensor tensor = shape;
  tensor.memory = device->Put(words);
  uint64_t* partial = device->Put(std::vector<uint64_t>(2 * kMostHashBlocks));
  uint64_t* sums = device->Put(std::vector<uint64_t>(2));
  for (const KernelLaunch& launch : HashLaunches(key, tensor, partial, sums, block)) {
    const absl::Status status = device->launcher().Launch(launch);
    EXPECT_TRUE(status.ok()) << status;
  }
  const std::vector<uint64_t> values = device->Get(sums, 2);
  return {values[0], values[1]};
}

TEST(KernelsTest, HashesAreThoseOfTheProcessor) {
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{}, {1}, {7}, {3, 5}, {4, 3, 3, 3}, {2, 1, 999}}) {
    for (const uint64_t bytes : {4u, 8u}) {
      const int64_t count =
          std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      std::vector<int64_t> strides(shape.size(), 1);
      for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
      const std::vector<uint32_t> words = BitsOf(Floats(static_cast<size_t>(count) * bytes / 4, 4));
      const uint64_t key = KeyOf("conv1.weight", bytes, shape);
      const TensorSums host = SumsOnHost(key, bytes, std::as_bytes(std::span(words)));
      for (const uint32_t block : {32u, 64u, 512u}) {
        const DeviceTensor tensor{nullptr, bytes, shape, strides};
        ASSERT_EQ(HashOnDevice(key, tensor, words, block, block), host) << shape.size();
      }
    }
  }
}

TEST(KernelsTest, AHashIsOfTheValuesAndNotOfTheirMemoryFormat) {
  const std::vector<int64_t> shape = {2, 3, 4, 5};
  const std::vector<int64_t> channels_last = {60, 1, 15, 3};
  const std::vector<float> values = Floats(120, 8);
  std::vector<float> moved(120);
  for (int64_t i = 0; i < 120; ++i) {
    const int64_t n = i / 60, c = i / 20 % 3, y = i / 5 % 4, x = i % 5;
    moved[static_cast<size_t>(n * 60 + c + y * 15 + x * 3)] = values[static_cast<size_t>(i)];
  }
  const uint64_t key = KeyOf("w", 4, shape);
  EXPECT_EQ(HashOnDevice(key, {nullptr, 4, shape, channels_last}, BitsOf(moved), 64, 1),
            SumsOnHost(key, 4, std::as_bytes(std::span(values))));
}

// Made by an independent program in Python after state_hash.h.
TEST(KernelsTest, StateHashesHaveTheirKnownAnswer) {
  std::vector<float> weight = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> count = {7};
  StateHash hash;
  EXPECT_EQ(hash.Text(), std::string(32, '0'));
  hash.Add(MakeTensorView<float>("conv.weight", {2, 3}, weight));
  EXPECT_EQ(hash.Text(), "c280d064889baffa91eb60d638ae957f");
  hash.Add(MakeTensorView<int64_t>("bn.count", {}, count));
  EXPECT_EQ(hash.Text(), "e3786bdfa27af34478dda34212874d71");
  StateHash other;
  other.Add(MakeTensorView<int64_t>("bn.count", {}, count));
  other.Add(MakeTensorView<float>("conv.weight", {2, 3}, weight));
  EXPECT_EQ(other.Text(), hash.Text());
}

TEST(KernelsTest, AStateHashSeesNamesShapesPlacesAndZeros) {
  const std::vector<float> values = {0, 1, 2, 3};
  const std::vector<float> exchanged = {1, 0, 2, 3};
  const std::vector<float> negative = {-0.0f, 1, 2, 3};
  std::set<std::string> texts;
  const auto add = [&](const std::string& name, Shape shape, const std::vector<float>& v) {
    StateHash hash;
    hash.Add(MakeTensorView<float>(name, std::move(shape), v));
    texts.insert(hash.Text());
  };
  add("a", {4}, values);
  add("b", {4}, values);
  add("a", {2, 2}, values);
  add("a", {1, 4}, values);
  add("a", {4}, exchanged);
  add("a", {4}, negative);
  EXPECT_THAT(texts, SizeIs(6));
}

TEST(KernelsTest, DialedTensorsAreThoseOfTheProcessor) {
  for (const size_t count : {size_t{1}, size_t{6}, size_t{3001}}) {
    for (const float size : {0x1p-24f, 1e-3f, 0.3f}) {
      std::vector<float> host = Floats(count, 3);
      host[0] = -0.0f;
      const auto device = MakeTestDevice(count);
      float* values = device->Put(host);
      const absl::Status status =
          device->launcher().Launch(DialLaunch(kSeed, 12, size, "fc.weight", values, count, 64));
      ASSERT_TRUE(status.ok()) << status;
      trainer::DialDraws(kSeed).Apply(12, "fc.weight", 0, size, std::span(host));
      ASSERT_EQ(BitsOf(device->Get(values, count)), BitsOf(host));
    }
  }
}

std::vector<float> NoisySum(const std::vector<float>& values, size_t columns, uint32_t block,
                            uint64_t order) {
  const auto device = MakeTestDevice(order);
  float* out = device->Put(std::vector<float>(columns));
  const absl::Status status = device->launcher().Launch(
      NoisySumLaunch(device->Put(values), values.size() / columns, columns, out, block));
  EXPECT_TRUE(status.ok()) << status;
  return device->Get(out, columns);
}

TEST(KernelsTest, NoisySumsAreRightWithinTheirBound) {
  for (const size_t columns : {size_t{1}, size_t{3}, size_t{16}}) {
    const std::vector<float> values = Floats(columns * 200, columns);
    const std::vector<float> sums = NoisySum(values, columns, 64, 1);
    for (size_t c = 0; c < columns; ++c) {
      double sum = 0, sizes = 0;
      for (size_t i = c; i < values.size(); i += columns) {
        sum += values[i];
        sizes += std::abs(values[i]);
      }
      EXPECT_NEAR(sums[c], sum, 200 * 0x1p-24 * sizes) << c;  // n u sum|x|, whatever the order.
    }
  }
}

// Of a large tensor there are more elements than threads. A grid of two blocks shows it of a small
// one.
TEST(KernelsTest, ThreadsGoOnByTheWholeGrid) {
  constexpr size_t kCount = 1001;
  const auto device = MakeTestDevice(5);
  const auto launch = [&](KernelLaunch small) {
    small.grid = 2;
    const absl::Status status = device->launcher().Launch(small);
    EXPECT_TRUE(status.ok()) << status;
  };
  const DropoutDraws draws(kSeed);
  std::vector<float> masked(kCount);
  draws.Fill(9, "drop1", 0.25, 3, masked);
  float* mask = device->Put(std::vector<float>(kCount, -99.0f));
  launch(DropoutLaunch(draws, 9, "drop1", 0.25, 3, mask, kCount, 32));
  EXPECT_EQ(BitsOf(device->Get(mask, kCount)), BitsOf(masked));

  std::vector<float> dialed = Floats(kCount, 3);
  float* values = device->Put(dialed);
  launch(DialLaunch(kSeed, 12, 0.3f, "fc.weight", values, kCount, 32));
  trainer::DialDraws(kSeed).Apply(12, "fc.weight", 0, 0.3f, std::span(dialed));
  EXPECT_EQ(BitsOf(device->Get(values, kCount)), BitsOf(dialed));

  const std::vector<int64_t> shape = {kCount}, strides = {1};
  const std::vector<uint32_t> words = BitsOf(Floats(kCount, 4));
  const uint64_t key = KeyOf("w", 4, shape);
  uint64_t* partial = device->Put(std::vector<uint64_t>(2 * kMostHashBlocks));
  uint64_t* sums = device->Put(std::vector<uint64_t>(2));
  const auto [elements, finish] =
      HashLaunches(key, {device->Put(words), 4, shape, strides}, partial, sums, 32);
  launch(elements);
  EXPECT_TRUE(device->launcher().Launch(finish).ok());
  const std::vector<uint64_t> hashed = device->Get(sums, 2);
  EXPECT_EQ((TensorSums{hashed[0], hashed[1]}),
            SumsOnHost(key, 4, std::as_bytes(std::span(words))));

  float* out = device->Put(std::vector<float>(1));
  launch(NoisySumLaunch(device->Put(std::vector<float>(kCount, 1.0f)), kCount, 1, out, 32));
  EXPECT_EQ(device->Get(out, 1), std::vector<float>{1001.0f});
}

TEST(KernelsTest, NoisySumsDifferWithTheOrder) {
  const bool rehearsed = MakeTestDevice(0)->rehearsed();
  // A GPU has its own orders, which differ where many threads come at once.
  const std::vector<float> values = Floats(rehearsed ? 512 : size_t{1} << 20, 2);
  std::set<uint32_t> seen;
  for (uint64_t order = 0; order < 12; ++order) {
    seen.insert(std::bit_cast<uint32_t>(NoisySum(values, 1, 64, order)[0]));
  }
  EXPECT_GE(seen.size(), rehearsed ? 3u : 2u) << "orders change nothing: this is no noise";
  RecordProperty("distinct", static_cast<int>(seen.size()));
}

}  // namespace

}  // namespace noisefloor::cuda
