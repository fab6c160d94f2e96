#include "tests/support/mini_coordinator.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

grpc::Status NotNow(grpc::StatusCode code) { return {code, "not now"}; }

}  // namespace

MiniCoordinator::MiniCoordinator(MiniCoordinatorOptions options) : options_(options) {
  auto server = RpcServer::Start({.listen = {"127.0.0.1", 0}}, {this});
  NF_CHECK(server.ok());
  server_ = *std::move(server);
}

MiniCoordinator::~MiniCoordinator() {
  DropSession();
  DropReads();
  server_->Shutdown(absl::ZeroDuration());
}

void MiniCoordinator::Set(const MiniCoordinatorOptions& options) {
  MutexLock lock(mutex_);
  options_ = options;
}

std::optional<v1::SessionRequest> MiniCoordinator::Wait(v1::SessionRequest::MessageCase kind) {
  MutexLock lock(mutex_);
  while (true) {
    for (auto it = received_.begin(); it != received_.end(); ++it) {
      if (it->message_case() != kind) continue;
      v1::SessionRequest found = std::move(*it);
      received_.erase(it);
      return found;
    }
    const size_t before = received_.size();
    if (!changed_.WaitFor(mutex_, kPatience) && received_.size() == before) return std::nullopt;
  }
}

std::optional<v1::Heartbeat> MiniCoordinator::NextHeartbeat() {
  MutexLock lock(mutex_);
  const uint64_t before = heartbeats_;
  while (heartbeats_ == before) {
    if (!changed_.WaitFor(mutex_, kPatience) && heartbeats_ == before) return std::nullopt;
  }
  return heartbeat_;
}

int MiniCoordinator::Waiting(v1::SessionRequest::MessageCase kind) {
  MutexLock lock(mutex_);
  int count = 0;
  for (const v1::SessionRequest& request : received_) count += request.message_case() == kind;
  return count;
}

bool MiniCoordinator::Send(const v1::SessionResponse& message) {
  MutexLock lock(mutex_);
  return stream_ != nullptr && stream_->Write(message);
}

void MiniCoordinator::DropSession() {
  MutexLock lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

bool MiniCoordinator::WaitForTries(const int& tries, int count) {
  MutexLock lock(mutex_);
  while (tries < count) {
    const int before = tries;
    if (!changed_.WaitFor(mutex_, kPatience) && tries == before) return false;
  }
  return true;
}

int MiniCoordinator::session_tries() {
  MutexLock lock(mutex_);
  return session_tries_;
}

std::map<std::string, std::string> MiniCoordinator::uploads() {
  MutexLock lock(mutex_);
  return uploads_;
}

grpc::Status MiniCoordinator::Session(grpc::ServerContext* context, Stream* stream) {
  {
    MutexLock lock(mutex_);
    ++session_tries_;
    changed_.NotifyAll();
    if (!options_.takes_sessions) return NotNow(options_.refusal);
    context_ = context;
    stream_ = stream;
  }
  v1::SessionRequest request;
  while (stream->Read(&request)) {
    MutexLock lock(mutex_);
    if (stream_ == stream) Answer(request);
    if (request.has_heartbeat()) {
      heartbeat_ = request.heartbeat();
      ++heartbeats_;
    } else {
      received_.push_back(request);
    }
    changed_.NotifyAll();
  }
  MutexLock lock(mutex_);
  if (stream_ == stream) {
    stream_ = nullptr;
    context_ = nullptr;
  }
  return grpc::Status::OK;
}

void MiniCoordinator::Answer(const v1::SessionRequest& request) {
  v1::SessionResponse response;
  if (request.has_register_()) {
    response.mutable_welcome()->set_worker_id(1);
    response.mutable_welcome()->set_heartbeat_interval_ms(options_.heartbeat_interval_ms);
    response.mutable_welcome()->set_lease_ttl_ms(options_.lease_ttl_ms);
  } else if (request.has_records() && options_.keeps_records) {
    response.mutable_kept()->set_lease_id(request.records().lease_id());
    response.mutable_kept()->set_sequence(request.records().batch().sequence());
  } else if (request.has_finished() && options_.settles) {
    response.mutable_settled()->set_lease_id(request.finished().lease_id());
    response.mutable_settled()->set_accepted(true);
  } else {
    return;
  }
  stream_->Write(response);
}

grpc::Status MiniCoordinator::Upload(grpc::ServerContext*,
                                     grpc::ServerReader<v1::UploadRequest>* reader,
                                     v1::UploadResponse*) {
  bool takes = false;
  grpc::StatusCode refusal = grpc::StatusCode::UNAVAILABLE;
  {
    MutexLock lock(mutex_);
    takes = options_.takes_uploads;
    refusal = options_.refusal;
  }
  v1::UploadRequest request;
  if (takes && !reader->Read(&request)) return {grpc::StatusCode::INVALID_ARGUMENT, "no header"};
  const v1::UploadHeader header = request.header();
  std::string content;
  while (takes && reader->Read(&request)) content += request.piece();
  MutexLock lock(mutex_);
  ++upload_tries_;
  changed_.NotifyAll();
  if (!takes) return NotNow(refusal);
  if (content.size() != header.size() || Sha256Hex(content) != header.sha256()) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "another content than the header says"};
  }
  uploads_[header.kind()] = std::move(content);
  return grpc::Status::OK;
}

