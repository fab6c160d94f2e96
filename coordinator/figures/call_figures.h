// How long calls took, by method and by how they ended.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "coordinator/figures/histogram.h"

namespace noisefloor::figures {

// Thread-safe.
class CallFigures {
 public:
  // Methods as they are told: "CoordinatorService/GetSweep". What comes of others is "other", so
  // that nobody can make it grow.
  explicit CallFigures(const std::vector<std::string>& methods)
      : methods_(methods.begin(), methods.end()) {}

  // `code`: as gRPC counts them. A stream took as long as it was open.
  void Note(std::string_view method, int code, double seconds) ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::string name = methods_.contains(method) ? std::string(method) : "other";
    MutexLock lock(mutex_);
    calls_.try_emplace({name, code}, kSecondBounds).first->second.Observe(seconds);
  }

  using See = std::function<void(const std::string& method, int code, const Histogram& seconds)>;
  // Under the lock: must not call this.
  void Each(const See& see) const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    for (const auto& [key, seconds] : calls_) see(key.first, key.second, seconds);
  }

 private:
  const std::set<std::string, std::less<>> methods_;
  mutable Mutex mutex_;
  std::map<std::pair<std::string, int>, Histogram> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::figures
