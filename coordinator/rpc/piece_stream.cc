#include "coordinator/rpc/piece_stream.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>

#include "fmt/format.h"

#include "common/rpc/channel.h"

namespace noisefloor {

namespace {

absl::StatusOr<std::string> NextOf(std::ifstream& file, uint64_t& left) {
  std::string piece(std::min<uint64_t>(left, kPieceBytes), '\0');
  file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  if (static_cast<size_t>(file.gcount()) != piece.size()) {
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("the file ends {} bytes early", left - file.gcount()));
  }
  left -= piece.size();
  return piece;
}

}  // namespace

PieceSource StudyPieces(query::Query& query, const v1::GetStudyRequest& request) {
  struct State {
    std::optional<std::string> text;
    size_t sent = 0;
  };
  // shared: std::function copies what it holds.
  return [&query, request, state = std::make_shared<State>()]() -> absl::StatusOr<std::string> {
    if (!state->text) {
      NF_ASSIGN_OR_RETURN(state->text, query.GetStudy(request));
    }
    const size_t first = state->sent;
    state->sent = std::min(first + kPieceBytes, state->text->size());
    return state->text->substr(first, state->sent - first);
  };
}

PieceSource ArtifactPieces(query::Query& query, const v1::GetArtifactRequest& request) {
  struct State {
    std::ifstream file;
    uint64_t left = 0;
  };
  // shared: std::function copies what it holds.
  return [&query, request, state = std::make_shared<State>()]() -> absl::StatusOr<std::string> {
    if (!state->file.is_open()) {
      NF_ASSIGN_OR_RETURN(const query::ArtifactFile found, query.FindArtifact(request));
      state->file.open(found.path, std::ios::binary);
      state->left = found.size_bytes;
    }
    return NextOf(state->file, state->left);
  };
}

PieceSource WhileProved(const AccessBook& access, std::string_view token, PieceSource source) {
  if (token.empty() || !access.enforced()) return source;
  return [&access, token = std::string(token),
          source = std::move(source)]() -> absl::StatusOr<std::string> {
    NF_RETURN_IF_ERROR(access.Check(token).status());
    return source();
  };
}

}  // namespace noisefloor
