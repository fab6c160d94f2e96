#include "coordinator/rpc/weights_stream.h"

#include <utility>

#include "fmt/format.h"

#include "common/rpc/channel.h"
#include "common/rpc/status.h"
#include "coordinator/rpc/awaited.h"

namespace noisefloor {

namespace {
constexpr uint64_t kMostAround = 1 << 20;  // Bytes of messages around those of a file.
}

WeightsStream::WeightsStream(Parts parts, grpc::CallbackServerContext& context,
                             v1::PutWeightsResponse& response)
    : parts_(parts), place_(parts.places, context), response_(response) {
  const absl::Status admitted = place_.status();
  if (admitted.ok()) {
    ReadNext();
  } else {
    this->Finish(ToGrpc(admitted));
  }
}

void WeightsStream::ReadNext() {
  place_.Await();
  this->StartRead(&request_);
}

void WeightsStream::OnReadDone(bool ok) {
  place_.AwaitNoMore();
  const auto work = [this, ok] { ok ? Take() : End(); };
  if (parts_.query.Post(query::Work::kRead, work)) return;
  this->Finish(ToGrpc(TooManyWait("files of weights")));
}

absl::Status WeightsStream::Begin(const v1::PutWeightsHeader& header) {
  NF_RETURN_IF_ERROR(Annotate(CheckSha256(header.sha256()), "header.sha256"));
  if (header.size() == 0 || header.size() > kMaxFileBytes) {
    return InvalidInput(
        fmt::format("header.size: expected 1 to {} bytes, got {}", kMaxFileBytes, header.size()));
  }
  begun_ = true;
  const BlobName name{header.sha256(), header.size()};
  NF_ASSIGN_OR_RETURN(const bool held, parts_.blobs.Holds(name));  // A damaged one is replaced.
  response_.set_known_already(held);
  if (held) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(writer_, parts_.blobs.Create(name));
  return absl::OkStatus();
}

absl::Status WeightsStream::Accept() {
  if (!begun_) {
    return request_.has_header()
               ? Begin(request_.header())
               : InvalidInput("the first message of a file of weights: expected header");
  }
  const bool empty = request_.piece().empty();
  if (empty || !request_.has_piece() || request_.piece().size() > kPieceBytes) {
    return InvalidInput(
        fmt::format("piece: expected 1 to {} bytes, got {}", kPieceBytes, request_.piece().size()));
  }
  return writer_ ? writer_->Write(request_.piece()) : absl::OkStatus();
}

// What is not needed, or refused, is read all the same: a caller in this process would wait for
// ever for somebody to read what it writes.
void WeightsStream::Take() {
  if (status_.ok()) status_ = Accept();
  taken_bytes_ += request_.ByteSizeLong();
  if (taken_bytes_ > kMaxFileBytes + kMostAround) return this->Finish(ToGrpc(status_));
  ReadNext();
}

void WeightsStream::End() {
  if (status_.ok() && !begun_) {
    status_ = InvalidInput("the first message of a file of weights: expected header");
  }
  if (status_.ok() && writer_) status_ = writer_->Commit();
  this->Finish(ToGrpc(status_));
}

}  // namespace noisefloor
