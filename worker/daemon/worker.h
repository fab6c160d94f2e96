// The worker as one object: a loop that feeds Slots with what happens and does what Slots says.
//
// Everything here runs on the thread that calls Run, which must live as long as the process (see
// spawn.h). Sessions, trainers and uploads have threads of their own and post to the mailbox.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mailbox.h"
#include "common/files/file_system.h"
#include "common/log/log.h"
#include "common/rpc/backoff.h"
#include "common/rpc/channel.h"
#include "worker/daemon/options.h"
#include "worker/daemon/pulse.h"
#include "worker/daemon/request.h"
#include "worker/daemon/session.h"
#include "worker/daemon/signals.h"
#include "worker/daemon/spool.h"
#include "worker/daemon/state_directory.h"
#include "worker/daemon/trainer_pool.h"
#include "worker/daemon/tree_fetcher.h"
#include "worker/daemon/uploader.h"
#include "worker/daemon/worker_stub.h"
#include "worker/slots/slots.h"

namespace noisefloor {

struct WorkerSettings {
  Options options;
  Offer offer;
  std::string name;
  std::vector<SlotPlan> slots;                        // Of the offer's inventory, in its order.
  absl::Duration ends_at = absl::InfiniteDuration();  // Steady: a cluster ends the process then.
  absl::Duration leaves_at =
      absl::InfiniteDuration();  // Steady: nothing new is begun from then on.
  std::shared_ptr<const ChannelAccess> access = nullptr;  // shared: settings are copied.
  std::vector<SharedTree> stack_trees = {};  // That trainers run from. shared: likewise.
};

// Where this worker and its trainers keep what was read, fetched or copied; empty: nowhere.
std::string CacheOf(const Options& options, const StateDirectory& state);

// Of a worker that has no coordinator for so long, and has just said so: after how long without one
// it says so again.
absl::Duration NextWord(absl::Duration without);

// When a worker gives up a coordinator that it does not reach: never while it `trains`.
absl::Duration GiveUpAt(absl::Duration unreached_since, absl::Duration give_up_after, bool trains);

class Worker final : public SessionListener {
 public:
  // `state`, `clock` and `files`, on which its spool lies, outlive the worker.
  Worker(WorkerSettings settings, const StateDirectory& state, const Clock& clock,
         FileSystem& files = LocalFileSystem());
  ~Worker() override;

  // Until drained, refused or given up; the exit code of the program.
  int Run();
  // Any thread: drain; the second kStop, hurry.
  void Stop(StopSignal signal = StopSignal::kStop);
  // After Run: a trainer that SIGKILL does not end is still there, and this object's end would wait
  // for it.
  bool has_undying() const { return has_undying_; }
  // After Run: what was not delivered is in the spool, for a next worker of this folder.
  bool has_results() const { return !attempts_.empty(); }

 private:
  struct HeartbeatTaken {};
  struct SessionClosed {
    absl::Status status;
  };
  struct StopWanted {
    StopSignal signal;
  };
  using News = std::variant<v1::SessionResponse, HeartbeatTaken, SessionClosed, PoolNews,
                            UploadDone, FetchNews, StopWanted>;

  // A lease and everything the worker knows of it beyond Slots.
  struct Attempt {
    std::string member;
    uint32_t number = 0;
    std::string stack;
    PassedRequest request;
    std::optional<Specification> built_in;  // As in PreparedMember.
    EventJudge judge{"", ""};
    std::deque<TreeName> fetches;              // What must come, one after the other.
    bool can_do_without = false;               // As in PreparedMember.
    std::optional<slots::StartTrainer> waits;  // For what is fetched; then its trainer starts.
    std::vector<SharedTree> fetched;           // shared: with other attempts.
    std::optional<uint64_t> process;
    std::shared_ptr<const AttemptFolder> folder;  // shared: with its upload. None: it has no files.
    std::string data_identity;
    bool resumes = false;                       // As its hello says.
    std::vector<RecordsEvent> noop_records;     // Of a built-in trainer, which has no spool.
    std::optional<RecordsEvent> fresh_records;  // The batch that has just come.
    AttemptResult result;
    bool noop = false;
    bool has_log = false;        // The last of its result's artifacts is the log.
    bool log_only = false;       // Its other files are not to be uploaded.
    bool files_dropped = false;  // Nor any; the coordinator does not want them.
  };

  // SessionListener, on gRPC's threads.
  void OnMessage(v1::SessionResponse message) override;
  void OnHeartbeatTaken() override;
  void OnClosed(absl::Status status) override;

  absl::Status Recover();
  void Recover(SpooledAttempt spooled);
  void On(v1::SessionResponse& message);
  void On(HeartbeatTaken&) {}  // It wakes: see WatchTheClock.
  void On(SessionClosed& closed);
  void On(PoolNews& news);
  void On(UploadDone& done);
  void On(FetchNews& news);
  void On(const StopWanted& wanted);
  void LeaveWhenIdle(absl::Duration now);
  void LeaveWhenTold(absl::Duration now);
  void OnWelcome(const v1::Welcome& welcome);
  void OnStart(const v1::StartMember& start);
  void OnTrainerLine(LeaseId lease, Attempt& attempt, TrainerLine& line);
  absl::Status Append(LeaseId lease, uint64_t sequence, std::string_view line);
  void OnTrainerReplaced(LeaseId lease, const Attempt& attempt);
  void OnTrainerExit(uint64_t process, const ProcessExit& exit);

