// A set of images of its user's own in canonical order, as one file of the cache that is mapped.
//
//   head   magic (64 bits, little endian), bytes of the description (64 bits), the description:
//   JSON
//          of what is in the set (ImageSetFacts); zeros up to a multiple of 4096
//   body   of train and of test in turn: labels (64 bits each), attributes (bytes), groups (16
//          bits), images (bytes, {examples, 3, size, size}); each part begins at a multiple of 64
//   foot   the checksum of each MiB of the body; the checksum of the head and these
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/atomic_file.h"
#include "worker/trainer/data/data_cache.h"
#include "worker/trainer/data/dataset.h"

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

// An example as it lies in the file, without its image.
struct ImageExample {
  int64_t label = 0;
  std::span<const uint8_t> attributes;
  std::span<const uint16_t> groups;
};
// What is known of a rank of a split, 0 train and 1 test; examples are asked for several times.
struct ImageExamples {
  std::function<ImageExample(size_t split, int64_t rank)> example;
  std::function<absl::Status(size_t split, int64_t rank, std::span<uint8_t> image)> read_image;
};

absl::Status WriteImageFile(const ImageSetFacts& facts, const ImageExamples& examples,
                            AtomicFileWriter& writer);

// As FromCanonicalFile: DataLoss, saying what is wrong, unless the head and what is used of the
// body are as they were written and of this identity. InvalidArgument for limits above what there
// is.
// With Trust::kBody the checksums of the body are not compared.
enum class Trust : uint8_t { kNothing, kBody };
absl::StatusOr<Dataset> FromImageFile(const DataCache::Mapped& file, const std::string& name,
                                      std::string_view identity, ExampleLimits limits,
                                      Trust trust = Trust::kNothing);

// InvalidArgument, in the words of LoadDataset.
absl::Status CheckLimits(const std::string& name, const std::array<int64_t, 2>& examples,
                         ExampleLimits limits);

}  // namespace noisefloor::trainer
