// Numbers, lists and estimates as the JSON of a study writes them.
#pragma once

#include <cmath>
#include <optional>

#include "nlohmann/json.hpp"

#include "coordinator/analysis/estimate.h"

namespace noisefloor::report {

using Json = nlohmann::ordered_json;

inline Json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

inline Json Number(const std::optional<double>& value) {
  return value ? Number(*value) : Json(nullptr);
}

template <typename Values>
Json Numbers(const Values& values) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(Number(value));
  return list;
}

// {convert(item)...}
template <typename Items, typename Convert>
Json List(const Items& items, const Convert& convert) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(convert(item));
  return list;
}

inline Json ToJson(const analysis::Estimate& e) {
  return {{"value", Number(e.value)},
          {"low", Number(e.low)},
          {"high", Number(e.high)},
          {"n", e.n},
          {"unit", e.unit},
          {"method", e.method},
          {"detectable", Number(e.detectable)},
          {"detectable_kind", e.detectable_kind},
          {"note", e.note}};
}

}  // namespace noisefloor::report
