// Sends a long text or a file in pieces, each made on one of query's threads.
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
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

// The next piece, at most kPieceBytes; empty at the end. Called by one thread at a time.
using PieceSource = std::function<absl::StatusOr<std::string>()>;

// The text of a study, made at the first call.
PieceSource StudyPieces(query::Query& query, const v1::GetStudyRequest& request);
// The file of an artifact, found at the first call. DataLoss at the end, after all pieces, when
// they were not what was kept.
PieceSource ArtifactPieces(query::Query& query, const v1::GetArtifactRequest& request);

// The same, until the token proves nobody any more. Without a token: the same.
PieceSource WhileProved(const AccessBook& access, std::string_view token, PieceSource source);

// The same, while somebody waits for it. The call outlives the source.
PieceSource WhileAwaited(const grpc::CallbackServerContext& context, PieceSource source);

// gRPC owns it from construction; it deletes itself in OnDone. One piece in the making or one write
// in flight, never both.
template <typename Response>
class PieceStream final : public grpc::ServerWriteReactor<Response> {
 public:
  PieceStream(query::Query& query, query::Work work, PieceSource source)
      : query_(query), work_(work), source_(std::move(source)) {
    MakeNext();
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status::CANCELLED);
    MakeNext();
  }
  void OnDone() override { delete this; }

  void MakeNext() {
    if (query_.Post(work_, [this] { SendNext(); })) return;
    this->Finish(ToGrpc(TooManyWait("reads")));
  }
  // The last statement of each path hands this object to gRPC.
  void SendNext() {
    work_ = query::Work::kRead;
    absl::StatusOr<std::string> piece = source_();
    if (!piece.ok() || piece->empty()) return this->Finish(ToGrpc(piece.status()));
    response_.set_piece(*std::move(piece));
    this->StartWrite(&response_);
  }

  query::Query& query_;
  query::Work work_;  // Of the next piece: only the first one of a study is long.
  const PieceSource source_;
  Response response_;
};

}  // namespace noisefloor
