// Small data sets in the formats that the trainer reads, made by tests.
#pragma once

#include <stdlib.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "common/base/check.h"
#include "common/base/philox.h"
#include "common/files/directory.h"
#include "common/trainer_protocol/datasets.h"
#include "tests/support/gzip.h"

namespace noisefloor::trainer {

inline constexpr KnownDataset kTinyCifar10{"cifar10", "ten", 4, 3, 2, 2, 15, 3, ""};
inline constexpr KnownDataset kTinyCifar100{"cifar100", "hundred", 4, 3, 2, 2, 5, 3, ""};
inline constexpr KnownDataset kTinyMnist{"mnist", "digits", 4, 1, 3, 2, 9, 4, ""};

// A data root of one test, removed with it.
class DataRoot {
 public:
  DataRoot() : root_(::testing::TempDir() + "noisefloor-XXXXXX") {
    NF_CHECK(mkdtemp(root_.data()) != nullptr);
  }
  ~DataRoot() { (void)RemoveTree(root_); }
  DataRoot(const DataRoot&) = delete;
  DataRoot& operator=(const DataRoot&) = delete;

  const std::string& path() const { return root_; }
  std::string Path(std::string_view name) const { return root_ + "/" + std::string(name); }
  void Put(std::string_view name, std::string_view bytes) const {
    const std::string path = Path(name);
    NF_CHECK(CreateDirectories(path.substr(0, path.rfind('/'))).ok());
    std::ofstream(path, std::ios::binary) << bytes;
  }

 private:
  std::string root_;
};

struct Example {
  int label = 0;
  std::string pixels;
};

inline std::vector<Example> RandomExamples(uint64_t seed, size_t count, size_t pixels,
                                           uint32_t classes) {
  const PhiloxStream stream(seed, 0);
  std::vector<Example> examples(count);
  uint64_t word = 0;
  for (Example& example : examples) {
    example.label = static_cast<int>(stream.Word(word++) % classes);
    for (size_t i = 0; i < pixels; ++i) {
      example.pixels.push_back(static_cast<char>(stream.Word(word++)));
    }
  }
  return examples;
}

inline std::string CifarRecords(const std::vector<Example>& examples, bool coarse = false) {
  std::string bytes;
  for (const Example& example : examples) {
    if (coarse) bytes.push_back(1);
    bytes.push_back(static_cast<char>(example.label));
    bytes += example.pixels;
  }
  return bytes;
}

inline std::string BigEndian(uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

inline std::string IdxImages(const std::vector<Example>& examples, uint32_t height,
                             uint32_t width) {
  std::string bytes = BigEndian(0x803) + BigEndian(static_cast<uint32_t>(examples.size())) +
                      BigEndian(height) + BigEndian(width);
  for (const Example& example : examples) bytes += example.pixels;
  return bytes;
}

inline std::string IdxLabels(const std::vector<Example>& examples) {
  std::string bytes = BigEndian(0x801) + BigEndian(static_cast<uint32_t>(examples.size()));
  for (const Example& example : examples) bytes.push_back(static_cast<char>(example.label));
  return bytes;
}

// Good files of the three tiny sets under the root.
inline void PutTinyCifar10(const DataRoot& root, const std::vector<Example>& train,
                           const std::vector<Example>& test) {
  NF_CHECK(train.size() % 5 == 0);
  const size_t part = train.size() / 5;
  for (size_t i = 0; i < 5; ++i) {
    const auto begin = train.begin() + static_cast<std::ptrdiff_t>(i * part);
    root.Put("ten/data_batch_" + std::to_string(i + 1) + ".bin",
             CifarRecords({begin, begin + static_cast<std::ptrdiff_t>(part)}));
  }
  root.Put("ten/test_batch.bin", CifarRecords(test));
}

inline void PutTinyCifar100(const DataRoot& root) {
  root.Put("hundred/train.bin", CifarRecords(RandomExamples(5, 5, 12, 4), true));
  root.Put("hundred/test.bin", CifarRecords(RandomExamples(6, 3, 12, 4), true));
}

inline void PutTinyMnist(const DataRoot& root) {
  const std::vector<Example> train = RandomExamples(7, 9, 6, 4);
  const std::vector<Example> test = RandomExamples(8, 4, 6, 4);
  root.Put("digits/train-images-idx3-ubyte", IdxImages(train, 3, 2));
  root.Put("digits/train-labels-idx1-ubyte", IdxLabels(train));
  root.Put("digits/t10k-images-idx3-ubyte", IdxImages(test, 3, 2));
  root.Put("digits/t10k-labels-idx1-ubyte", IdxLabels(test));
}

}  // namespace noisefloor::trainer
