#include "worker/daemon/uploader.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/status.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

// Whether the bytes themselves are wrong. All else speaks of the moment: a full disk over there, a
// lease that a restarted coordinator has not read yet. A lease that is dead for good is settled or
// stopped, and that cancels the upload.
bool IsFinal(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument;
}

// Whether the path itself is wrong, as the trainer made it.
bool IsOfThePath(const std::error_code& error) {
  const int number = error.value();
  return number == ENOENT || number == ENOTDIR || number == ELOOP || number == ENAMETOOLONG ||
         number == EACCES;
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

// False when not all of the file was sent: it could not be read, or the coordinator ended the call
// and its status says why.
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
  return !file.bad();
}

}  // namespace

absl::StatusOr<std::string> CheckArtifact(const std::string& folder,
                                          const ArtifactEvent& artifact) {
  const auto wrong = [&](std::string_view what) {
    return InvalidInput(fmt::format("artifact {} ({}): {}", artifact.kind, artifact.path, what));
  };
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return FileError(folder, "find", error.value());
  const fs::path path = fs::canonical(root / artifact.path, error);
  if (error && !IsOfThePath(error)) return FileError(artifact.path, "find", error.value());
  if (error) return wrong("there is no such file");
  if (path != (root / artifact.path).lexically_normal()) return wrong("reached through a link");
  if (!fs::is_regular_file(path, error)) return wrong("not a file");
  const uint64_t size = fs::file_size(path, error);
  if (error) return FileError(path.string(), "look at", error.value());
  if (size != artifact.size) {
    return wrong(fmt::format("{} bytes, and the trainer said {}", size, artifact.size));
  }
  const absl::StatusOr<std::string> sha256 = Sha256File(path.string());
  if (sha256.status().code() == absl::StatusCode::kPermissionDenied) return wrong("not readable");
  NF_RETURN_IF_ERROR(sha256.status());
  if (*sha256 != artifact.sha256) {
    return wrong(fmt::format("SHA-256 {}, and the trainer said {}", *sha256, artifact.sha256));
  }
  return path.string();
}

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
  for (const ArtifactEvent& artifact : job.artifacts) {
    NF_ASSIGN_OR_RETURN(std::string path, check_(job.folder, artifact));
    paths.push_back(std::move(path));
  }
  for (const ArtifactEvent& log : DescribeLog(job.log_path)) {
    job.artifacts.push_back(log);
    paths.push_back(job.log_path);
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
    const absl::Status status = UploadOne(job.lease, work.paths[work.uploaded], artifact);
    if (!status.ok()) return Annotate(status, fmt::format("uploading {}", artifact.kind));
    backoff_.Reset();
    ++work.uploaded;
  }
  return absl::OkStatus();
}

absl::Status Uploader::UploadOne(LeaseId lease, const std::string& path,
                                 const ArtifactEvent& artifact) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileError(path, "open", errno);
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
  const bool sent = writer->Write(request) && WritePieces(*writer, file);
  if (sent) writer->WritesDone();
  if (file.bad()) context.TryCancel();  // A short file would be refused for good.
  absl::Status status = FromGrpc(writer->Finish());
  MutexLock lock(mutex_);
  call_ = nullptr;
  return status;
}

}  // namespace noisefloor
