// One reader at a time of what a cache does not have yet: who comes later waits, and finds there
// what the first one has made. Otherwise each slot of a machine would decode all for itself, with
// as much room and time as the first.
//
// Held by an advisory lock on KEY.reading in the folder of the cache, which ends with the process
// that holds it and goes with its end; what a killed one left goes with the cache's orphans.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "worker/trainer/images/go_on.h"

namespace noisefloor::trainer {

class ReadingTurn {
 public:
  // Waits for the turn of `key` in `folder`, which is made. Cancelled when `go_on` says so
  // meanwhile. Where no lock can be had (a folder that takes no files, a file system that has none)
  // it is everybody's turn.
  static absl::StatusOr<std::unique_ptr<ReadingTurn>> Take(const std::string& folder,
                                                           const std::string& key,
                                                           const GoOn& go_on);
  // The next one's.
  ~ReadingTurn();
  ReadingTurn(const ReadingTurn&) = delete;
  ReadingTurn& operator=(const ReadingTurn&) = delete;

  // Somebody else had it meanwhile.
  bool waited() const { return waited_; }

 private:
  explicit ReadingTurn(std::string path);
  void Open();
  // Whether it is ours, or everybody's.
  bool Try();

  const std::string path_;
  int file_ = -1;
  bool held_ = false;
  bool waited_ = false;
};

}  // namespace noisefloor::trainer
