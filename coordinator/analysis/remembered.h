// What a function gave for the last arguments that it was asked for. Internal to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace noisefloor::analysis {

// Of a function that always gives the same for the same arguments: every figure of a cell asks for
// the same quantiles. One thread; meant to be thread_local.
template <typename Arguments>
class Remembered {
 public:
  template <typename Function>
  double Of(const Arguments& arguments, const Function& function) {
    for (const std::optional<std::pair<Arguments, double>>& one : known_) {
      if (one && one->first == arguments) return one->second;
    }
    const double value = function();
    known_[next_] = {arguments, value};
    next_ = (next_ + 1) % known_.size();
    return value;
  }

 private:
  std::array<std::optional<std::pair<Arguments, double>>, 16> known_;
  size_t next_ = 0;
};

}  // namespace noisefloor::analysis
