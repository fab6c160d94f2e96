#include "worker/daemon/spool.h"

#include <algorithm>
#include <charconv>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

constexpr uint64_t kMaxResultBytes = 64 << 20;
constexpr uint64_t kMaxRecordsBytes = uint64_t{4} << 30;
constexpr std::string_view kHashWord = "sha256 ";

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The last line of a result.
std::string HashLine(std::string_view lines, const std::string& chain) {
  return fmt::format("{}{}\n", kHashWord, Sha256Hex(std::string(lines) + chain));
}

// Whether the files themselves are wrong, and not the moment.
bool IsUnusable(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument ||
         status.code() == absl::StatusCode::kNotFound;
}

}  // namespace

Spool::Spool(std::string folder, uint64_t limit_bytes, FileSystem& files)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes), files_(files) {}

std::string Spool::FolderOf(LeaseId lease) const {
  return fmt::format("{}/{}", folder_, lease.value);
}

absl::StatusOr<RecoveredSpool> Spool::Recover() {
  NF_RETURN_IF_ERROR(CreateDirectories(folder_, files_));
  NF_RETURN_IF_ERROR(files_.SyncFolder(ParentFolder(folder_)));  // Whoever made it.
  NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, files_.List(folder_));
  std::vector<LeaseId> leases;
  for (const FolderEntry& entry : entries) {
    if (const auto number = ParseNumber(entry.name)) leases.push_back(LeaseId{*number});
  }
  std::sort(leases.begin(), leases.end());
  RecoveredSpool found;
  for (const LeaseId lease : leases) {
    absl::StatusOr<SpooledAttempt> attempt = RecoverOne(lease);
    if (attempt.ok()) {
      found.attempts.push_back(*std::move(attempt));
      continue;
    }
    const bool unusable = IsUnusable(attempt.status());
    found.losses.push_back({lease, attempt.status(), unusable});
    if (unusable) {
      Remove(lease);
    } else {
      Close(lease);
    }
  }
  return found;
}

absl::StatusOr<SpooledAttempt> Spool::RecoverOne(LeaseId lease) {
  const std::string folder = FolderOf(lease);
  NF_ASSIGN_OR_RETURN(const std::string member, ReadFile(folder + "/member", 1000, files_));
  const size_t space = member.find(' ');
  if (space == std::string::npos) return InvalidInput(folder + "/member: expected two words");
  const auto number = ParseNumber(std::string_view(member).substr(space + 1));
  if (!number) return InvalidInput(folder + "/member: expected the number of an attempt");
  SpooledAttempt attempt{lease, member.substr(0, space), static_cast<uint32_t>(*number), {}};
  Entry& entry = entries_[lease];
  NF_RETURN_IF_ERROR(OpenRecords(lease, entry));
  NF_RETURN_IF_ERROR(ReadResult(attempt, entry));
  if (!attempt.result) return attempt;
  NF_RETURN_IF_ERROR(files_.SyncFolder(folder));  // The process may have ended before it could.
  for (const Artifact& artifact : attempt.result->artifacts) {
    entry.charged_bytes += artifact.size;
    used_bytes_ += artifact.size;
  }
  return attempt;
}

// Of an attempt whose records are read; leaves it without a result when there is none.
absl::Status Spool::ReadResult(SpooledAttempt& attempt, const Entry& entry) const {
  const std::string path = FolderOf(attempt.lease) + "/result";
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxResultBytes, files_);
  if (text.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  NF_RETURN_IF_ERROR(text.status());
  const size_t end = text->rfind(kHashWord);
  const bool begins_line = end != std::string::npos && end > 0 && (*text)[end - 1] == '\n';
  if (!begins_line) return InvalidInput(path + ": its last line is no hash");
  const std::string_view lines = std::string_view(*text).substr(0, end);
  if (text->substr(end) != HashLine(lines, entry.chain)) {
    return InvalidInput(path + ": the result or the records have not the hash they were kept with");
  }
  const absl::StatusOr<AttemptResult> result = ResultFromText(lines);
  if (!result.ok()) return Annotate(result.status(), path);
  attempt.result = *result;
  attempt.result->record_batches = entry.ends.size();
  return absl::OkStatus();
}

// Opens the file and finds the batches in it; what follows the last whole line is cut off.
absl::Status Spool::OpenRecords(LeaseId lease, Entry& entry) {
  const std::string path = FolderOf(lease) + "/records";
  NF_ASSIGN_OR_RETURN(entry.records, files_.OpenToAppend(path));
  NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxRecordsBytes, files_));
  size_t begin = 0;
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', begin)) {
    entry.chain = Sha256Hex(entry.chain + text.substr(begin, at - begin));
    begin = at + 1;
    entry.ends.push_back(begin);
  }
  const uint64_t whole = entry.ends.empty() ? 0 : entry.ends.back();
  NF_RETURN_IF_ERROR(entry.records->Truncate(whole));
  entry.charged_bytes += whole;
  used_bytes_ += whole;
  return absl::OkStatus();
}

