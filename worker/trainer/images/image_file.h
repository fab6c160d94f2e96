// A set of images of its user's own, as one file of the cache that is mapped. Images come first, in
// the order in which they were decoded: what their canonical order is is known when all are, and
// nothing is written twice.
//
//   images       bytes, {examples of train and test, 3, size, size}; zeros up to a multiple of 64
//   tables       of train and of test in turn, by rank: places of their images (32 bits, little
//                endian, as all numbers), labels (64 bits), attributes (bytes), groups (16 bits);
//                each begins at a multiple of 64, and so does what follows
//   checksums    of each image, by place
//   description  JSON of what is in the set (ImageSetFacts)
//   foot         the checksum of all since the tables; bytes of the description, magic (64 bits)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/checksum.h"
#include "worker/trainer/data/data_cache.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/images/go_on.h"

namespace noisefloor::trainer {

struct ImageSetFacts {
  std::string identity;
  std::string decoder;
  int64_t image_size = 0;
  std::vector<std::string> classes;
  std::vector<std::string> attributes;
  std::vector<GroupColumn> groups;
  std::array<int64_t, 2> examples = {};  // Of train and test.
};

// As JSON, keys sorted, without the identity when `bare`.
std::string DescribeSet(const ImageSetFacts& facts, bool bare);

// An example as it lies in the file.
struct ImageExample {
  uint32_t place = 0;  // Of its image.
  int64_t label = 0;
  std::span<const uint8_t> attributes;
  std::span<const uint16_t> groups;
};
// Of a rank of a split, 0 train and 1 test; each is asked for several times.
using ImageExampleOf = std::function<ImageExample(size_t split, int64_t rank)>;

// What comes behind the images; `checksums` are theirs, by place.
std::string ImageFileTail(const ImageSetFacts& facts, const ImageExampleOf& example,
                          std::span<const Checksum> checksums);

// As FromCanonicalFile: DataLoss, saying what is wrong, unless the tables and the images that are
// used are as they were written and of this identity. InvalidArgument for limits above what there
// is. With Trust::kImages those are not compared with their checksums; else Cancelled when `go_on`
// says so meanwhile.
enum class Trust : uint8_t { kNothing, kImages };
absl::StatusOr<Dataset> FromImageFile(const DataCache::Mapped& file, const std::string& name,
                                      std::string_view identity, ExampleLimits limits,
                                      Trust trust = Trust::kNothing, const GoOn& go_on = {});

// InvalidArgument, in the words of LoadDataset.
absl::Status CheckLimits(const std::string& name, const std::array<int64_t, 2>& examples,
                         ExampleLimits limits);

}  // namespace noisefloor::trainer
