#include "worker/daemon/uploader.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"

namespace noisefloor {

namespace {

// Whether the bytes themselves are wrong. All else speaks of the moment: a full disk over there, a
// lease that a restarted coordinator has not read yet. A lease that is dead for good is settled or
// stopped, and that cancels the upload.
bool IsFinal(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument;
}

absl::Status TooLarge(const Artifact& artifact) {
  return InvalidInput(fmt::format("artifact {} ({}): {} bytes, and at most {} are taken",
                                  artifact.kind, artifact.path, artifact.size, kMaxFileBytes));
}

// OK when all was sent, or the coordinator ended the call, whose status says why; else why the file
// could not be read.
absl::Status WritePieces(grpc::ClientWriterInterface<v1::UploadRequest>& writer,
                         ReadableFile& file) {
  v1::UploadRequest request;
  std::string piece(kPieceBytes, '\0');
  while (true) {
    NF_ASSIGN_OR_RETURN(const size_t got, file.Read(piece));
    if (got == 0) return absl::OkStatus();
    request.set_piece(piece.data(), got);
    if (!writer.Write(request)) return absl::OkStatus();
  }
}

}  // namespace

void AddMember(const std::string& member, uint32_t attempt, std::vector<LogField>& fields) {
  const std::optional<MemberId> id = ParseMemberId(member);
  if (id) fields.emplace_back("sweep", ToText(id->sweep));
  fields.emplace_back("member", member);
  fields.emplace_back("attempt", attempt);
}

Uploader::Uploader(const WorkerStub& stub, const Clock& clock, uint64_t seed, Sink sink,
                   Check check)
    : stub_(stub),
      clock_(clock),
      sink_(std::move(sink)),
      check_(std::move(check)),
      backoff_({absl::Milliseconds(50), absl::Seconds(5)}, seed) {
  for (Hand& hand : hands_) threads_.emplace_back([this, &hand] { Run(hand); });
}

Uploader::~Uploader() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    for (const Hand& hand : hands_) {
      if (hand.call != nullptr) hand.call->TryCancel();
    }
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Uploader::Add(UploadJob job) {
  MutexLock lock(mutex_);
  queue_.push_back(Work{.job = std::move(job)});
  changed_.NotifyAll();
}

void Uploader::Cancel(LeaseId lease) {
  MutexLock lock(mutex_);
  std::erase_if(queue_, [&](const Work& work) { return work.job.lease == lease; });
  for (Hand& hand : hands_) {
    if (hand.lease != lease) continue;
    hand.cancelled = true;
    if (hand.call != nullptr) hand.call->TryCancel();
  }
}

void Uploader::Wake() {
  MutexLock lock(mutex_);
  ++wakes_;
  backoff_.Reset();
  for (Work& work : queue_) {
    work.not_before = -absl::InfiniteDuration();
    work.uploaded = 0;
  }
  changed_.NotifyAll();
}

bool Uploader::IsCancelled(const Hand& hand) {
  MutexLock lock(mutex_);
  return stop_ || hand.cancelled;
}

std::optional<Uploader::Work> Uploader::TakeDue() {
  const absl::Duration now = clock_.Steady();
  const auto due =
      std::ranges::find_if(queue_, [&](const Work& work) { return work.not_before <= now; });
  if (due == queue_.end()) return std::nullopt;
  Work work = std::move(*due);
  queue_.erase(due);
  return work;
}

std::optional<Uploader::Work> Uploader::Next(Hand& hand) {
  MutexLock lock(mutex_);
  hand = Hand();
  while (!stop_) {
    if (std::optional<Work> work = TakeDue()) {
      hand.lease = work->job.lease;
      hand.wakes = wakes_;
      return work;
    }
    absl::Duration due = absl::InfiniteDuration();
    for (const Work& work : queue_) due = std::min(due, work.not_before);
    if (queue_.empty()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitFor(mutex_, std::max(due - clock_.Steady(), absl::Milliseconds(1)));
    }
  }
  return std::nullopt;
}

void Uploader::Run(Hand& hand) {
  while (std::optional<Work> work = Next(hand)) {
    const absl::Status status = Advance(hand, *work);
    if (IsCancelled(hand)) continue;
    if (status.ok()) {
      sink_({work->job.lease, std::move(work->job.artifacts)});
    } else if (IsFinal(status)) {
      sink_({work->job.lease, status});
    } else {
      TryLater(hand, *std::move(work), status);
    }
  }
}

void Uploader::TryLater(Hand& hand, Work work, const absl::Status& why) {
  if (std::string failure = Message(why); failure != work.failure) {
    std::vector<LogField> fields = {{"lease", work.job.lease.value}};
    AddMember(work.job.member, work.job.attempt, fields);
    fields.emplace_back("error", why);
    LogWith(LogLevel::kWarning, "upload_failed", fields);
    work.failure = std::move(failure);
  }
  MutexLock lock(mutex_);
  if (stop_ || hand.cancelled) return;
  if (hand.wakes == wakes_) {
    work.not_before = clock_.Steady() + backoff_.Next();
  } else {
    work.uploaded = 0;
  }
  hand = Hand();
  queue_.push_back(std::move(work));
}

// Everything or nothing: after a failure the next try begins anew.
absl::Status Uploader::CheckFiles(Work& work) const {
  UploadJob& job = work.job;
  std::vector<std::string> paths;
  if (job.folder == nullptr && !job.artifacts.empty()) {
    return InvalidInput("the attempt's folder cannot be opened");
  }
  for (const Artifact& artifact : job.artifacts) {
    if (artifact.size > kMaxFileBytes) return TooLarge(artifact);  // Before it is read.
    NF_RETURN_IF_ERROR(check_(*job.folder, artifact));
    paths.push_back(fmt::format("{}/{}", kWorkName, artifact.path));
  }
  if (job.folder != nullptr) {
    const Artifact log = DescribeLog(*job.folder);
    if (log.size > 0) job.artifacts.push_back(log);
    if (log.size > 0) paths.emplace_back(kLogName);
  }
  work.paths = std::move(paths);
  work.checked = true;
  return absl::OkStatus();
}

absl::Status Uploader::Advance(Hand& hand, Work& work) {
  if (!work.checked) NF_RETURN_IF_ERROR(CheckFiles(work));
  UploadJob& job = work.job;
  while (work.uploaded < work.paths.size()) {
    const Artifact& artifact = job.artifacts[work.uploaded];
    const absl::Status status = UploadOne(hand, job, work.paths[work.uploaded], artifact);
    if (!status.ok()) return Annotate(status, fmt::format("uploading {}", artifact.kind));
    ++work.uploaded;
    MutexLock lock(mutex_);
    backoff_.Reset();
    if (std::exchange(hand.wakes, wakes_) != wakes_) work.uploaded = 0;
  }
  return absl::OkStatus();
}

absl::Status Uploader::UploadOne(Hand& hand, const UploadJob& job, const std::string& path,
                                 const Artifact& artifact) {
  NF_ASSIGN_OR_RETURN(const FoundFile found, job.folder->Find(path));
  grpc::ClientContext context;
  SetDeadline(context, DeadlineFor(artifact.size));
  {
    MutexLock lock(mutex_);
    if (stop_ || hand.cancelled) return absl::CancelledError("");
    hand.call = &context;
  }
  v1::UploadResponse response;
  const WorkerStub::Stub stub = stub_.Get();
  const auto writer = stub->Upload(&context, &response);
  v1::UploadRequest request;
  request.mutable_header()->set_lease_id(job.lease.value);
  request.mutable_header()->set_kind(artifact.kind);
  request.mutable_header()->set_sha256(artifact.sha256);
  request.mutable_header()->set_size(artifact.size);
  absl::Status read;
  if (writer->Write(request)) read = WritePieces(*writer, *found.file);
  if (read.ok()) writer->WritesDone();
  if (!read.ok()) context.TryCancel();  // A short file would be refused for good.
  absl::Status status = FromGrpc(writer->Finish());
  MutexLock lock(mutex_);
  hand.call = nullptr;
  return read.ok() ? status : read;
}

}  // namespace noisefloor
