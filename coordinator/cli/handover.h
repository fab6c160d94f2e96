// What `serve --handover` does before, while and after it serves.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/cli/command.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/store/take_over.h"
#include "coordinator/store/term_holder.h"

namespace noisefloor::cli {

struct HandoverWish {
  std::string folder;  // Empty: none of all this.
  std::string host;    // Empty: where `listen` is, if that is loopback, else this machine's name.
  absl::Duration patience = absl::Minutes(2);
};

// Main thread. `context` and `stop` outlive it.
class Handover {
 public:
  // The home of `context` is ours to serve when OK; as of store/take_over.h.
  static absl::StatusOr<Handover> Take(Context& context, const HandoverWish& wish,
                                       const StopSignal& stop);

  // Where others find a coordinator that listens there: its certificate holds for it then. Empty:
  // access is not set up.
  absl::StatusOr<std::string> HostAt(const std::string& listen) const;
  // It serves: the access files of this machine's user name it. What fails is in the log.
  void PointToIt(const Coordinator& coordinator) const;
  // Until a signal came, or a successor is ready.
  void WaitForTheEnd();
  // The coordinator has stopped, and still has its home.
  absl::Status Finish();
  // No coordinator could be started: the data are there for another.
  void GiveBack();

  uint64_t term() const { return taken_.mark.term; }

 private:
  Handover(Context& context, HandoverWish wish, const StopSignal& stop, TakenOver taken);
  // How many access files name it now.
  absl::StatusOr<size_t> Point(const std::string& place) const;

  Context* context_;
  HandoverWish wish_;
  const StopSignal* stop_;
  TakenOver taken_;
  std::unique_ptr<TermHolder> holder_;
};

}  // namespace noisefloor::cli
