// The daemon's own folder: a lock, a number that tells it from others, the spool.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"

namespace noisefloor {

// Holds the lock for its life. Move-only.
class StateDirectory {
 public:
  // Makes the folder when it is not there. While another worker holds it, `wait` is called: it
  // waits a moment and says whether to try again. FailedPrecondition when it says no.
  static absl::StatusOr<StateDirectory> Open(const std::string& path,
                                             const std::function<bool()>& wait);
  ~StateDirectory();
  StateDirectory(StateDirectory&& other) noexcept;
  StateDirectory& operator=(StateDirectory&&) = delete;

  const std::string& path() const { return path_; }  // Absolute.
  std::string spool() const { return path_ + "/spool"; }
  // Drawn once, kept across restarts; never 0.
  uint64_t identity() const { return identity_; }

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;
  uint64_t identity_ = 0;
};

}  // namespace noisefloor
