// Lists, objects and sources of noise of a JSON text, each value with its place for errors.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"

#include "common/base/noise_source.h"
#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::inputs {

inline constexpr int64_t kMost32 = std::numeric_limits<uint32_t>::max();
inline constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kLastSecond = 253402300799;  // Of the year 9999: a date can be written.
inline constexpr size_t kMostText = size_t{64} << 20;

inline uint32_t Count(JsonReader& reader, std::string_view key) {
  return static_cast<uint32_t>(reader.Int(key, 0, kMost32));
}
inline std::string Text(JsonReader& reader, std::string_view key) {
  return reader.Text(key, kMostText);
}

// Each value of a list, with its place.
template <typename Visit>
absl::Status ForEach(const Json& list, const std::string& place, const Visit& visit) {
  if (!list.is_array()) return InvalidInput(place + ": expected a list");
  for (size_t i = 0; i < list.size(); ++i) {
    NF_RETURN_IF_ERROR(visit(list[i], fmt::format("{}[{}]", place, i)));
  }
  return absl::OkStatus();
}

// Each value of an object, with its key and place.
template <typename Visit>
absl::Status ForEachOf(const Json& object, const std::string& place, const Visit& visit) {
  if (!object.is_object()) return InvalidInput(place + ": expected an object");
  for (const auto& [key, value] : object.items()) {
    NF_RETURN_IF_ERROR(visit(key, value, fmt::format("{}.{}", place, key)));
  }
  return absl::OkStatus();
}

inline absl::Status ReadTexts(const Json& list, const std::string& place,
                              std::vector<std::string>& out) {
  return ForEach(list, place, [&](const Json& value, const std::string& at) -> absl::Status {
    if (!value.is_string()) return InvalidInput(at + ": expected a text");
    out.push_back(value.get<std::string>());
    return absl::OkStatus();
  });
}

inline absl::Status ReadNumbers(const Json& list, const std::string& place,
                                std::vector<double>& out) {
  return ForEach(list, place, [&](const Json& value, const std::string& at) -> absl::Status {
    const absl::StatusOr<double> number = NumberFromJson(value);
    if (!number.ok()) return Annotate(number.status(), at);
    out.push_back(*number);
    return absl::OkStatus();
  });
}

inline absl::Status ReadCounts(const Json& list, const std::string& place,
                               std::vector<uint32_t>& out) {
  return ForEach(list, place, [&](const Json& value, const std::string& at) -> absl::Status {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{kMost32}) {
      return InvalidInput(at + ": expected a count");
    }
    out.push_back(value.get<uint32_t>());
    return absl::OkStatus();
  });
}

// Each source of noise of an object, with its value and place.
template <typename Visit>
absl::Status ForEachSource(const Json& object, const std::string& place, const Visit& visit) {
  return ForEachOf(object, place,
                   [&](const std::string& name, const Json& value, const std::string& at) {
                     const std::optional<NoiseSource> source = ParseNoiseSource(name);
                     if (!source) return InvalidInput(at + ": no such source of noise");
                     return visit(*source, value, at);
                   });
}

inline absl::StatusOr<SourceState> StateOf(const Json& value, const std::string& at) {
  const std::optional<SourceState> state =
      value.is_string() ? ParseSourceState(value.get<std::string>()) : std::nullopt;
  if (!state) return InvalidInput(at + ": expected off, fixed or free");
  return *state;
}

}  // namespace noisefloor::inputs
