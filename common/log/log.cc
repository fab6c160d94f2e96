#include "common/log/log.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "fmt/format.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

#include "common/base/printable.h"

namespace noisefloor {

namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};

// Logging is the one thing that every edge reaches without being handed it.
std::atomic<LogFormat> g_format = LogFormat::kKeyValue;
// What NameInLog was given. Never freed: a line may be written while it is replaced.
struct OwnName {
  std::string key;
  std::string name;
};
std::atomic<const OwnName*> g_name = nullptr;

std::string LineOf(std::string_view event, std::span<const LogField> fields) {
  const OwnName* own = g_name;
  const bool named = own == nullptr || std::ranges::any_of(fields, [&](const LogField& field) {
                       return field.key == own->key;
                     });
  if (named) return FormatLogEvent(g_format, event, fields);
  std::vector<LogField> all(fields.begin(), fields.end());
  all.emplace_back(own->key, own->name);
  return FormatLogEvent(g_format, event, all);
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return Printable(out, EscapeStyle::kJson);
}

bool IsPlain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f) {
      return false;
    }
  }
  return Printable(text) == text;
}

}  // namespace

std::string_view Name(LogLevel level) { return kNames[static_cast<size_t>(level)]; }

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

LogField::LogField(std::string_view key, const absl::Status& status)
    : LogField(key, status.ToString()) {}

LogField::LogField(std::string_view key, double number)
    : key(key), value(fmt::format("{}", number)), quoted(!std::isfinite(number)) {}

std::string FormatLogEvent(LogFormat format, std::string_view event,
                           std::span<const LogField> fields) {
  if (format == LogFormat::kKeyValue) {
    std::string line(event);
    for (const LogField& field : fields) {
      const bool bare = !field.quoted || IsPlain(field.value);
      line += fmt::format(" {}=", field.key);
      line += bare ? field.value : fmt::format("\"{}\"", Escape(field.value));
    }
    return line;
  }
  std::string inside = fmt::format("\"event\":\"{}\"", Escape(event));
  for (const LogField& field : fields) {
    inside += fmt::format(",\"{}\":", Escape(field.key));
    inside += field.quoted ? fmt::format("\"{}\"", Escape(field.value)) : field.value;
  }
  return inside;
}

void SetUpLog(const LogSettings& settings) {
  g_format = settings.format;
  auto logger = std::make_shared<spdlog::logger>(settings.program,
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (settings.format == LogFormat::kJson) {
    logger->set_pattern(
        "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"program\":\"%n\",\"level\":\"%l\",%v}",
        spdlog::pattern_time_type::utc);
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  }
  logger->set_level(ToSpdlog(settings.level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

void NameInLog(std::string_view key, std::string_view name) {
  g_name = new OwnName{std::string(key), std::string(name)};
}

bool IsLogged(LogLevel level) {
  spdlog::logger* logger = spdlog::default_logger_raw();
  return logger != nullptr && logger->should_log(ToSpdlog(level));
}

void LogWith(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  if (!IsLogged(level)) return;
  const std::string line = LineOf(event, fields);
  spdlog::default_logger_raw()->log(ToSpdlog(level),
                                    spdlog::string_view_t(line.data(), line.size()));
}

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  LogWith(level, event, std::span(fields.begin(), fields.size()));
}

}  // namespace noisefloor
