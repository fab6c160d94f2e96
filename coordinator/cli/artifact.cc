#include "coordinator/cli/artifact.h"

#include <filesystem>

#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/terminal_text.h"

namespace noisefloor::cli {

namespace {

constexpr absl::Duration kStreamTimeout = absl::Minutes(30);

v1::GetStudyRequest StudyRequest(uint64_t sweep, v1::GetStudyRequest::Form form) {
  v1::GetStudyRequest request;
  request.set_sweep_id(sweep);
  request.set_form(form);
  return request;
}

absl::Status GetStudy(Connection& connection, const v1::GetStudyRequest& request,
                      const TakePiece& take) {
  grpc::ClientContext context;
  SetDeadline(context, kStreamTimeout);
  const auto reader = connection.stub().GetStudy(&context, request);
  v1::GetStudyResponse piece;
  const absl::Status read = ReadPieces(*reader, piece, take);
  if (!read.ok()) context.TryCancel();
  return connection.Named(read);
}

absl::StatusOr<std::string> TextOf(Connection& connection, const v1::GetStudyRequest& request) {
  std::string text;
  NF_RETURN_IF_ERROR(GetStudy(connection, request, [&](std::string_view piece) {
    text.append(piece);
    return absl::OkStatus();
  }));
  return text;
}

}  // namespace

absl::Status CheckMember(const std::string& text) {
  if (ParseMemberId(text)) return absl::OkStatus();
  return InvalidInput(fmt::format("member {}: expected an id such as s1c2r0", text));
}

absl::Status GetArtifact(Connection& connection, const std::string& member, const std::string& kind,
                         const TakePiece& take) {
  grpc::ClientContext context;
  SetDeadline(context, kStreamTimeout);
  v1::GetArtifactRequest request;
  request.set_member(member);
  request.set_kind(kind);
  const auto reader = connection.stub().GetArtifact(&context, request);
  v1::GetArtifactResponse piece;
  const absl::Status read = ReadPieces(*reader, piece, take);
  if (!read.ok()) context.TryCancel();
  return connection.Named(read);
}

absl::Status WriteArtifact(Connection& connection, const std::string& member,
                           const std::string& kind, const std::string& sha256,
                           const std::string& path) {
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path));
  Sha256 hash;
  NF_RETURN_IF_ERROR(GetArtifact(connection, member, kind, [&](std::string_view piece) {
    hash.Update(piece);
    return writer.Write(piece);
  }));
  const std::string got = hash.Hex();
  if (!sha256.empty() && got != sha256) {
    return MakeError(
        absl::StatusCode::kDataLoss,
        fmt::format("{} of {}: expected SHA-256 {}, got {}", kind, member, sha256, got));
  }
  return writer.Commit();
}

namespace {

// Tables hold what users and trainers wrote; only their colours may reach the terminal.
absl::Status PrintTables(Connection& connection, const Context& context,
                         v1::GetStudyRequest request) {
  request.set_colour(context.Colour());
  request.set_columns(context.out_columns);
  NF_ASSIGN_OR_RETURN(const std::string text, TextOf(connection, request));
  if (request.colour()) {
    WriteColoured(context.out, text);
  } else {
    context.out << text;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintStudy(Connection& connection, const Context& context, uint64_t sweep,
                        v1::GetStudyRequest::Form form) {
  const v1::GetStudyRequest request = StudyRequest(sweep, form);
  if (form == v1::GetStudyRequest::FORM_TABLES) return PrintTables(connection, context, request);
  NF_ASSIGN_OR_RETURN(const std::string text, ReadStudy(connection, sweep, form));
  PrintData(context, text);
  return absl::OkStatus();
}

namespace {

// Where a file of that name is replaced: the file that links lead to, never a device or a pipe.
absl::StatusOr<std::string> FileToReplace(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return InvalidInput(path + ": is a folder, not a file");
  if (type == fs::file_type::character || type == fs::file_type::block ||
      type == fs::file_type::fifo || type == fs::file_type::socket) {
    return InvalidInput(path + ": is a device or a pipe, not a file");
  }
  if (!fs::is_symlink(path, error)) return path;
  return fs::weakly_canonical(path, error).string();
}

absl::StatusOr<AtomicFileWriter> OpenStudyFile(const std::string& name) {
  NF_ASSIGN_OR_RETURN(const std::string path, FileToReplace(name));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) NF_RETURN_IF_ERROR(CreateDirectories(folder));
  return AtomicFileWriter::Open(path);
}

}  // namespace

absl::Status WriteStudy(Connection& connection, uint64_t sweep, v1::GetStudyRequest::Form form,
                        const std::string& name) {
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, OpenStudyFile(name));
  NF_RETURN_IF_ERROR(GetStudy(connection, StudyRequest(sweep, form),
                              [&](std::string_view piece) { return writer.Write(piece); }));
  return writer.Commit();
}

absl::Status CheckStudyPath(const std::string& path) { return FileToReplace(path).status(); }

absl::Status WriteStudyText(const std::string& path, std::string_view text) {
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, OpenStudyFile(path));
  NF_RETURN_IF_ERROR(writer.Write(text));
  return writer.Commit();
}

absl::StatusOr<std::string> ReadStudy(Connection& connection, uint64_t sweep,
                                      v1::GetStudyRequest::Form form) {
  return TextOf(connection, StudyRequest(sweep, form));
}

absl::StatusOr<bool> WritePage(Connection& connection, const Context& context, uint64_t sweep,
                               const std::string& path) {
  const absl::Status status = WriteStudy(connection, sweep, v1::GetStudyRequest::FORM_PAGE, path);
  if (status.ok()) return true;
  if (!absl::IsFailedPrecondition(status)) return status;
  context.err << "no page: " << Message(status) << "\n";
  return false;
}

}  // namespace noisefloor::cli
