#include "worker/daemon/uploader.h"

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

absl::Status TooLarge(const ArtifactEvent& artifact) {
  return InvalidInput(fmt::format("artifact {} ({}): {} bytes, and at most {} are taken",
                                  artifact.kind, artifact.path, artifact.size, kMaxFileBytes));
}

absl::Duration DeadlineFor(uint64_t size) {
  return absl::Seconds(60) + absl::Seconds(static_cast<int64_t>(size >> 20));
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

Uploader::Uploader(v1::WorkerService::StubInterface& stub, const Clock& clock, uint64_t seed,
                   Sink sink, Check check)
    : stub_(stub),
      clock_(clock),
      sink_(std::move(sink)),
      check_(std::move(check)),
      backoff_({absl::Milliseconds(50), absl::Seconds(5)}, seed),
      thread_([this] { Run(); }) {}

Uploader::~Uploader() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    if (call_ != nullptr) call_->TryCancel();
    changed_.NotifyAll();
  }
  thread_.join();
}

void Uploader::Add(UploadJob job) {
  MutexLock lock(mutex_);
  queue_.push_back(Work{std::move(job), {}, false, 0, ""});
  changed_.NotifyAll();
}

void Uploader::Cancel(LeaseId lease) {
  MutexLock lock(mutex_);
  std::erase_if(queue_, [&](const Work& work) { return work.job.lease == lease; });
  if (current_ != lease) return;
  current_cancelled_ = true;
  if (call_ != nullptr) call_->TryCancel();
  changed_.NotifyAll();
}

void Uploader::Wake() {
  MutexLock lock(mutex_);
  wake_ = true;
  changed_.NotifyAll();
}

bool Uploader::IsCancelled(LeaseId lease) {
  MutexLock lock(mutex_);
  return stop_ || (current_ == lease && current_cancelled_);
}

std::optional<Uploader::Work> Uploader::Next() {
  MutexLock lock(mutex_);
  current_ = LeaseId{};
  while (!stop_ && queue_.empty()) changed_.Wait(mutex_);
  if (stop_) return std::nullopt;
  Work work = std::move(queue_.front());
  queue_.pop_front();
  current_ = work.job.lease;
  current_cancelled_ = false;
  return work;
}

void Uploader::Run() {
  while (std::optional<Work> work = Next()) {
    const absl::Status status = Advance(*work);
    const LeaseId lease = work->job.lease;
    if (IsCancelled(lease)) continue;
    if (status.ok()) {
      sink_({lease, std::move(work->job.artifacts)});
    } else if (IsFinal(status)) {
      sink_({lease, status});
    } else {
      TryLater(*std::move(work), status);
    }
  }
}

void Uploader::TryLater(Work work, const absl::Status& why) {
  if (std::string failure = Message(why); failure != work.failure) {
    LogWarning("upload_failed", {{"lease", work.job.lease.value}, {"error", why}});
    work.failure = std::move(failure);
  }
  const absl::Duration until = clock_.Steady() + backoff_.Next();
  MutexLock lock(mutex_);
  if (stop_ || current_cancelled_) return;
  current_ = LeaseId{};
  queue_.push_back(std::move(work));
  while (!stop_ && !wake_ && clock_.Steady() < until) {
    changed_.WaitFor(mutex_, until - clock_.Steady());
  }
  wake_ = false;
}

// Everything or nothing: after a failure the next try begins anew.
absl::Status Uploader::CheckFiles(Work& work) const {
  UploadJob& job = work.job;
  std::vector<std::string> paths;
  if (job.folder == nullptr && !job.artifacts.empty()) {
    return InvalidInput("the attempt's folder cannot be opened");
  }
  for (const ArtifactEvent& artifact : job.artifacts) {
    if (artifact.size > kMaxFileBytes) return TooLarge(artifact);  // Before it is read.
    NF_RETURN_IF_ERROR(check_(*job.folder, artifact));
    paths.push_back(fmt::format("{}/{}", kWorkName, artifact.path));
  }
  if (job.folder != nullptr) {
    const ArtifactEvent log = DescribeLog(*job.folder);
    if (log.size > 0) job.artifacts.push_back(log);
    if (log.size > 0) paths.emplace_back(kLogName);
  }
  work.paths = std::move(paths);
  work.checked = true;
  return absl::OkStatus();
}

absl::Status Uploader::Advance(Work& work) {
  if (!work.checked) NF_RETURN_IF_ERROR(CheckFiles(work));
  UploadJob& job = work.job;
  while (work.uploaded < work.paths.size()) {
    const ArtifactEvent& artifact = job.artifacts[work.uploaded];
    const absl::Status status = UploadOne(job, work.paths[work.uploaded], artifact);
    if (!status.ok()) return Annotate(status, fmt::format("uploading {}", artifact.kind));
    backoff_.Reset();
    ++work.uploaded;
  }
  return absl::OkStatus();
}

absl::Status Uploader::UploadOne(const UploadJob& job, const std::string& path,
                                 const ArtifactEvent& artifact) {
  NF_ASSIGN_OR_RETURN(const FoundFile found, job.folder->Find(path));
  grpc::ClientContext context;
  SetDeadline(context, DeadlineFor(artifact.size));
  {
    MutexLock lock(mutex_);
    if (stop_ || current_cancelled_) return absl::CancelledError("");
    call_ = &context;
  }
  v1::UploadResponse response;
  const auto writer = stub_.Upload(&context, &response);
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
  call_ = nullptr;
  return read.ok() ? status : read;
}

}  // namespace noisefloor
