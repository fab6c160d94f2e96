// The test's side of a disk that fails under a real process; preload.cc is the other side.
//
//   FaultDisk disk(folder);                       // What lies below `folder` is watched.
//   Process::Start(disk.Under({program, ...}), log);
//   disk.FailIn(3, FaultKind::kKill);             // The third call from now is its last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/fault_disk/control.h"

namespace noisefloor::test {

// Any number of processes, one after the other; one thread. It outlives them.
class FaultDisk {
 public:
  // Control, history and what was unlinked lie beside the folder, at FOLDER.fault.
  explicit FaultDisk(const std::string& folder);
  ~FaultDisk();
  FaultDisk(const FaultDisk&) = delete;
  FaultDisk& operator=(const FaultDisk&) = delete;

  // The command line that runs the program on this disk. The process keeps its number; its children
  // are not on this disk.
  std::vector<std::string> Under(const std::vector<std::string>& arguments) const;

  // `calls` from 1. `seed` as in FaultControl.
  void FailIn(int64_t calls, FaultKind kind, uint64_t seed = 0);
  // From that call on every one fails. kEio and kEnospc only.
  void FailFrom(int64_t calls, FaultKind kind);
  void Mend();

  int64_t calls() const { return control_->calls; }
  int64_t fired() const { return control_->fired; }
  // "datasync /noisefloor.db-wal", one for each call.
  std::vector<std::string> History() const;

 private:
  const std::string folder_;
  FaultControl* control_ = nullptr;
};

// For the message of a failed test.
std::string NameOf(FaultKind kind);

}  // namespace noisefloor::test
