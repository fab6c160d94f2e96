#include "coordinator/rpc/piece_stream.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "common/files/file_system.h"
#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

namespace {

struct SentFile {
  query::ArtifactFile about;
  std::unique_ptr<ReadableFile> file;  // None before the first piece.
  uint64_t left = 0;
  Sha256 hash;  // Of what was sent.
};

// What was sent already cannot be taken back: who reads learns at the end that it was wrong.
absl::StatusOr<std::string> NextOf(SentFile& sent) {
  std::string piece(std::min<uint64_t>(sent.left, kPieceBytes), '\0');
  NF_ASSIGN_OR_RETURN(const size_t got, sent.file->Read(piece));
  if (got != piece.size()) {
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("{} ends {} bytes early", sent.about.path, sent.left - got));
  }
  sent.left -= piece.size();
  sent.hash.Update(piece);
  if (piece.empty() && sent.hash.Hex() != sent.about.sha256) {
    return MakeError(
        absl::StatusCode::kDataLoss,
        fmt::format("{} is damaged: its content is not what was kept", sent.about.path));
  }
  return piece;
}

}  // namespace

PostWork PostStudy(query::Query& query) {
  return [&query, next = query::Work::kStudy](std::function<void()> work) mutable {
    return query.Post(std::exchange(next, query::Work::kRead), std::move(work));
  };
}

PostWork PostRead(query::Query& query) {
  return [&query](std::function<void()> work) {
    return query.Post(query::Work::kRead, std::move(work));
  };
}

PieceSource StudyPieces(query::Query& query, const v1::GetStudyRequest& request) {
  struct State {
    std::optional<std::string> text;
    size_t sent = 0;
  };
  // shared: std::function copies what it holds.
  return [&query, request, state = std::make_shared<State>()]() -> absl::StatusOr<std::string> {
    if (!state->text) {
      NF_ASSIGN_OR_RETURN(const query::StudyQuestion question, QuestionFrom(request));
      NF_ASSIGN_OR_RETURN(state->text, query.GetStudy(question));
    }
    const size_t first = state->sent;
    state->sent = std::min(first + kPieceBytes, state->text->size());
    return state->text->substr(first, state->sent - first);
  };
}

PieceSource ArtifactPieces(query::Query& query, const v1::GetArtifactRequest& request) {
  // shared: std::function copies what it holds.
  return [&query, request, sent = std::make_shared<SentFile>()]() -> absl::StatusOr<std::string> {
    if (sent->file == nullptr) {
      NF_ASSIGN_OR_RETURN(const MemberId member, MemberFrom(request.member()));
      NF_ASSIGN_OR_RETURN(sent->about, query.FindArtifact(member, request.kind()));
      NF_ASSIGN_OR_RETURN(sent->file, LocalFileSystem().OpenToRead(sent->about.path));
      sent->left = sent->about.size_bytes;
    }
    return NextOf(*sent);
  };
}

PieceSource WhileProved(const AccessBook& access, std::string_view token, PieceSource source) {
  if (!access.Asks(token)) return source;
  return [&access, token = std::string(token),
          source = std::move(source)]() -> absl::StatusOr<std::string> {
    NF_RETURN_IF_ERROR(access.Check(token).status());
    return source();
  };
}

PieceSource WhileAwaited(const grpc::CallbackServerContext& context, PieceSource source) {
  return [&context, source = std::move(source)]() -> absl::StatusOr<std::string> {
    NF_RETURN_IF_ERROR(StillAwaited(context));
    return source();
  };
}

}  // namespace noisefloor
