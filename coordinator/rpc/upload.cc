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
  if (request.piece().size() <= kPieceBytes) return absl::OkStatus();
  return InvalidInput(
      fmt::format("piece: expected at most {} bytes, got {}", kPieceBytes, request.piece().size()));
}

}  // namespace

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
  if (limits.pin) {
    limits.pin(name.sha256, lease);
    // One that was settled before it had the pin may have lost the file, too.
    NF_RETURN_IF_ERROR(CheckHeader(request, limits));
  }
  NF_ASSIGN_OR_RETURN(const bool held, blobs.Holds(name));  // A damaged one is replaced.
  if (held) {
    response.set_known_already(true);
    return response;
  }
  NF_ASSIGN_OR_RETURN(BlobWriter writer, blobs.Create(name));
  while (reader.Read(&request)) {
    NF_RETURN_IF_ERROR(CheckPiece(request));
    NF_RETURN_IF_ERROR(CheckLive(lease.value, limits));
    NF_RETURN_IF_ERROR(writer.Write(request.piece()));
  }
  NF_RETURN_IF_ERROR(writer.Commit());
  if (limits.written) limits.written(kind, name);
  if (limits.figures != nullptr) {
    ++limits.figures->files;
    limits.figures->bytes += name.size_bytes;
  }
  return response;
}

}  // namespace noisefloor
