#include "worker/trainer/data/idx.h"

#include <fmt/format.h>

#include <vector>

#include "common/files/directory.h"
#include "common/files/gzip.h"

namespace noisefloor::trainer {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 28;  // The largest known file has 47 MB.
constexpr uint32_t kLabelMagic = 0x00000801;        // Unsigned bytes, one dimension.
constexpr uint32_t kImageMagic = 0x00000803;        // Unsigned bytes, three dimensions.

struct IdxFile {
  std::string path;
  std::string content;
  std::vector<uint32_t> sizes;
  size_t header_bytes = 0;
};

uint32_t BigEndian(std::string_view bytes, size_t place) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number = (number << 8) | static_cast<unsigned char>(bytes[place + i]);
  }
  return number;
}

absl::StatusOr<std::string> FindPlainOrGzip(const std::string& path) {
  if (PathExists(path)) return path;
  if (PathExists(path + ".gz")) return path + ".gz";
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("{}: not found, and neither is {}.gz", path, path));
}

// Header and size of the file; the number of dimensions is the magic's last byte.
absl::StatusOr<IdxFile> ReadIdxFile(const std::string& wanted, uint32_t magic) {
  IdxFile file;
  NF_ASSIGN_OR_RETURN(file.path, FindPlainOrGzip(wanted));
  NF_ASSIGN_OR_RETURN(file.content, ReadPlainOrGzip(file.path, kMostBytes));
  const size_t dimensions = magic & 0xff;
  file.header_bytes = 4 + 4 * dimensions;
  const size_t size = file.content.size();
  if (size >= 4 && BigEndian(file.content, 0) != magic) {
    return InvalidInput(fmt::format("{}: magic number 0x{:08x}; expected 0x{:08x}", file.path,
                                    BigEndian(file.content, 0), magic));
  }
  if (size < file.header_bytes) {
    return InvalidInput(fmt::format("{}: ends after {} bytes; the header alone is {}", file.path,
                                    size, file.header_bytes));
  }
  uint64_t values = 1;
  for (size_t i = 0; i < dimensions; ++i) {
    file.sizes.push_back(BigEndian(file.content, 4 + 4 * i));
    if (file.sizes.back() != 0 && values > kMostBytes / file.sizes.back()) {
      return InvalidInput(fmt::format("{}: sizes of more than {} bytes", file.path, kMostBytes));
    }
    values *= file.sizes.back();
  }
  if (size - file.header_bytes != values) {
    return InvalidInput(fmt::format("{}: {} bytes after the header; expected {}", file.path,
                                    size - file.header_bytes, values));
  }
  return file;
}

}  // namespace

absl::StatusOr<RawSplit> ReadIdx(const std::string& folder, std::string_view prefix,
                                 const IdxFormat& format) {
  const std::string stem = fmt::format("{}/{}", folder, prefix);
  NF_ASSIGN_OR_RETURN(const IdxFile images, ReadIdxFile(stem + "-images-idx3-ubyte", kImageMagic));
  if (images.sizes[1] != format.shape.height || images.sizes[2] != format.shape.width) {
    return InvalidInput(fmt::format("{}: images of {}x{}; expected {}x{}", images.path,
                                    images.sizes[1], images.sizes[2], format.shape.height,
                                    format.shape.width));
  }
  NF_ASSIGN_OR_RETURN(const IdxFile labels, ReadIdxFile(stem + "-labels-idx1-ubyte", kLabelMagic));
  if (labels.sizes[0] != images.sizes[0]) {
    return InvalidInput(fmt::format("{}: {} labels; {} has {} images", labels.path, labels.sizes[0],
                                    images.path, images.sizes[0]));
  }
  RawSplit split;
  split.labels.reserve(labels.sizes[0]);
  for (size_t i = 0; i < labels.sizes[0]; ++i) {
    const auto label = static_cast<unsigned char>(labels.content[labels.header_bytes + i]);
    NF_RETURN_IF_ERROR(AppendLabel(labels.path, i, label, format.classes, split));
  }
  const std::string& content = images.content;
  split.images.assign(content.begin() + static_cast<std::ptrdiff_t>(images.header_bytes),
                      content.end());
  return split;
}

}  // namespace noisefloor::trainer
