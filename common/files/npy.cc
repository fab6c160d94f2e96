#include "common/files/npy.h"

#include <fmt/format.h>

#include "common/files/atomic_file.h"

namespace noisefloor {

absl::Status WriteNpy(const std::string& path, const TensorView& tensor) {
  NF_RETURN_IF_ERROR(CheckSize(tensor));
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path));
  NF_RETURN_IF_ERROR(writer.Write(EncodeNpyHeader({tensor.type, tensor.shape})));
  NF_RETURN_IF_ERROR(writer.Write(tensor.bytes));
  return writer.Commit();
}

absl::StatusOr<std::string> EncodeNpy(const TensorView& tensor) {
  NF_RETURN_IF_ERROR(CheckSize(tensor));
  std::string text = EncodeNpyHeader({tensor.type, tensor.shape});
  text.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return text;
}

absl::StatusOr<TensorView> DecodeNpy(std::string_view bytes, std::string name) {
  absl::StatusOr<DecodedNpyHeader> decoded = DecodeNpyHeader(bytes);
  if (!decoded.ok()) return Annotate(decoded.status(), name);
  const std::string_view values = bytes.substr(decoded->size_bytes);
  TensorView tensor{std::move(name), decoded->header.type, std::move(decoded->header.shape),
                    std::as_bytes(std::span(values.data(), values.size()))};
  NF_RETURN_IF_ERROR(CheckSize(tensor));
  return tensor;
}

absl::StatusOr<NpyView> NpyView::Open(const std::string& path) {
  NF_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  NF_ASSIGN_OR_RETURN(TensorView tensor, DecodeNpy(file.text(), path));
  return NpyView(std::move(file), std::move(tensor));
}

absl::Status NpyView::CheckAccess(ElementType wanted) const {
  if (tensor_.type != wanted) {
    return InvalidInput(fmt::format("{}: values are {}, expected {}", tensor_.name,
                                    Name(tensor_.type), Name(wanted)));
  }
  const size_t begin = static_cast<size_t>(tensor_.bytes.data() - file_.bytes().data());
  if (begin % SizeOf(wanted) != 0) {
    return InvalidInput(fmt::format("{}: values begin at byte {}, not a multiple of {}",
                                    tensor_.name, begin, SizeOf(wanted)));
  }
  return absl::OkStatus();
}

}  // namespace noisefloor
