#include "common/files/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "common/base/check.h"

namespace noisefloor {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kPrefixBytes = 10;  // Magic, two version bytes, two length bytes.
constexpr size_t kMostHeaderBytes = 4096;

std::string_view Descr(ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return "<f4";
    case ElementType::kUint8: return "|u1";
    case ElementType::kInt32: return "<i4";
    case ElementType::kInt64: return "<i8";
    case ElementType::kFloat64: return "<f8";
  }
  return "corrupt";
}

std::optional<ElementType> ParseDescr(std::string_view text) {
  for (const ElementType type : {ElementType::kFloat32, ElementType::kUint8, ElementType::kInt32,
                                 ElementType::kInt64, ElementType::kFloat64}) {
    if (text == Descr(type)) return type;
  }
  return std::nullopt;
}

// Reads Python's literals of one dictionary, left to right.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : text_(text), whole_(text.size()) {}

  bool Take(char symbol) {
    SkipSpace();
    if (text_.empty() || text_[0] != symbol) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<std::string_view> TakeString() {
    SkipSpace();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool TakeWord(std::string_view word) {
    SkipSpace();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<int64_t> TakeNumber() {
    SkipSpace();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return number;
  }
  bool AtEnd() {
    SkipSpace();
    return text_.empty();
  }
  size_t place() const { return kPrefixBytes + whole_ - text_.size(); }

 private:
  void SkipSpace() {
    const size_t skip = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(skip == std::string_view::npos ? text_.size() : skip);
  }
  std::string_view text_;
  size_t whole_;
};

absl::Status Expected(const DictionaryReader& reader, std::string_view what) {
  return InvalidInput(fmt::format("header, byte {}: expected {}", reader.place(), what));
}

absl::Status ReadShape(DictionaryReader& reader, Shape& shape) {
  if (!reader.Take('(')) return Expected(reader, "( to begin the shape");
  while (!reader.Take(')')) {
    const std::optional<int64_t> size = reader.TakeNumber();
    if (!size) return Expected(reader, "a size of the shape or )");
    shape.push_back(*size);
    if (!reader.Take(',')) {
      if (!reader.Take(')')) return Expected(reader, ", or ) after a size of the shape");
      if (shape.size() == 1) return Expected(reader, "(n,) for a shape of one size");
      break;
    }
  }
  return ElementCount(shape).status();
}

struct Found {
  std::optional<ElementType> type;
  std::optional<Shape> shape;
  bool order = false;
};

absl::Status ReadEntry(DictionaryReader& reader, Found& found) {
  const std::optional<std::string_view> key = reader.TakeString();
  if (!key) return Expected(reader, "a key in quotes or }");
  if (!reader.Take(':')) return Expected(reader, ": after a key");
  if (*key == "descr" && !found.type) {
    const std::optional<std::string_view> descr = reader.TakeString();
    if (!descr) return Expected(reader, "a type in quotes");
    found.type = ParseDescr(*descr);
    if (found.type) return absl::OkStatus();
    return InvalidInput(
        fmt::format("values are of type '{}'; expected <f4, <f8, |u1, <i4 or <i8", *descr));
  }
  if (*key == "fortran_order" && !found.order) {
    found.order = true;
    if (reader.TakeWord("False")) return absl::OkStatus();
    if (!reader.TakeWord("True")) return Expected(reader, "True or False");
    return InvalidInput("fortran_order is True; expected values in C order");
  }
  if (*key == "shape" && !found.shape) return ReadShape(reader, found.shape.emplace());
  return InvalidInput(
      fmt::format("header key '{}'; expected each of descr, fortran_order and shape once", *key));
}

absl::StatusOr<NpyHeader> ReadDictionary(std::string_view text) {
  DictionaryReader reader(text);
  Found found;
  if (!reader.Take('{')) return Expected(reader, "{ to begin the header");
  while (!reader.Take('}')) {
    NF_RETURN_IF_ERROR(ReadEntry(reader, found));
    if (reader.Take(',')) continue;
    if (!reader.Take('}')) return Expected(reader, ", or } after a value");
    break;
  }
  if (!reader.AtEnd()) return Expected(reader, "only spaces after the header's }");
  if (!found.type) return InvalidInput("header without descr");
  if (!found.order) return InvalidInput("header without fortran_order");
  if (!found.shape) return InvalidInput("header without shape");
  return NpyHeader{*found.type, *std::move(found.shape)};
}

}  // namespace

std::string EncodeNpyHeader(const NpyHeader& header) {
  NF_CHECK(ElementCount(header.shape).ok());
  const std::string shape =
      fmt::format("{}{}", fmt::join(header.shape, ", "), header.shape.size() == 1 ? "," : "");
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                       Descr(header.type), shape);
  const size_t used = kPrefixBytes + dictionary.size() + 1;
  dictionary.append((64 - used % 64) % 64, ' ').push_back('\n');
  std::string text(kMagic);
  text.append({'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
               static_cast<char>(dictionary.size() >> 8)});
  return text + dictionary;
}

absl::StatusOr<DecodedNpyHeader> DecodeNpyHeader(std::string_view file) {
  if (!file.starts_with(kMagic)) return InvalidInput("does not begin with the magic of .npy files");
  if (file.size() < kPrefixBytes) {
    return InvalidInput(fmt::format("ends after {} bytes, within the header", file.size()));
  }
  const int major = static_cast<unsigned char>(file[6]);
  const int minor = static_cast<unsigned char>(file[7]);
  if (major != 1 || minor != 0) {
    return InvalidInput(fmt::format(".npy version {}.{}; expected 1.0", major, minor));
  }
  const size_t length =
      static_cast<unsigned char>(file[8]) + (size_t{static_cast<unsigned char>(file[9])} << 8);
  if (length > kMostHeaderBytes) {
    return InvalidInput(
        fmt::format("header of {} bytes; at most {} are allowed", length, kMostHeaderBytes));
  }
  if (file.size() < kPrefixBytes + length) {
    return InvalidInput(fmt::format("ends after {} bytes; the header alone is {}", file.size(),
                                    kPrefixBytes + length));
  }
  DecodedNpyHeader decoded;
  NF_ASSIGN_OR_RETURN(decoded.header, ReadDictionary(file.substr(kPrefixBytes, length)));
  decoded.size_bytes = kPrefixBytes + length;
  return decoded;
}

}  // namespace noisefloor
