#include "coordinator/scheduler/member_selection.h"

#include <algorithm>

namespace noisefloor::scheduler {

bool HasAxes(const Selection& selection, const Settings& axes) {
  return std::ranges::all_of(selection.axes, [&](const auto& asked) {
    const SettingValue* value = FindSetting(axes, asked.first);
    return value != nullptr && asked.second.contains(ToText(*value));
  });
}

}  // namespace noisefloor::scheduler
