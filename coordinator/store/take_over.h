// The side of a handover that comes: waits for the one that has the data, and makes a home of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/files/file_system.h"
#include "coordinator/store/handover_folder.h"

namespace noisefloor {

struct TakeOverOptions {
  std::string home;
  std::string folder;
  Claim who;           // Its id is the home's, or `chance`.
  std::string chance;  // That nobody has had: of this call, and of a home that has none yet.
  // So long nothing is heard from the one that has the data, and it is given up.
  absl::Duration patience = absl::Minutes(2);
  std::function<bool()> stopped;               // Asked now and then.
  std::function<void(absl::Duration)> pause;   // Between two looks.
  std::function<void(std::string_view)> says;  // What is waited for, once for each thing.
};

struct TakenOver {
  HomeMark mark;           // The home serves its term.
  bool came_here = false;  // Its data were another home's before.
  uint64_t step = 0;       // With the last of these steps,
  uint64_t missing = 0;    // and without so many files, which were damaged or missing there.
};

// When OK, `home` has the data and may be served, by its one lock; nobody else has or gets them
// before its term has ended. That is a home that
//   - has served the last term and was not handed over: it goes on, after a crash, too;
//   - was handed over and nobody has taken it: it takes itself back, and nothing is copied;
//   - is new, and so is the folder: its first term begins;
//   - is empty, while another coordinator has the data: asks that one, fetches what it copies ahead
//     of its end, verifies every byte once the term is over, and then claims
//     the next one: it has the data in the same epoch, with all leases.
// Killed anywhere, the same call goes on, and before its claim another home's does as well.
//
// FailedPrecondition, by name and with what to do: another has the data, and does not hand over,
// or has taken them meanwhile; the home has data of its own; the folder is not there. DataLoss:
// what was handed over is damaged; nothing of it is used. Cancelled: stopped. Others are of the
// disks.
absl::StatusOr<TakenOver> TakeOver(const TakeOverOptions& options, const Clock& clock,
                                   FileSystem& files = LocalFileSystem());

}  // namespace noisefloor