absl::Status Spool::Begin(LeaseId lease, const std::string& member, uint32_t attempt) {
  const std::string folder = FolderOf(lease);
  if (entries_.contains(lease)) {
    return MakeError(absl::StatusCode::kAlreadyExists, folder + ": the lease has an attempt");
  }
  if (used_bytes_ >= limit_bytes_) {
    Entry none;
    return Charge(none, 0);
  }
  absl::Status made = MakeFolders(lease, member, attempt);
  if (made.ok()) return made;
  Close(lease);
  (void)files_.RemoveTree(folder);  // What is left of it is removed by the next process.
  return made;
}

// The member's file comes last: its commit syncs the folder with all that is in it.
absl::Status Spool::MakeFolders(LeaseId lease, const std::string& member, uint32_t attempt) {
  const std::string folder = FolderOf(lease);
  NF_RETURN_IF_ERROR(files_.RemoveTree(folder));
  NF_RETURN_IF_ERROR(CreateDirectories(folder, files_));
  NF_RETURN_IF_ERROR(files_.MakeFolder(folder + "/work").status());
  NF_RETURN_IF_ERROR(OpenRecords(lease, entries_[lease]));
  return WriteFileAtomically(folder + "/member", fmt::format("{} {}", member, attempt), files_);
}

absl::Status Spool::Charge(Entry& entry, uint64_t bytes) {
  if (used_bytes_ + bytes >= limit_bytes_) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     fmt::format("the spool {} is full: {} bytes wait for the coordinator, at most "
                                 "{} may",
                                 folder_, used_bytes_, limit_bytes_));
  }
  entry.charged_bytes += bytes;
  used_bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status Spool::CheckRoom(LeaseId lease) const {
  constexpr size_t kProbeBytes = size_t{1} << 16;
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> probe,
                      files_.CreateAside(FolderOf(lease) + "/room"));
  absl::Status fits = probe->Append(std::string(kProbeBytes, '\0'));
  (void)files_.Remove(probe->path());
  return fits;
}

absl::Status Spool::AppendRecords(LeaseId lease, uint64_t sequence, std::string_view line) {
  const auto it = entries_.find(lease);
  if (it == entries_.end() || sequence != it->second.ends.size() + 1) {
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("lease {}: record batch {} is not the next", lease.value, sequence));
  }
  Entry& entry = it->second;
  NF_RETURN_IF_ERROR(Charge(entry, line.size() + 1));
  const uint64_t begin = entry.ends.empty() ? 0 : entry.ends.back();
  if (absl::Status kept = entry.records->Append(std::string(line) + "\n"); !kept.ok()) {
    (void)entry.records->Truncate(begin);  // Else what fitted would become part of the next line.
    return kept;
  }
  entry.ends.push_back(begin + line.size() + 1);
  entry.chain = Sha256Hex(entry.chain + std::string(line));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Spool::ReadRecords(LeaseId lease, uint64_t sequence) const {
  const auto it = entries_.find(lease);
  if (it == entries_.end() || sequence == 0 || sequence > it->second.ends.size()) {
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("lease {}: no record batch {}", lease.value, sequence));
  }
  const std::vector<uint64_t>& ends = it->second.ends;
  const uint64_t begin = sequence == 1 ? 0 : ends[sequence - 2];
  std::string line(ends[sequence - 1] - begin, '\0');
  NF_RETURN_IF_ERROR(it->second.records->ReadAt(begin, line));
  line.pop_back();  // The newline.
  return line;
}

uint64_t Spool::Batches(LeaseId lease) const {
  const auto it = entries_.find(lease);
  return it == entries_.end() ? 0 : it->second.ends.size();
}

absl::Status Spool::Finish(LeaseId lease, const AttemptResult& result) {
  const auto it = entries_.find(lease);
  if (it == entries_.end()) {
    return MakeError(absl::StatusCode::kNotFound, fmt::format("lease {}: no attempt", lease.value));
  }
  it->second.sync.Update(it->second.records->Sync());
  NF_RETURN_IF_ERROR(it->second.sync);
  for (const Artifact& artifact : result.artifacts) {
    it->second.charged_bytes += artifact.size;  // It lies there anyway: charged, never refused.
    used_bytes_ += artifact.size;
  }
  const std::string lines = ResultToText(result);
  return WriteFileAtomically(FolderOf(lease) + "/result", lines + HashLine(lines, it->second.chain),
                             files_);
}

void Spool::Close(LeaseId lease) {
  const auto it = entries_.find(lease);
  if (it == entries_.end()) return;
  used_bytes_ -= it->second.charged_bytes;
  entries_.erase(it);
}

void Spool::Remove(LeaseId lease) {
  Close(lease);
  // Without its member file the folder does not count, and that must be on disk before anything
  // else of it goes: half an attempt would be told as one that was cut off. What cannot be removed
  // now is removed when the next process recovers.
  const std::string folder = FolderOf(lease);
  if (!files_.Remove(folder + "/member").ok()) return;
  if (!files_.SyncFolder(folder).ok()) return;
  (void)files_.RemoveTree(folder);
}

}  // namespace noisefloor
