// Reads a JSON object strictly: every key expected, every expected key present, kinds and limits
// checked, errors naming the path. For the adapters of this folder and others that read JSON.
#pragma once

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

#include "common/base/status.h"

namespace noisefloor {

using Json = nlohmann::json;

// InvalidArgument instead of an exception; at most 64 levels deep.
absl::StatusOr<Json> ParseJson(std::string_view text);

// A finite number as a number, the others as "nan", "inf", "-inf".
Json NumberToJson(double value);

// Wraps one object. The first error stays; reads after it give the fallback. Call Finish last.
class JsonReader {
 public:
  // `value` must outlive the reader. `path` is for messages: "" or "specification".
  JsonReader(const Json& value, std::string path);

  bool Has(std::string_view key) const;
  std::string Text(std::string_view key, size_t most_bytes);
  bool Bool(std::string_view key);
  int64_t Int(std::string_view key, int64_t least, int64_t most);
  // A number of a protocol: fails when it is another than the known one.
  void Version(std::string_view key, int64_t known);
  // Accepts the not-finite strings.
  double Number(std::string_view key);
  uint64_t DecimalString(std::string_view key);
  // A member object, array or anything; null when missing (an error is kept).
  const Json& Any(std::string_view key);

  void Fail(std::string_view key, std::string_view expected);
  // OK, or the first error; also refuses keys that nobody asked for.
  absl::Status Finish() const;

 private:
  const Json* Find(std::string_view key);
  std::string PathOf(std::string_view key) const;

  const Json& value_;
  const std::string path_;
  std::set<std::string, std::less<>> seen_;
  absl::Status status_;
};

// A JSON number or one of "nan", "inf", "-inf".
absl::StatusOr<double> NumberFromJson(const Json& value);

}  // namespace noisefloor
