#include "worker/trainer/data/cifar.h"

#include <fmt/format.h>

#include "common/files/mapped_file.h"

namespace noisefloor::trainer {

namespace {

constexpr int kCoarseClasses = 20;

absl::Status AppendRecords(const std::string& path, const CifarFormat& format, RawSplit& split) {
  NF_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const size_t label_bytes = format.coarse_label ? 2 : 1;
  const size_t record_bytes = label_bytes + static_cast<size_t>(format.shape.pixels());
  if (file.bytes().size() % record_bytes != 0) {
    return InvalidInput(fmt::format("{}: {} bytes; expected whole records of {} bytes", path,
                                    file.bytes().size(), record_bytes));
  }
  const size_t count = file.bytes().size() / record_bytes;
  for (size_t example = 0; example < count; ++example) {
    const auto* record =
        reinterpret_cast<const uint8_t*>(file.bytes().data()) + example * record_bytes;
    if (format.coarse_label && record[0] >= kCoarseClasses) {
      return InvalidInput(fmt::format("{}: example {} has coarse label {}; expected 0 to {}", path,
                                      example, record[0], kCoarseClasses - 1));
    }
    NF_RETURN_IF_ERROR(AppendLabel(path, example, record[label_bytes - 1], format.classes, split));
    split.images.insert(split.images.end(), record + label_bytes, record + record_bytes);
  }
  return absl::OkStatus();
}

}  // namespace

CifarFormat Cifar10(ImageShape shape, int64_t classes) {
  return {shape,
          classes,
          false,
          {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
           "data_batch_5.bin"},
          {"test_batch.bin"}};
}

CifarFormat Cifar100(ImageShape shape, int64_t classes) {
  return {shape, classes, true, {"train.bin"}, {"test.bin"}};
}

absl::StatusOr<RawSplit> ReadCifar(const std::string& folder,
                                   const std::vector<std::string_view>& files,
                                   const CifarFormat& format) {
  RawSplit split;
  for (const std::string_view name : files) {
    NF_RETURN_IF_ERROR(AppendRecords(fmt::format("{}/{}", folder, name), format, split));
  }
  return split;
}

}  // namespace noisefloor::trainer
