#include "worker/daemon/tree_fetcher.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"

namespace noisefloor {

namespace {

constexpr absl::Duration kDescribing = absl::Minutes(2);  // The coordinator reads the files once.
// Of which each takes kDescribing: what is larger is not read by then.
constexpr int kMostSlowAnswers = 10;
constexpr absl::Duration kLook = absl::Milliseconds(500);  // While another process brings it.
constexpr absl::Duration kBetweenNews = absl::Seconds(1);
constexpr int kMostWrongContents = 3;

Tree TreeFrom(const v1::DescribeTreeResponse& response) {
  Tree tree;
  for (const v1::TreeFile& file : response.files()) {
    tree.files.push_back({file.path(), file.size(), file.sha256(), file.executable()});
  }
  return tree;
}

// A token may be renewed, a coordinator may come back; these stay as they are.
bool IsForGood(absl::StatusCode code) {
  return code == absl::StatusCode::kNotFound || code == absl::StatusCode::kInvalidArgument ||
         code == absl::StatusCode::kPermissionDenied || code == absl::StatusCode::kUnimplemented;
}

}  // namespace

std::string_view KindOf(const TreeName& wanted) {
  switch (wanted.kind) {
    case TreeName::Kind::kDataSet: return "data_set";
    case TreeName::Kind::kStack: return "stack";
    case TreeName::Kind::kWeights: return "weights";
  }
  return "";
}

std::string HowFar(const FetchNews& news) {
  return fmt::format("{:.0f} of {:.0f} MB", static_cast<double>(news.bytes_here) / 1e6,
                     static_cast<double>(news.bytes) / 1e6);
}

// The files as the coordinator sends them.
class TreeFetcher::Source final : public TreeSource {
 public:
  Source(TreeFetcher& fetcher, Job& job) : fetcher_(fetcher), job_(job) {}

  absl::Status Read(const TreeFile& file, uint64_t offset_bytes, const Take& take) override {
    v1::ReadTreeRequest request;
    request.set_identity(job_.identity);
    request.set_path(file.path);
    request.set_offset(offset_bytes);
    grpc::ClientContext context;
    SetDeadline(context, DeadlineFor(file.size_bytes - offset_bytes));
    NF_RETURN_IF_ERROR(fetcher_.Enter(context));
    const WorkerStub::Stub stub = fetcher_.stub_.Get();
    const auto reader = stub->ReadTree(&context, request);
    absl::Status taken;
    v1::ReadTreeResponse response;
    uint64_t sent = 0;
    while (taken.ok() && reader->Read(&response)) {
      sent += response.piece().size();
      job_.bytes_taken += response.piece().size();
      job_.moved_at = fetcher_.clock_.Steady();
      taken = take(response.piece());
    }
    if (!taken.ok()) context.TryCancel();
    const absl::Status ended = FromGrpc(reader->Finish());
    fetcher_.LeaveCall();
    if (!taken.ok()) return taken;
    // A stream that ends early and says nothing is not this machine's fault either.
    job_.coordinator_failed = !ended.ok() || sent < file.size_bytes - offset_bytes;
    return ended;
  }

 private:
  TreeFetcher& fetcher_;
  Job& job_;
};

TreeFetcher::TreeFetcher(const WorkerStub& stub, TreeCache cache, const Clock& clock, uint64_t seed,
                         Sink sink, absl::Duration patience)
    : stub_(stub),
      cache_(std::move(cache)),
      clock_(clock),
      sink_(std::move(sink)),
      patience_(patience),
      backoff_({absl::Milliseconds(50), absl::Seconds(2)}, seed),
      thread_([this] { Run(); }) {}

TreeFetcher::~TreeFetcher() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    if (call_ != nullptr) call_->TryCancel();
    changed_.NotifyAll();
  }
  thread_.join();
}

void TreeFetcher::Want(const TreeName& wanted) {
  MutexLock lock(mutex_);
  if (current_ == wanted || std::ranges::find(queue_, wanted) != queue_.end()) return;
  queue_.push_back(wanted);
  changed_.NotifyAll();
}

void TreeFetcher::Forget(const TreeName& wanted) {
  MutexLock lock(mutex_);
  std::erase(queue_, wanted);
  if (current_ != wanted) return;
  current_.reset();
  if (call_ != nullptr) call_->TryCancel();
  changed_.NotifyAll();
}

void TreeFetcher::Wake() {
  MutexLock lock(mutex_);
  ++wakes_;
  backoff_.Reset();
  changed_.NotifyAll();
}

bool TreeFetcher::Wanted() {
  MutexLock lock(mutex_);
  return !stop_ && current_.has_value();
}

bool TreeFetcher::Release() {
  MutexLock lock(mutex_);
  const bool wanted = !stop_ && current_.has_value();
  current_.reset();
  return wanted;
}

absl::Status TreeFetcher::Enter(grpc::ClientContext& context) {
  MutexLock lock(mutex_);
  if (stop_ || !current_) return absl::CancelledError("");
  call_ = &context;
  return absl::OkStatus();
}

void TreeFetcher::LeaveCall() {
  MutexLock lock(mutex_);
  call_ = nullptr;
}

