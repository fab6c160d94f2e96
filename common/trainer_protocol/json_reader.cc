#include "common/trainer_protocol/json_reader.h"

#include <charconv>

namespace noisefloor {

namespace {
const Json kNull;
constexpr int kMaxDepth = 64;
}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text) {
  bool too_deep = false;
  const auto limit_depth = [&too_deep](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) too_deep = true;
    return depth <= kMaxDepth;
  };
  try {
    Json value = Json::parse(text, limit_depth);
    if (too_deep) return InvalidInput("JSON nested deeper than 64 levels");
    return value;
  } catch (const Json::exception& error) {
    return InvalidInput(std::string("not JSON: ") + error.what());
  }
}

Json NumberToJson(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

absl::StatusOr<double> NumberFromJson(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return InvalidInput("expected a number, \"nan\", \"inf\" or \"-inf\"");
}

JsonReader::JsonReader(const Json& value, std::string path)
    : value_(value), path_(std::move(path)) {
  if (!value_.is_object()) {
    status_ = InvalidInput((path_.empty() ? "the text" : path_) + ": expected a JSON object");
  }
}

std::string JsonReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

bool JsonReader::Has(std::string_view key) const {
  return value_.is_object() && value_.contains(key);
}

const Json* JsonReader::Find(std::string_view key) {
  if (!status_.ok()) return nullptr;
  seen_.emplace(key);
  const auto it = value_.find(key);
  if (it != value_.end()) return &*it;
  status_ = InvalidInput(PathOf(key) + ": missing");
  return nullptr;
}

void JsonReader::Fail(std::string_view key, std::string_view expected) {
  if (!status_.ok()) return;
  status_ = InvalidInput(PathOf(key) + ": expected " + std::string(expected));
}

std::string JsonReader::Text(std::string_view key, size_t most_bytes) {
  const Json* found = Find(key);
  if (found == nullptr) return "";
  const auto* text = found->get_ptr<const std::string*>();
  if (text != nullptr && text->size() <= most_bytes) return *text;
  Fail(key, "a text of at most " + std::to_string(most_bytes) + " bytes");
  return "";
}

bool JsonReader::Bool(std::string_view key) {
  const Json* found = Find(key);
  if (found == nullptr) return false;
  if (found->is_boolean()) return found->get<bool>();
  Fail(key, "true or false");
  return false;
}

int64_t JsonReader::Int(std::string_view key, int64_t least, int64_t most) {
  const Json* found = Find(key);
  if (found == nullptr) return least;
  const bool fits = found->is_number_integer() &&
                    !(found->is_number_unsigned() &&
                      found->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()});
  if (fits) {
    const int64_t number = found->get<int64_t>();
    if (number >= least && number <= most) return number;
  }
  Fail(key, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return least;
}

void JsonReader::Version(std::string_view key, int64_t known) {
  if (Int(key, 1, 1000000) != known) Fail(key, "version " + std::to_string(known));
}

double JsonReader::Number(std::string_view key) {
  const Json* found = Find(key);
  if (found == nullptr) return 0;
  const auto number = NumberFromJson(*found);
  if (number.ok()) return *number;
  Fail(key, "a number, \"nan\", \"inf\" or \"-inf\"");
  return 0;
}

uint64_t JsonReader::DecimalString(std::string_view key) {
  const Json* found = Find(key);
  if (found == nullptr) return 0;
  if (const auto* text = found->get_ptr<const std::string*>(); text != nullptr) {
    uint64_t number = 0;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, number);
    if (error == std::errc() && stop == end && !text->empty()) return number;
  }
  Fail(key, "a 64-bit number as a decimal string");
  return 0;
}

const Json& JsonReader::Any(std::string_view key) {
  const Json* found = Find(key);
  return found == nullptr ? kNull : *found;
}

absl::Status JsonReader::Finish() const {
  if (!status_.ok()) return status_;
  for (const auto& [key, unused] : value_.items()) {
    if (!seen_.contains(key)) return InvalidInput(PathOf(key) + ": unknown key");
  }
  return absl::OkStatus();
}

}  // namespace noisefloor
