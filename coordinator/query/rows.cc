#include "coordinator/query/rows.h"

#include <cmath>
#include <limits>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::query {

namespace {

double NumberOf(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<double> NumbersIn(std::string_view json) {
  std::vector<double> numbers;
  if (json.empty()) return numbers;
  const auto list = ParseJson(json);
  if (!list.ok() || !list->is_array()) return numbers;
  for (const Json& value : *list) numbers.push_back(NumberOf(value));
  return numbers;
}

}  // namespace noisefloor::query