void TreeFetcher::Run() {
  while (true) {
    Job job;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stop_) changed_.Wait(mutex_);
      if (stop_) return;
      current_ = job.wanted = queue_.front();
      queue_.pop_front();
      backoff_.Reset();
    }
    job.moved_at = clock_.Steady();
    auto tree = Fetch(job);
    // Before it is told: who wants it from now on wants it anew.
    if (!Release()) continue;
    const bool of_source = job.coordinator_failed || absl::IsDataLoss(tree.status()) ||
                           absl::IsInvalidArgument(tree.status());
    sink_({.wanted = job.wanted,
           .ended = true,
           .bytes_here = job.bytes_here,
           .bytes = job.bytes,
           .bytes_taken = job.bytes_taken,
           .machine_failed = !tree.ok() && !of_source,
           .tree = std::move(tree)});
  }
}

absl::StatusOr<SharedTree> TreeFetcher::Fetch(Job& job) {
  while (true) {
    auto tree = TryOnce(job);
    if (tree.ok() || !MayTryAgain(job, tree.status())) return tree;
    if (!WaitForNextTry(tree.status())) return absl::CancelledError("");
  }
}

absl::StatusOr<SharedTree> TreeFetcher::TryOnce(Job& job) {
  // Of what another process brings it is known already.
  if (!job.tree) {
    NF_ASSIGN_OR_RETURN(job.tree, Describe(job));
  }
  const Tree& tree = *job.tree;
  job.identity = IdentityOf(tree);
  job.bytes = BytesOf(tree);
  const TreeWatch watch = {
      .progress =
          [&](uint64_t bytes_here) {
            job.bytes_here = bytes_here;
            Tell(job);
            return Wanted();
          },
      .note =
          [&](const std::string& what) {
            LogWarning("fetched_anew", {{KindOf(job.wanted), job.wanted.name}, {"reason", what}});
          }};
  Source source(*this, job);
  NF_ASSIGN_OR_RETURN(TreeUse use, cache_.Bring(tree, source, watch));
  job.bytes_here = job.bytes;
  return std::make_shared<const TreeUse>(std::move(use));
}

absl::StatusOr<Tree> TreeFetcher::Describe(Job& job) {
  v1::DescribeTreeRequest request;
  if (job.wanted.kind == TreeName::Kind::kDataSet) request.set_data_set(job.wanted.name);
  if (job.wanted.kind == TreeName::Kind::kStack) request.set_stack(job.wanted.name);
  if (job.wanted.kind == TreeName::Kind::kWeights) request.set_weights_sha256(job.wanted.name);
  grpc::ClientContext context;
  SetDeadline(context, kDescribing);
  NF_RETURN_IF_ERROR(Enter(context));
  v1::DescribeTreeResponse response;
  const absl::Status status = FromGrpc(stub_.Get()->DescribeTree(&context, request, &response));
  LeaveCall();
  job.coordinator_failed = !status.ok();
  NF_RETURN_IF_ERROR(status);
  return TreeFrom(response);
}

// Not too soon after the last time.
void TreeFetcher::Tell(Job& job) {
  const absl::Duration now = clock_.Steady();
  if (now - job.told_at < kBetweenNews) return;
  job.told_at = now;
  sink_({.wanted = job.wanted,
         .bytes_here = job.bytes_here,
         .bytes = job.bytes,
         .bytes_taken = job.bytes_taken});
}

bool TreeFetcher::MayTryAgain(Job& job, const absl::Status& failed) {
  if (absl::IsAborted(failed)) {
    // Another process of this machine brings it: what comes to that one counts.
    const uint64_t here = cache_.BytesHere(job.identity);
    if (here != std::exchange(job.bytes_here, here)) job.moved_at = clock_.Steady();
    Tell(job);
    return clock_.Steady() - job.moved_at < patience_;
  }
  job.tree.reset();
  const bool wrong = absl::IsDataLoss(failed);
  if (wrong && ++job.wrong_contents >= kMostWrongContents) return false;
  if (!wrong && (!job.coordinator_failed || IsForGood(failed.code()))) return false;
  // A coordinator that is busy, or reads the files for its first answer about them.
  const bool reads = absl::IsDeadlineExceeded(failed) && ++job.slow_answers <= kMostSlowAnswers;
  if (absl::IsResourceExhausted(failed) || reads) {
    job.moved_at = clock_.Steady();
    Tell(job);
  }
  if (std::string failure = Message(failed); failure != job.failure) {
    LogWarning("fetch_broke_off", {{KindOf(job.wanted), job.wanted.name}, {"error", failed}});
    job.failure = std::move(failure);
  }
  return clock_.Steady() - job.moved_at < patience_;
}

bool TreeFetcher::WaitForNextTry(const absl::Status& failed) {
  MutexLock lock(mutex_);
  const absl::Duration pause = absl::IsAborted(failed) ? kLook : backoff_.Next();
  const absl::Duration until = clock_.Steady() + pause;
  const uint64_t wakes = wakes_;
  while (!stop_ && current_ && wakes == wakes_) {
    const absl::Duration wait = until - clock_.Steady();
    if (wait <= absl::ZeroDuration()) break;
    changed_.WaitFor(mutex_, wait);
  }
  return !stop_ && current_.has_value();
}

}  // namespace noisefloor
