// The program's log: one line per event on standard error, as key=value or as JSON.
//
//   LogInfo("lease_started", {{"lease", 7}, {"member", "s1c0r2"}});
//   2026-01-31T12:00:00.123Z info lease_started lease=7 member=s1c0r2
//
// SetUpLog once, in main, before other threads start; everything else from any thread. Never fails:
// what cannot be written is lost.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat : uint8_t { kKeyValue, kJson };

std::string_view Name(LogLevel level);  // "debug", "info", "warning", "error", "off"
std::optional<LogLevel> ParseLogLevel(std::string_view name);

struct LogSettings {
  std::string program;  // Goes into every JSON line.
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kKeyValue;
};

// One key and its value. Numbers and booleans are written bare, texts quoted where needed.
struct LogField {
  LogField(std::string_view key, std::string_view text) : key(key), value(text), quoted(true) {}
  LogField(std::string_view key, const char* text) : LogField(key, std::string_view(text)) {}
  LogField(std::string_view key, const std::string& text) : LogField(key, std::string_view(text)) {}
  LogField(std::string_view key, const absl::Status& status);
  LogField(std::string_view key, bool flag) : key(key), value(flag ? "true" : "false") {}
  LogField(std::string_view key, double number);
  template <std::integral T>
  LogField(std::string_view key, T number) : key(key), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
  bool quoted = false;
};

void SetUpLog(const LogSettings& settings);
// From now on every line has this field, last, unless it has one of that key: who this program is.
// Any thread.
void NameInLog(std::string_view key, std::string_view name);

// Whether such a line would be written: for what is dear to put together.
bool IsLogged(LogLevel level);
// As Log, of fields that are known only when it runs.
void LogWith(LogLevel level, std::string_view event, std::span<const LogField> fields);
void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});
inline void LogDebug(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, event, fields);
}
inline void LogInfo(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, event, fields);
}
inline void LogWarning(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, event, fields);
}
inline void LogError(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, event, fields);
}

// The rest of a line after time and level (kKeyValue), or the inside of the object (kJson).
// Control characters are escaped, so a line stays a line. Pure.
std::string FormatLogEvent(LogFormat format, std::string_view event,
                           std::span<const LogField> fields);

}  // namespace noisefloor
