// A variable of the environment that has a value, or none, while this lives; then it is as before.
// No thread may read the environment meanwhile.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace noisefloor::test {

class Variable {
 public:
  Variable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    Set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { Set(before_); }

  void Set(const std::optional<std::string>& value) const {
    const int failed = value.has_value() ? setenv(name_.c_str(), value->c_str(), /*overwrite=*/1)
                                         : unsetenv(name_.c_str());
    EXPECT_EQ(failed, 0) << name_;
  }
  [[nodiscard]] std::string before() const { return before_.value_or(""); }

 private:
  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace noisefloor::test
