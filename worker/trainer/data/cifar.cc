#include "worker/trainer/data/cifar.h"

#include <fmt/format.h>

#include <utility>

#include "common/files/mapped_file.h"

namespace noisefloor::trainer {

namespace {

constexpr int kCoarseClasses = 20;

size_t LabelBytes(const CifarFormat& format) { return format.coarse_label ? 2 : 1; }

size_t RecordBytes(const CifarFormat& format) {
  return LabelBytes(format) + static_cast<size_t>(format.shape.pixels());
}

struct RecordFile {
  std::string path;
  MappedFile file;
  size_t records = 0;
};

// Reads no record yet.
absl::StatusOr<RecordFile> OpenRecords(std::string path, const CifarFormat& format) {
  NF_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  const size_t bytes = file.bytes().size();
  if (bytes % RecordBytes(format) != 0) {
    return InvalidInput(fmt::format("{}: {} bytes; expected whole records of {} bytes", path, bytes,
                                    RecordBytes(format)));
  }
  return RecordFile{std::move(path), std::move(file), bytes / RecordBytes(format)};
}

absl::Status AppendRecords(const RecordFile& file, const CifarFormat& format, RawSplit& split) {
  const size_t label_bytes = LabelBytes(format);
  const size_t record_bytes = RecordBytes(format);
  for (size_t example = 0; example < file.records; ++example) {
    const auto* record =
        reinterpret_cast<const uint8_t*>(file.file.bytes().data()) + example * record_bytes;
    if (format.coarse_label && record[0] >= kCoarseClasses) {
      return InvalidInput(fmt::format("{}: example {} has coarse label {}; expected 0 to {}",
                                      file.path, example, record[0], kCoarseClasses - 1));
    }
    NF_RETURN_IF_ERROR(
        AppendLabel(file.path, example, record[label_bytes - 1], format.classes, split));
    split.images.insert(split.images.end(), record + label_bytes, record + record_bytes);
  }
  return absl::OkStatus();
}

}  // namespace

CifarFormat CifarFormatOf(const KnownDataset& known) {
  CifarFormat format;
  format.shape = {known.channels, known.height, known.width};
  format.classes = known.classes;
  format.coarse_label = known.name == "cifar100";
  format.train = {"train", {"train.bin"}, known.train_examples};
  format.test = {"test", {"test.bin"}, known.test_examples};
  if (!format.coarse_label) {
    format.train.files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                          "data_batch_4.bin", "data_batch_5.bin"};
    format.test.files = {"test_batch.bin"};
  }
  return format;
}

absl::StatusOr<RawSplit> ReadCifar(const std::string& folder, const CifarSplit& split,
                                   const CifarFormat& format) {
  std::vector<RecordFile> files;
  uint64_t records = 0;
  for (const std::string_view name : split.files) {
    NF_ASSIGN_OR_RETURN(RecordFile file, OpenRecords(fmt::format("{}/{}", folder, name), format));
    records += file.records;
    files.push_back(std::move(file));
  }
  NF_RETURN_IF_ERROR(CheckCount(folder, split.name, records, split.examples));
  RawSplit raw;
  raw.images.reserve(records * static_cast<size_t>(format.shape.pixels()));
  raw.labels.reserve(records);
  for (const RecordFile& file : files) NF_RETURN_IF_ERROR(AppendRecords(file, format, raw));
  return raw;
}

}  // namespace noisefloor::trainer
