#include "common/trainer_protocol/setting.h"

#include <algorithm>
#include <charconv>

namespace noisefloor {

namespace {

std::string NumberText(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

}  // namespace

std::string ToText(const SettingValue& value) {
  struct Visitor {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return NumberText(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const {
      std::string text = "[";
      for (size_t i = 0; i < v.size(); ++i) text += (i ? ", " : "") + std::to_string(v[i]);
      return text + "]";
    }
  };
  return std::visit(Visitor{}, value);
}

const SettingValue* FindSetting(const Settings& settings, std::string_view path) {
  const auto found = std::ranges::find(settings, path, &Setting::first);
  return found == settings.end() ? nullptr : &found->second;
}

std::string TextSetting(const Settings& settings, std::string_view path) {
  const SettingValue* value = FindSetting(settings, path);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

int64_t IntSetting(const Settings& settings, std::string_view path) {
  const SettingValue* value = FindSetting(settings, path);
  const auto* whole = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  return whole == nullptr ? 0 : *whole;
}

void PutSetting(Settings& settings, std::string_view path, SettingValue value) {
  const auto found = std::ranges::find(settings, path, &Setting::first);
  if (found == settings.end()) {
    settings.emplace_back(path, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

}  // namespace noisefloor