void MiniCoordinator::OfferData(const std::string& data_set,
                                std::map<std::string, std::string> files) {
  MutexLock lock(mutex_);
  offered_["data_set/" + data_set] = Take(std::move(files), /*executable=*/false);
}

void MiniCoordinator::OfferStack(const std::string& stack,
                                 std::map<std::string, std::string> files) {
  MutexLock lock(mutex_);
  offered_["stack/" + stack] = Take(std::move(files), /*executable=*/true);
}

void MiniCoordinator::OfferWeights(std::string content) {
  MutexLock lock(mutex_);
  const std::string sha256 = Sha256Hex(content);
  offered_["weights/" + sha256] =
      Take({{std::string(kWeightsFile), std::move(content)}}, /*executable=*/false);
}

Tree MiniCoordinator::Take(std::map<std::string, std::string> files, bool executable) {
  Tree tree;
  for (auto& [path, content] : files) {
    const std::string sha256 = Sha256Hex(content);
    tree.files.push_back({path, content.size(), sha256, executable});
    files_[sha256] = std::move(content);
  }
  return tree;
}

void MiniCoordinator::Spoil(const std::string& content) {
  MutexLock lock(mutex_);
  std::string& sent = files_.at(Sha256Hex(content));
  for (char& byte : sent) byte ^= 1;
}

void MiniCoordinator::LetThrough(uint64_t bytes) {
  MutexLock lock(mutex_);
  bytes_left_ = bytes;
  changed_.NotifyAll();
}

void MiniCoordinator::DropReads() {
  MutexLock lock(mutex_);
  ++drops_;
  changed_.NotifyAll();
}

bool MiniCoordinator::WaitForBytesSent(uint64_t bytes) {
  MutexLock lock(mutex_);
  while (bytes_sent_ < bytes) {
    const uint64_t before = bytes_sent_;
    if (!changed_.WaitFor(mutex_, kPatience) && bytes_sent_ == before) return false;
  }
  return true;
}

uint64_t MiniCoordinator::bytes_sent() {
  MutexLock lock(mutex_);
  return bytes_sent_;
}

std::vector<std::pair<std::string, uint64_t>> MiniCoordinator::reads() {
  MutexLock lock(mutex_);
  return reads_;
}

grpc::Status MiniCoordinator::DescribeTree(grpc::ServerContext*,
                                           const v1::DescribeTreeRequest* request,
                                           v1::DescribeTreeResponse* response) {
  MutexLock lock(mutex_);
  std::string key = "data_set/" + request->data_set();
  if (!request->stack().empty()) key = "stack/" + request->stack();
  if (!request->weights_sha256().empty()) key = "weights/" + request->weights_sha256();
  const auto offered = offered_.find(key);
  if (offered == offered_.end()) {
    return {grpc::StatusCode::NOT_FOUND, "the coordinator has no " + key.substr(key.find('/') + 1)};
  }
  response->set_identity(IdentityOf(offered->second));
  for (const TreeFile& file : offered->second.files) {
    v1::TreeFile& told = *response->add_files();
    told.set_path(file.path);
    told.set_size(file.size_bytes);
    told.set_sha256(file.sha256);
    told.set_executable(file.executable);
  }
  return grpc::Status::OK;
}

uint64_t MiniCoordinator::WaitForLeave(const grpc::ServerContext& context, uint64_t drops,
                                       uint64_t wanted) {
  MutexLock lock(mutex_);
  // A caller that goes tells nobody here: asked again and again.
  while (bytes_left_ == 0 && drops == drops_ && !context.IsCancelled()) {
    changed_.WaitFor(mutex_, absl::Milliseconds(20));
  }
  if (bytes_left_ == 0 || drops != drops_) return 0;
  const uint64_t leave = std::min(wanted, bytes_left_);
  bytes_left_ -= leave;
  return leave;
}

grpc::Status MiniCoordinator::ReadTree(grpc::ServerContext* context,
                                       const v1::ReadTreeRequest* request,
                                       grpc::ServerWriter<v1::ReadTreeResponse>* writer) {
  std::string content;
  uint64_t drops = 0;
  {
    MutexLock lock(mutex_);
    reads_.emplace_back(request->path(), request->offset());
    drops = drops_;
    for (const auto& [data_set, tree] : offered_) {
      if (IdentityOf(tree) != request->identity()) continue;
      for (const TreeFile& file : tree.files) {
        if (file.path == request->path()) content = files_.at(file.sha256);
      }
    }
  }
  if (content.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, "it has changed"};
  for (uint64_t at = request->offset(); at < content.size();) {
    constexpr uint64_t kPiece = 1000;
    const uint64_t leave = WaitForLeave(*context, drops, std::min(kPiece, content.size() - at));
    if (leave == 0) return {grpc::StatusCode::UNAVAILABLE, "it goes"};
    v1::ReadTreeResponse response;
    response.set_piece(content.substr(at, leave));
    if (!writer->Write(response)) return {grpc::StatusCode::CANCELLED, ""};
    at += leave;
    MutexLock lock(mutex_);
    bytes_sent_ += leave;
    changed_.NotifyAll();
  }
  return grpc::Status::OK;
}

}  // namespace noisefloor
