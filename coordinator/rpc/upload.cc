#include "coordinator/rpc/upload.h"

#include "fmt/format.h"

#include "common/base/reason.h"
#include "common/rpc/channel.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

absl::Status CheckLive(uint64_t lease, const UploadLimits& limits) {
  if (limits.is_live(LeaseId{lease})) return absl::OkStatus();
  return Because(MakeError(absl::StatusCode::kFailedPrecondition,
                           fmt::format("lease {} is not live; nothing of it is taken", lease)),
                 Reason::kLeaseNotLive, {{"lease", std::to_string(lease)}});
}

absl::Status CheckHeader(const v1::UploadRequest& request, const UploadLimits& limits) {
  if (!request.has_header()) {
    return InvalidInput("the first message of an upload: expected header");
  }
  const v1::UploadHeader& header = request.header();
  if (header.kind().empty() || header.kind().size() > kMaxKind) {
    return InvalidInput(
        fmt::format("header.kind: expected 1 to {} bytes, got {}", kMaxKind, header.kind().size()));
  }
  NF_RETURN_IF_ERROR(Annotate(CheckSha256(header.sha256()), "header.sha256"));
  if (header.size() > limits.max_bytes) {
    return InvalidInput(fmt::format("header.size: expected at most {} bytes, got {}",
                                    limits.max_bytes, header.size()));
  }
  return CheckLive(header.lease_id(), limits);
}

absl::Status CheckPiece(const v1::UploadRequest& request) {
  if (!request.has_piece()) return InvalidInput("upload: expected a piece after the header");
  const size_t size = request.piece().size();
  if (size > 0 && size <= kPieceBytes) return absl::OkStatus();
  return InvalidInput(fmt::format("piece: expected 1 to {} bytes, got {}", kPieceBytes, size));
}

// As long as it lives, if it was taken at all.
class Counted {
 public:
  Counted(LeaseUploads* uploads, LeaseId lease)
      : uploads_(uploads), lease_(lease), taken_(uploads == nullptr || uploads->Begin(lease)) {}
  ~Counted() {
    if (uploads_ != nullptr && taken_) uploads_->End(lease_);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  absl::Status status() const {
    if (taken_) return absl::OkStatus();
    return Because(MakeError(absl::StatusCode::kResourceExhausted,
                             fmt::format("{} uploads of lease {} go on at this moment, as many as "
                                         "may; try again",
                                         LeaseUploads::kMost, lease_.value)),
                   Reason::kTooBusy);
  }

 private:
  LeaseUploads* const uploads_;
  const LeaseId lease_;
  const bool taken_;
};

absl::Status Pin(const BlobName& name, LeaseId lease, const UploadLimits& limits) {
  if (!limits.pin || limits.pin(name.sha256, lease)) return absl::OkStatus();
  return InvalidInput(
      fmt::format("lease {} has sent as many files as a result may name", lease.value));
}

// Before it is looked whether the content is there, or it is put there.
absl::Status PinLive(const BlobName& name, LeaseId lease, const UploadLimits& limits) {
  NF_RETURN_IF_ERROR(Pin(name, lease, limits));
  // One that was settled before it had the pin may have lost the file, too.
  NF_RETURN_IF_ERROR(CheckLive(lease.value, limits));
  return absl::OkStatus();
}

}  // namespace

bool LeaseUploads::Begin(LeaseId lease) {
  MutexLock lock(mutex_);
  size_t& open = open_[lease];
  if (open == kMost) return false;
  ++open;
  return true;
}

void LeaseUploads::End(LeaseId lease) {
  MutexLock lock(mutex_);
  const auto of_lease = open_.find(lease);
  if (--of_lease->second == 0) open_.erase(of_lease);
}

absl::StatusOr<v1::UploadResponse> ReceiveUpload(
    grpc::ServerReaderInterface<v1::UploadRequest>& reader, const BlobStore& blobs,
    const UploadLimits& limits, LeaseId* named) {
  v1::UploadRequest request;
  if (!reader.Read(&request))
    return InvalidInput("the first message of an upload: expected header");
  const LeaseId lease{request.header().lease_id()};
  if (named != nullptr) *named = lease;
  NF_RETURN_IF_ERROR(CheckHeader(request, limits));
  const BlobName name{request.header().sha256(), request.header().size()};
  const std::string kind = request.header().kind();
  v1::UploadResponse response;
  const Counted counted(limits.of_leases, lease);
  NF_RETURN_IF_ERROR(counted.status());
  // A header alone pins nothing: whoever knows the number of a lease could use up its pins.
  if (blobs.Has(name)) {
    NF_RETURN_IF_ERROR(PinLive(name, lease, limits));
    NF_ASSIGN_OR_RETURN(const bool held, blobs.Holds(name));  // A damaged one is replaced.
    response.set_known_already(held);
    if (held) return response;
  }
  NF_ASSIGN_OR_RETURN(BlobWriter writer, blobs.Create(name));
  while (reader.Read(&request)) {
    NF_RETURN_IF_ERROR(CheckPiece(request));
    NF_RETURN_IF_ERROR(CheckLive(lease.value, limits));
    NF_RETURN_IF_ERROR(writer.Write(request.piece()));
  }
  NF_RETURN_IF_ERROR(writer.Check());
  NF_RETURN_IF_ERROR(PinLive(name, lease, limits));
  NF_RETURN_IF_ERROR(writer.Commit());
  if (limits.written) limits.written(kind, name);
  if (limits.figures != nullptr) {
    ++limits.figures->files;
    limits.figures->bytes += name.size_bytes;
  }
  return response;
}

}  // namespace noisefloor
