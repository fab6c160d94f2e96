// One coordinator per data directory: a lock that the system drops when the process ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// Who holds a data directory.
struct HomeHolder {
  std::string address;  // "127.0.0.1:7070"; empty while it starts, or when it does not serve.
  int64_t process = 0;
};

// Holds the lock on a data directory from Acquire to destruction. It is the directory itself that
// is locked, so that no file whose removal would free it stands for it; HOME/lock tells who holds
// it. Move-only; one thread.
class HomeLock {
 public:
  // Makes the directory when it is missing. FailedPrecondition when another process holds it (the
  // message says its address), or when it lies on a network file system, where neither the lock nor
  // SQLite's log can be trusted; PermissionDenied when it cannot be written to.
  static absl::StatusOr<HomeLock> Acquire(const std::string& home);
  ~HomeLock();
  HomeLock(HomeLock&& other) noexcept;
  HomeLock& operator=(HomeLock&& other) noexcept;

  // Whether the one who held it before was killed: it left its name in HOME/lock.
  bool was_killed() const { return was_killed_; }

  // Writes the address that the holder serves at, for those who find the directory locked.
  absl::Status SetAddress(std::string_view address);

  // DataLoss when the path leads to another directory now, or to none.
  absl::Status Check() const;
  // Puts HOME/lock back when it was removed: whoever looks for the holder finds it again.
  void PutBack();

  // Who holds `home` now; nullopt when nobody does or there is no such directory.
  static std::optional<HomeHolder> Holder(const std::string& home);

 private:
  explicit HomeLock(std::string home) : home_(std::move(home)) {}
  absl::Status LockDirectory();
  absl::Status LockFile();
  void Close();

  std::string home_;
  std::string address_;
  bool was_killed_ = false;
  bool holds_ = false;
  int directory_ = -1;
  int file_ = -1;  // HOME/lock.
};

}  // namespace noisefloor
