#include "tests/worker/trainer/torch/synthetic_data.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>

#include "common/base/philox.h"

namespace noisefloor::trainer {

namespace {

// Removed when the program ends.
class TemporaryFolder {
 public:
  TemporaryFolder() : name_(testing::TempDir() + "/noisefloor-XXXXXX") {
    EXPECT_NE(mkdtemp(name_.data()), nullptr);
  }
  ~TemporaryFolder() {
    if (getpid() != owner_) return;
    std::error_code ignored;
    std::filesystem::remove_all(name_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  const pid_t owner_ = getpid();
};

void AppendBigEndian(std::string& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
}

// Image `i` of a split: noise with a bright bar whose place is the label.
std::string PatternImage(uint64_t split, uint32_t i, uint32_t label) {
  const PhiloxStream noise(split, i);
  std::string pixels(784, '\0');
  for (uint32_t p = 0; p < 784; ++p) {
    const bool bar = p / 28 / 2 == label + 1;
    pixels[p] = static_cast<char>(noise.Word(p) % 100 + (bar ? 120 : 0));
  }
  return pixels;
}

struct Naming {
  std::string folder, variant;
};

void WriteSplit(const Naming& naming, const std::string& prefix, uint64_t split, uint32_t count) {
  std::string images, labels;
  AppendBigEndian(images, 0x803);
  for (const uint32_t size : {count, 28u, 28u}) AppendBigEndian(images, size);
  AppendBigEndian(labels, 0x801);
  AppendBigEndian(labels, count);
  for (uint32_t n = 0; n < count; ++n) {
    const uint32_t i = naming.variant == "reordered" ? count - 1 - n : n;
    const uint32_t label = PhiloxStream(split, i).Word(1000) % 10;
    std::string image = PatternImage(split, i, label);
    if (naming.variant == "pixel" && i == 77) image[100] = static_cast<char>(image[100] + 1);
    images += image;
    labels.push_back(static_cast<char>(label));
  }
  std::ofstream(naming.folder + "/" + prefix + "-images-idx3-ubyte", std::ios::binary) << images;
  std::ofstream(naming.folder + "/" + prefix + "-labels-idx1-ubyte", std::ios::binary) << labels;
}

// A record of CIFAR-10: its label, then a plane of each colour.
std::string ColourRecord(uint64_t seed, uint32_t number) {
  const PhiloxStream noise(seed, number);
  std::string record(1 + 3 * kColourPlane, '\0');
  record[0] = static_cast<char>(noise.Word(0) % 10);
  for (size_t i = 1; i < record.size();) {
    for (uint32_t word : noise.Block(i)) {
      for (int byte = 0; byte < 4 && i < record.size(); ++byte, ++i, word >>= 8) {
        const size_t colour = (i - 1) / kColourPlane;
        record[i] = static_cast<char>(colour * kColourLevels + (word & 255) % kColourLevels);
      }
    }
  }
  return record;
}

void WriteColours(const std::string& path, uint64_t seed) {
  std::ofstream file(path, std::ios::binary);
  for (uint32_t i = 0; i < 10000; ++i) file << ColourRecord(seed, i);
}

}  // namespace

std::string NewFolder() {
  static const TemporaryFolder all;
  static std::atomic<int> made{0};
  const std::string name = all.name() + "/" + std::to_string(++made);
  EXPECT_TRUE(std::filesystem::create_directory(name));
  return name;
}

std::string SyntheticDataRoot(const std::string& variant) {
  static std::map<std::string, TemporaryFolder> roots;
  const auto [root, made] = roots.try_emplace(variant);
  if (!made) return root->second.name();
  const std::string folder = root->second.name() + "/fashion-mnist-sample";
  std::filesystem::create_directories(folder);
  WriteSplit({folder, variant}, "train", 1, 6000);
  WriteSplit({folder, variant}, "t10k", 2, 1000);
  return root->second.name();
}

std::string SyntheticColourRoot() {
  static TemporaryFolder root;
  const std::string folder = root.name() + "/cifar-10-batches-bin";
  if (!std::filesystem::create_directories(folder)) return root.name();
  for (uint64_t part = 1; part <= 5; ++part) {
    WriteColours(folder + "/data_batch_" + std::to_string(part) + ".bin", part);
  }
  WriteColours(folder + "/test_batch.bin", 6);
  return root.name();
}

}  // namespace noisefloor::trainer
