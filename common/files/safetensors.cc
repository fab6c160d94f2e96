#include "common/files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
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

absl::StatusOr<std::string> Prefix(const SafetensorsHeader& header) {
  NF_ASSIGN_OR_RETURN(const std::string text, EncodeSafetensorsHeader(header));
  const uint64_t length = text.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return prefix + text;
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
  NF_ASSIGN_OR_RETURN(const std::string prefix, Prefix(header));
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path));
  NF_RETURN_IF_ERROR(writer.Write(prefix));
  for (const TensorView* tensor : order) NF_RETURN_IF_ERROR(writer.Write(tensor->bytes));
  return writer.Commit();
}

absl::StatusOr<SafetensorsContent> SafetensorsContent::Make(
    const std::vector<TensorView>& tensors, const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header{{}, metadata};
  SafetensorsContent made;
  made.places_.resize(tensors.size());
  size_t place = 0;
  for (const TensorView* tensor : InFileOrder(tensors)) {
    NF_ASSIGN_OR_RETURN(const int64_t count, ElementCount(tensor->shape));
    const size_t size = static_cast<size_t>(count) * SizeOf(tensor->type);
    header.tensors.push_back({tensor->name, tensor->type, tensor->shape, place, place + size});
    made.places_[static_cast<size_t>(tensor - tensors.data())] = {place, size};
    place += size;
  }
  NF_ASSIGN_OR_RETURN(made.content_, Prefix(header));
  for (auto& [begin, size] : made.places_) begin += made.content_.size();
  made.content_.resize(made.content_.size() + place);
  return made;
}

absl::StatusOr<SafetensorsView> ReadSafetensors(std::string_view content, const std::string& name) {
  if (content.size() < kLengthBytes) {
    return InvalidInput(
        fmt::format("{}: {} bytes; expected at least {}", name, content.size(), kLengthBytes));
  }
  uint64_t length = 0;
  std::memcpy(&length, content.data(), kLengthBytes);
  if (length > kMostHeaderBytes) {
    return InvalidInput(fmt::format(
        "{}: no safetensors file, or with a header of {} bytes, of which at most {} are "
        "allowed",
        name, length, kMostHeaderBytes));
  }
  if (length > content.size() - kLengthBytes) {
    return InvalidInput(fmt::format("{}: ends after {} bytes; the header alone is {}", name,
                                    content.size(), kLengthBytes + length));
  }
  const size_t begin = kLengthBytes + length;
  absl::StatusOr<SafetensorsHeader> header =
      DecodeSafetensorsHeader(content.substr(kLengthBytes, length), content.size() - begin);
  if (!header.ok()) return Annotate(header.status(), name);
  SafetensorsView view;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
  for (TensorPlace& place : header->tensors) {
    view.tensors.push_back({std::move(place.name), place.type, std::move(place.shape),
                            bytes.subspan(begin + place.begin, place.end - place.begin)});
  }
  view.metadata = std::move(header->metadata);
  return view;
}

const TensorView* SafetensorsView::Find(std::string_view name) const {
  const auto it = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const TensorView& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return it != tensors.end() && it->name == name ? &*it : nullptr;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  NF_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  SafetensorsFile file(std::move(mapped));
  NF_ASSIGN_OR_RETURN(file.view_, ReadSafetensors(file.file_.text(), path));
  return file;
}

}  // namespace noisefloor
