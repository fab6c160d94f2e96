#include "coordinator/query/rows.h"

#include <limits>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor::query {

bool IsDefault(const sweep::Sweep& sweep, const sweep::Setting& setting) {
  if (!sweep.schema.empty()) return false;
  const SettingRule* rule = OwnSchema()->Find(setting.first);
  return rule != nullptr && rule->otherwise == setting.second;
}

std::vector<double> NumbersIn(std::string_view json) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> numbers;
  if (json.empty()) return numbers;
  const auto list = ParseJson(json);
  if (!list.ok() || !list->is_array()) return numbers;
  for (const Json& value : *list) numbers.push_back(NumberFromJson(value).value_or(kNone));
  return numbers;
}

}  // namespace noisefloor::query
