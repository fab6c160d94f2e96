// The side of a handover that has the data: looks for a successor, and hands over.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/files/file_system.h"
#include "coordinator/store/backup.h"
#include "coordinator/store/handover_folder.h"

namespace noisefloor {

// The files of HOME/access that a successor needs to serve under the same authority.
inline constexpr std::string_view kAccessNames[] = {"ca.pem", "ca.key", "server.pem", "address"};

// One thread. Of a home whose lock its owner holds from before it is made until after Finish.
class TermHolder {
 public:
  struct Settings {
    std::string home;
    HandoverFolder folder;
    HomeMark mark;        // As TakeOver has left it.
    std::string version;  // Of noisefloor.
    const Clock& clock;   // Outlives it.
    // Asked now and then while data are copied beside the coordinator: true ends that.
    std::function<bool()> stopped;
  };
  explicit TermHolder(Settings settings, FileSystem& files = LocalFileSystem())
      : settings_(std::move(settings)), files_(files) {}

  // To be asked a few times a second while the coordinator serves. When a successor has come,
  // copies what there is into the folder, so that little is left for the end; true once that
  // successor has fetched it: now the coordinator stops, and Finish follows. What fails is told to
  // the successor, and is a line in our caller's log: the coordinator goes on.
  absl::StatusOr<bool> SuccessorIsReady();

  // The coordinator has stopped: what it has kept becomes DIR/state, and the term ends. When OK the
  // home is not ours any more. Anything else: nothing was handed over, or (the folder cannot be
  // reached any more) it is open; `serve` on the same home goes on where it is not.
  absl::Status Finish();
  // The same of a home that nobody serves, whose lock it takes meanwhile.
  absl::Status FinishUnserved();

 private:
  absl::Status CopyAhead(const Word& wanted);
  absl::StatusOr<BackupManifest> MakeState();
  absl::StatusOr<std::map<std::string, std::string>> CopyAccess() const;
  absl::StatusOr<TermEnd> WriteEverything();
  // A sign of life, at most one a second unless the stage is another.
  void Tell(const std::string& stage, const std::string& problem = "");

  Settings settings_;
  FileSystem& files_;
  Word told_;
  absl::Duration told_at_ = -absl::InfiniteDuration();
  uint64_t beat_ = 0;  // The last one of the successor that was seen.
  bool ends_ = false;
};

}  // namespace noisefloor
