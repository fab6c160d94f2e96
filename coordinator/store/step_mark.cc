#include "coordinator/store/step_mark.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "SQLiteCpp/Exception.h"
#include "SQLiteCpp/Statement.h"

#include "common/files/checksum.h"
#include "coordinator/store/database.h"

namespace noisefloor {

namespace {

// The number, lowest byte first, and the first half of its checksum: within one sector, so that
// it is there as a whole or not at all.
constexpr size_t kNumberBytes = 8;
constexpr size_t kMarkBytes = 16;
using Bytes = std::array<char, kMarkBytes>;

std::string PathOf(const std::string& home) { return fmt::format("{}/{}", home, kStepMarkName); }

Bytes BytesOf(uint64_t step) {
  Bytes bytes{};
  for (size_t i = 0; i < kNumberBytes; ++i) bytes[i] = static_cast<char>(step >> (8 * i));
  const Checksum sum = ChecksumOf(std::as_bytes(std::span(bytes).first<kNumberBytes>()));
  for (size_t i = kNumberBytes; i < kMarkBytes; ++i) {
    bytes[i] = static_cast<char>(sum[i - kNumberBytes]);
  }
  return bytes;
}

uint64_t NumberIn(const Bytes& bytes) {
  uint64_t number = 0;
  for (size_t i = kNumberBytes; i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return number;
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> ReadStepMark(const std::string& home, FileSystem& files) {
  const auto file = files.OpenToRead(PathOf(home));
  if (absl::IsNotFound(file.status())) return std::nullopt;
  NF_RETURN_IF_ERROR(file.status());
  Bytes bytes{};
  NF_ASSIGN_OR_RETURN(const size_t count, (*file)->Read(bytes));
  const uint64_t step = NumberIn(bytes);
  if (count != kMarkBytes || bytes != BytesOf(step)) return std::nullopt;
  return step;
}

uint64_t LastStepOf(SQLite::Database& database) {
  return static_cast<uint64_t>(database.execAndGet("SELECT step FROM step").getInt64());
}

absl::Status CheckStepMark(const std::string& home, std::optional<uint64_t> mark,
                           SQLite::Database& database) {
  if (!mark) return absl::OkStatus();
  const uint64_t last = LastStepOf(database);
  if (last >= *mark) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kDataLoss,
      fmt::format("{}: ends with step {}, though step {} was kept: the end of its log of changes "
                  "is damaged, or an older copy was put in its place. What was acknowledged since "
                  "is not in it: restore a backup, or put the right database back; to go on "
                  "without it, remove {}",
                  DatabasePath(home), last, *mark, PathOf(home)));
}

absl::Status CheckStepMark(const std::string& home, FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const std::optional<uint64_t> mark, ReadStepMark(home, files));
  if (!mark) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(DatabasePath(home)));
  try {
    return CheckStepMark(home, mark, *database);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + DatabasePath(home));
  }
}

absl::Status StepMark::Write(uint64_t step) {
  if (file_ == nullptr) {
    NF_ASSIGN_OR_RETURN(file_, files_.OpenToOverwrite(PathOf(home_)));
  }
  const Bytes bytes = BytesOf(step);
  return file_->WriteAt(0, {bytes.data(), bytes.size()});
}

}  // namespace noisefloor