  // Slots decides, Perform does; messages that come up meanwhile wait their turn.
  void Step(slots::Message message);
  void Perform(const slots::StartTrainer& action);
  void Perform(const slots::StartStandby& action);
  void Perform(const slots::EndStandby& action);
  void Perform(const slots::KeepForkServer& action);
  void Perform(const slots::EndForkServers& action);
  void Perform(const slots::TerminateTrainer& action);
  void Perform(const slots::KillTrainer& action);
  void Perform(const slots::GiveUpTrainer& action);
  void Perform(const slots::Deliver& action);
  void Perform(const slots::DropFiles& action);
  void Perform(const slots::Forget& action);
  void Perform(const slots::SendStarted& action);
  void Perform(const slots::SendRecords& action);
  void Perform(const slots::SendFinished& action);
  void Perform(const slots::SendHeartbeat& action);
  void Perform(const slots::SendDraining& action);
  void Perform(const slots::Leave& action);

  void RunNoop(LeaseId lease, Attempt& attempt);
  void Launch(const slots::StartTrainer& start, Attempt& attempt);
  void FetchFirst(const slots::StartTrainer& start, Attempt& attempt);
  void SayHowFar(LeaseId lease, const FetchNews& news);
  void GoOnWith(LeaseId lease, const FetchNews& news);
  // Fetches what it still lacks, or starts its trainer.
  void FetchOrLaunch(const slots::StartTrainer& start, Attempt& attempt);
  void StopWaiting(const slots::TerminateTrainer& action, Attempt& attempt);
  void LetGoOfFetch(Attempt& attempt);
  // The attempt ends without ever having had a trainer.
  void EndUnstarted(LeaseId lease, Attempt& attempt, AttemptResult result, bool machine_failed);
  absl::StatusOr<TrainerPool::Started> StartProcess(const slots::StartTrainer& start,
                                                    Attempt& attempt);
  // A line of the log about a lease, with its sweep, member and attempt while they are known.
  void Say(LogLevel level, std::string_view event, LeaseId lease,
           std::initializer_list<LogField> rest) const;
  void Refuse(LeaseId lease, Attempt attempt, AttemptResult result);
  void Keep(LeaseId lease, Attempt& attempt, AttemptResult result);
  absl::StatusOr<RecordsEvent> RecordsOf(LeaseId lease, const Attempt& attempt, uint64_t sequence);
  void Send(v1::SessionRequest message);

  void OpenSessionIfDue();
  void FollowCoordinator();
  const ChannelAccess* access() const {
    return renewed_.empty() ? settings_.access.get() : renewed_.back().get();
  }
  void WatchTheClock();
  Pulse::Wait WaitForDisk();
  absl::Duration GivesUpAt() const;
  absl::Duration UntilNext() const;
  v1::SessionRequest Registration() const;
  void CloseSession();
  void LogRefusal(const absl::Status& status);
  void SayUnreached(absl::Duration now);

  const WorkerSettings settings_;
  const StateDirectory& state_;
  const Clock& clock_;
  Mailbox<News> mailbox_;
  slots::Slots slots_;
  std::deque<slots::Message> steps_;
  bool stepping_ = false;
  std::map<LeaseId, Attempt> attempts_;
  std::map<uint64_t, LeaseId> lease_of_process_;
  Spool spool_;
  Address coordinator_;  // Where it is, as far as is known.
  // Of authorities that took the place of the first one; calls may still use the older ones.
  std::vector<std::unique_ptr<ChannelAccess>> renewed_;
  WorkerStub stub_;
  TrainerPool pool_;
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<TreeFetcher> fetcher_;  // None without a cache.
  absl::Duration say_fetch_at_ = -absl::InfiniteDuration();
  std::unique_ptr<Session> session_;
  std::atomic<bool> beat_taken_{false};  // Since the clock was last watched.
  Pulse pulse_;
  Backoff reconnect_;
  bool connected_ = false;
  std::string last_refusal_;  // Why the coordinator does not take us, as it was logged.
  std::string why_unreached_ = "no answer yet";  // What the last try said,
  bool was_refused_ = false;                     // and whether it was a coordinator that said it.
  absl::Duration say_unreached_after_;  // Without a coordinator; doubles each time that it is said.
  absl::Duration open_at_ = -absl::InfiniteDuration();
  absl::Duration welcome_by_ = absl::InfiniteDuration();
  absl::Duration unreached_since_;
  absl::Duration hurry_at_ = absl::InfiniteDuration();
  absl::Duration leave_at_;
  absl::Duration idle_since_ = absl::InfiniteDuration();  // Connected, without a lease.
  int stops_ = 0;
  bool has_undying_ = false;
  int leave_code_ = 0;  // The exit code when there is nothing left to do.
  std::optional<int> exit_code_;
};

}  // namespace noisefloor
