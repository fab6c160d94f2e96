#include "worker/daemon/uploader.h"

#include <filesystem>
#include <fstream>

#include "fmt/format.h"

#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxRefusals = 20;

// Codes that speak of the moment, not of the file. A lease that is not live (FailedPrecondition)
// may be one that a restarted coordinator has not read yet; else it settles the lease, and that
// cancels the upload.
bool IsTransient(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kResourceExhausted: return true;
    default: return false;
  }
}

// The log as an artifact; nothing when it is empty or not there.
std::vector<ArtifactEvent> DescribeLog(const std::string& path) {
  std::error_code error;
  const auto size = path.empty() ? 0 : fs::file_size(path, error);
  if (error || size == 0) return {};
  const auto sha256 = Sha256File(path);
  if (!sha256.ok()) return {};
  return {ArtifactEvent{"log", "log", *sha256, size}};
}

absl::Duration DeadlineFor(uint64_t size) {
  return absl::Seconds(60) + absl::Seconds(static_cast<int64_t>(size >> 20));
}

// False when the coordinator ended the call; its status says why.
bool WritePieces(grpc::ClientWriterInterface<v1::UploadRequest>& writer, std::ifstream& file) {
  v1::UploadRequest request;
  std::string piece(kPieceBytes, '\0');
  while (file.good()) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto got = static_cast<size_t>(file.gcount());
    if (got == 0) break;
    request.set_piece(piece.data(), got);
    if (!writer.Write(request)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> CheckArtifact(const std::string& folder,
                                          const ArtifactEvent& artifact) {
  const auto wrong = [&](std::string_view what) {
    return InvalidInput(fmt::format("artifact {} ({}): {}", artifact.kind, artifact.path, what));
  };
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path path = fs::canonical(root / artifact.path, error);
  if (error) return wrong("there is no such file");
  if (path != (root / artifact.path).lexically_normal()) return wrong("reached through a link");
  if (!fs::is_regular_file(path, error)) return wrong("not a file");
  const uint64_t size = fs::file_size(path, error);
  if (error || size != artifact.size) {
    return wrong(fmt::format("{} bytes, and the trainer said {}", size, artifact.size));
  }
  NF_ASSIGN_OR_RETURN(const std::string sha256, Sha256File(path.string()));
  if (sha256 != artifact.sha256) {
    return wrong(fmt::format("SHA-256 {}, and the trainer said {}", sha256, artifact.sha256));
  }
  return path.string();
}

Uploader::Uploader(v1::WorkerService::StubInterface& stub, const Clock& clock, uint64_t seed,
                   Sink sink)
    : stub_(stub),
      clock_(clock),
      sink_(std::move(sink)),
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
  queue_.push_back(Work{std::move(job), {}, false, 0, 0});
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
    } else if (IsTransient(status.code()) && work->refusals < kMaxRefusals) {
      TryLater(*std::move(work));
    } else {
      sink_({lease, status});
    }
  }
}

void Uploader::TryLater(Work work) {
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

absl::Status Uploader::Advance(Work& work) {
  UploadJob& job = work.job;
  if (!work.checked) {
    for (const ArtifactEvent& artifact : job.artifacts) {
      NF_ASSIGN_OR_RETURN(std::string path, CheckArtifact(job.folder, artifact));
      work.paths.push_back(std::move(path));
    }
    for (const ArtifactEvent& log : DescribeLog(job.log_path)) {
      job.artifacts.push_back(log);
      work.paths.push_back(job.log_path);
    }
    work.checked = true;
  }
  while (work.uploaded < work.paths.size()) {
    const ArtifactEvent& artifact = job.artifacts[work.uploaded];
    const absl::Status status = UploadOne(job.lease, work.paths[work.uploaded], artifact);
    if (status.code() == absl::StatusCode::kResourceExhausted) ++work.refusals;
    if (!status.ok()) return Annotate(status, fmt::format("uploading {}", artifact.kind));
    backoff_.Reset();
    ++work.uploaded;
  }
  return absl::OkStatus();
}

absl::Status Uploader::UploadOne(LeaseId lease, const std::string& path,
                                 const ArtifactEvent& artifact) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidInput(path + ": cannot be opened");
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
  request.mutable_header()->set_lease_id(lease.value);
  request.mutable_header()->set_kind(artifact.kind);
  request.mutable_header()->set_sha256(artifact.sha256);
  request.mutable_header()->set_size(artifact.size);
  if (writer->Write(request) && WritePieces(*writer, file)) writer->WritesDone();
  const absl::Status status = FromGrpc(writer->Finish());
  MutexLock lock(mutex_);
  call_ = nullptr;
  return status;
}

}  // namespace noisefloor
