#include "common/files/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "nlohmann/json.hpp"

namespace noisefloor {

namespace {

using nlohmann::json;

std::optional<std::string_view> DtypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return "F32";
    case ElementType::kInt64: return "I64";
    case ElementType::kUint8:
    case ElementType::kInt32:
    case ElementType::kFloat64: return std::nullopt;
  }
  return std::nullopt;
}

// nlohmann-json keeps the last of two equal keys; a file with two is refused. So is one that nests
// deeper than a shape, which is dropped while it is read: copies and texts of it would recurse.
absl::StatusOr<json> ParseObject(std::string_view text) {
  std::set<std::string> names;
  std::string repeated;
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth > 2) {
      too_deep = true;
      return false;
    }
    if (event == json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  json object = json::parse(text, watch, /*allow_exceptions=*/false);
  if (too_deep) return InvalidInput("the header nests deeper than names, tensors and their shapes");
  if (object.is_discarded()) return InvalidInput("the header is not valid JSON");
  if (!object.is_object()) return InvalidInput("the header is not a JSON object");
  if (!repeated.empty()) return InvalidInput(fmt::format("two tensors named '{}'", repeated));
  return object;
}

absl::Status ReadMetadata(const json& value, std::map<std::string, std::string>& metadata) {
  if (!value.is_object()) return InvalidInput("__metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      return InvalidInput(fmt::format("__metadata__: '{}' is not a string", key));
    }
    metadata[key] = text.get<std::string>();
  }
  return absl::OkStatus();
}

absl::Status ReadType(const json& value, ElementType& type) {
  const json dtype = value.contains("dtype") ? value["dtype"] : json();
  if (dtype == "F32") {
    type = ElementType::kFloat32;
  } else if (dtype == "I64") {
    type = ElementType::kInt64;
  } else {
    return InvalidInput(fmt::format("dtype is {}; expected \"F32\" or \"I64\"", dtype.dump()));
  }
  return absl::OkStatus();
}

absl::Status ReadShape(const json& value, Shape& shape) {
  if (!value.contains("shape") || !value["shape"].is_array()) {
    return InvalidInput("shape is not a list of sizes");
  }
  for (const json& size : value["shape"]) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > uint64_t{1} << 40) {
      return InvalidInput(
          fmt::format("shape has the size {}; expected a number of 0 to 2^40", size.dump()));
    }
    shape.push_back(size.get<int64_t>());
  }
  return ElementCount(shape).status();
}

absl::Status ReadOffsets(const json& value, TensorPlace& place) {
  const json offsets = value.contains("data_offsets") ? value["data_offsets"] : json();
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return InvalidInput("data_offsets is not a list of two numbers");
  }
  place.begin = offsets[0].get<uint64_t>();
  place.end = offsets[1].get<uint64_t>();
  NF_ASSIGN_OR_RETURN(const int64_t count, ElementCount(place.shape));
  const uint64_t expected = static_cast<uint64_t>(count) * SizeOf(place.type);
  if (place.end < place.begin || place.end - place.begin != expected) {
    return InvalidInput(fmt::format("data_offsets [{}, {}]; expected {} bytes for {} {}",
                                    place.begin, place.end, expected, Name(place.type),
                                    ToText(place.shape)));
  }
  return absl::OkStatus();
}

absl::Status ReadPlace(const json& value, TensorPlace& place) {
  if (!value.is_object()) return InvalidInput("not an object");
  NF_RETURN_IF_ERROR(ReadType(value, place.type));
  NF_RETURN_IF_ERROR(ReadShape(value, place.shape));
  return ReadOffsets(value, place);
}

absl::Status CheckCover(std::vector<TensorPlace> places, uint64_t values_bytes) {
  std::sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t expected = 0;
  for (const TensorPlace& place : places) {
    if (place.begin != expected) {
      return InvalidInput(fmt::format("tensor '{}' begins at byte {}; expected {}", place.name,
                                      place.begin, expected));
    }
    expected = place.end;
  }
  if (expected != values_bytes) {
    return InvalidInput(
        fmt::format("{} bytes of values; the header says {}", values_bytes, expected));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EncodeSafetensorsHeader(const SafetensorsHeader& header) {
  json object = json::object();
  if (!header.metadata.empty()) object["__metadata__"] = header.metadata;
  for (const TensorPlace& place : header.tensors) {
    const std::optional<std::string_view> dtype = DtypeOf(place.type);
    if (!dtype) {
      return InvalidInput(fmt::format("tensor '{}' is {}; expected float32 or int64", place.name,
                                      Name(place.type)));
    }
    if (place.name == "__metadata__" || object.contains(place.name)) {
      return InvalidInput(fmt::format("two entries named '{}'", place.name));
    }
    object[place.name] = {
        {"dtype", *dtype}, {"shape", place.shape}, {"data_offsets", {place.begin, place.end}}};
  }
  try {
    std::string text = object.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const json::exception& error) {
    return MakeError(absl::StatusCode::kInternal,
                     fmt::format("a tensor's name is not UTF-8: {}", error.what()));
  }
}

absl::StatusOr<SafetensorsHeader> DecodeSafetensorsHeader(std::string_view text,
                                                          uint64_t values_bytes) {
  NF_ASSIGN_OR_RETURN(const json object, ParseObject(text));
  SafetensorsHeader header;
  for (const auto& [name, value] : object.items()) {
    if (name == "__metadata__") {
      NF_RETURN_IF_ERROR(ReadMetadata(value, header.metadata));
      continue;
    }
    TensorPlace place;
    place.name = name;
    const absl::Status read = ReadPlace(value, place);
    if (!read.ok()) return Annotate(read, fmt::format("tensor '{}'", name));
    header.tensors.push_back(std::move(place));
  }
  NF_RETURN_IF_ERROR(CheckCover(header.tensors, values_bytes));
  return header;
}

}  // namespace noisefloor
