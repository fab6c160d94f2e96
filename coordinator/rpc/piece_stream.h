// Sends a long text or a file in pieces, each made on a thread that may block.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "common/base/status.h"
#include "common/rpc/status.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/stream_places.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

// The next piece, at most kPieceBytes; empty at the end. Called by one thread at a time.
using PieceSource = std::function<absl::StatusOr<std::string>()>;

// Has the next piece made on another thread; false when too many wait. One thread at a time.
using PostWork = std::function<bool(std::function<void()> work)>;
// On query's threads: only the first piece of a study is long.
PostWork PostStudy(query::Query& query);
PostWork PostRead(query::Query& query);

// The text of a study, made at the first call.
PieceSource StudyPieces(query::Query& query, const v1::GetStudyRequest& request);
// The file of an artifact, found and opened at the first call: what fails then says nothing of its
// content. DataLoss at the end, after all pieces, when they were not what was kept.
PieceSource ArtifactPieces(query::Query& query, const v1::GetArtifactRequest& request);

// The same, until the token proves nobody any more. Without a token: the same.
PieceSource WhileProved(const AccessBook& access, std::string_view token, PieceSource source);

// The same, while somebody waits for it. The call outlives the source.
PieceSource WhileAwaited(const grpc::CallbackServerContext& context, PieceSource source);

// gRPC owns it from construction; it deletes itself in OnDone. One piece in the making or one write
// in flight, never both.
//
// ResourceExhausted: too many of its kind are open or wait at this moment; try again.
template <typename Response>
class PieceStream final : public grpc::ServerWriteReactor<Response> {
 public:
  PieceStream(StreamPlaces& places, grpc::CallbackServerContext& context, PostWork post,
              PieceSource source)
      : place_(places, context), post_(std::move(post)), source_(std::move(source)) {
    const absl::Status admitted = place_.status();
    if (admitted.ok()) {
      MakeNext();
    } else {
      this->Finish(ToGrpc(admitted));
    }
  }

 private:
  void OnWriteDone(bool ok) override {
    place_.AwaitNoMore();
    if (!ok) return this->Finish(grpc::Status::CANCELLED);
    MakeNext();
  }
  void OnDone() override { delete this; }

  void MakeNext() {
    if (post_([this] { SendNext(); })) return;
    this->Finish(ToGrpc(TooManyWait("reads")));
  }
  // The last statement of each path hands this object to gRPC.
  void SendNext() {
    absl::StatusOr<std::string> piece = source_();
    if (!piece.ok() || piece->empty()) return this->Finish(ToGrpc(piece.status()));
    response_.set_piece(*std::move(piece));
    place_.Await();
    this->StartWrite(&response_);
  }

  StreamPlace place_;
  const PostWork post_;
  const PieceSource source_;
  Response response_;
};

}  // namespace noisefloor
