#include "common/files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "common/files/atomic_file.h"
#include "common/files/safetensors_header.h"

namespace noisefloor {

namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMostHeaderBytes = uint64_t{16} << 20;

std::vector<const TensorView*> InFileOrder(const std::vector<TensorView>& tensors) {
  std::vector<const TensorView*> order;
  order.reserve(tensors.size());
  for (const TensorView& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorView* a, const TensorView* b) {
    const size_t size_a = SizeOf(a->type);
    const size_t size_b = SizeOf(b->type);
    return std::tie(size_b, a->name) < std::tie(size_a, b->name);
  });
  return order;
}

}  // namespace

absl::Status WriteSafetensors(const std::string& path, const std::vector<TensorView>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorView*> order = InFileOrder(tensors);
  SafetensorsHeader header{{}, metadata};
  uint64_t place = 0;
  for (const TensorView* tensor : order) {
    NF_RETURN_IF_ERROR(CheckSize(*tensor));
    const uint64_t end = place + tensor->bytes.size();
    header.tensors.push_back({tensor->name, tensor->type, tensor->shape, place, end});
    place = end;
  }
  NF_ASSIGN_OR_RETURN(const std::string text, EncodeSafetensorsHeader(header));
  const uint64_t length = text.size();
  std::array<char, kLengthBytes> length_bytes;
  std::memcpy(length_bytes.data(), &length, kLengthBytes);

  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path));
  NF_RETURN_IF_ERROR(writer.Write(std::string_view(length_bytes.data(), kLengthBytes)));
  NF_RETURN_IF_ERROR(writer.Write(text));
  for (const TensorView* tensor : order) NF_RETURN_IF_ERROR(writer.Write(tensor->bytes));
  return writer.Commit();
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  NF_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  SafetensorsFile file(std::move(mapped));
  const std::string_view text = file.file_.text();
  if (text.size() < kLengthBytes) {
    return InvalidInput(
        fmt::format("{}: {} bytes; expected at least {}", path, text.size(), kLengthBytes));
  }
  uint64_t length = 0;
  std::memcpy(&length, text.data(), kLengthBytes);
  if (length > kMostHeaderBytes) {
    return InvalidInput(fmt::format("{}: header of {} bytes; at most {} are allowed", path, length,
                                    kMostHeaderBytes));
  }
  if (length > text.size() - kLengthBytes) {
    return InvalidInput(fmt::format("{}: ends after {} bytes; the header alone is {}", path,
                                    text.size(), kLengthBytes + length));
  }
  const size_t begin = kLengthBytes + length;
  absl::StatusOr<SafetensorsHeader> header =
      DecodeSafetensorsHeader(text.substr(kLengthBytes, length), text.size() - begin);
  if (!header.ok()) return Annotate(header.status(), path);
  for (TensorPlace& place : header->tensors) {
    file.tensors_.push_back(
        {std::move(place.name), place.type, std::move(place.shape),
         file.file_.bytes().subspan(begin + place.begin, place.end - place.begin)});
  }
  file.metadata_ = std::move(header->metadata);
  return file;
}

const TensorView* SafetensorsFile::Find(std::string_view name) const {
  const auto it = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const TensorView& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

}  // namespace noisefloor
