#include "coordinator/store/term_holder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "SQLiteCpp/Exception.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/private_file.h"
#include "common/files/sha256.h"
#include "coordinator/store/database.h"
#include "coordinator/store/home_lock.h"
#include "coordinator/store/step_mark.h"

namespace noisefloor {

namespace {

constexpr absl::Duration kBeat = absl::Seconds(1);
constexpr uint64_t kMostBytes = 64 << 10;

absl::StatusOr<uint64_t> LastStepIn(const std::string& home) {
  NF_ASSIGN_OR_RETURN(const auto database, OpenForReading(DatabasePath(home)));
  try {
    return LastStepOf(*database);
  } catch (const SQLite::Exception& error) {
    return ToStatus(error, "reading " + DatabasePath(home));
  }
}

}  // namespace

void TermHolder::Tell(const std::string& stage, const std::string& problem) {
  const absl::Duration now = settings_.clock.Steady();
  if (stage == told_.stage && problem == told_.problem && now - told_at_ < kBeat) return;
  told_.stage = stage;
  told_.problem = problem;
  ++told_.beat;
  told_at_ = now;
  // A successor that hears nothing waits a while, and leaves.
  (void)settings_.folder.Tell(settings_.mark.term, told_);
}

absl::StatusOr<BackupManifest> TermHolder::MakeState() {
  BackupOptions options;
  options.version = settings_.version;
  options.prune = true;
  options.progress = [this](const BackupProgress&) { Tell(told_.stage); };
  if (!ends_) options.stopped = settings_.stopped;
  NF_ASSIGN_OR_RETURN(
      const BackupResult made,
      MakeBackup(settings_.home, settings_.folder.StatePath(), settings_.clock, options, files_));
  return made.manifest;
}

absl::Status TermHolder::CopyAhead(const Word& wanted) {
  told_ = {.id = wanted.id};
  beat_ = wanted.beat;
  Tell("copies");
  const absl::Status made = MakeState().status();
  if (absl::IsCancelled(made)) return absl::OkStatus();  // Our own end has come: see Finish.
  if (made.ok()) {
    Tell("copied");
  } else {
    Tell("fails", Message(made));
  }
  return made;
}

absl::StatusOr<bool> TermHolder::SuccessorIsReady() {
  const std::optional<Word> wanted = settings_.folder.Wanted(settings_.mark.term);
  if (!wanted) return false;
  if (wanted->id != told_.id) {
    NF_RETURN_IF_ERROR(CopyAhead(*wanted));
    return false;
  }
  // One that has died since says nothing new, whatever it was ready for.
  if (wanted->beat == beat_ || told_.stage != "copied") return false;
  beat_ = wanted->beat;
  if (wanted->stage == "ready") return true;
  Tell("copied");
  return false;
}

absl::StatusOr<std::map<std::string, std::string>> TermHolder::CopyAccess() const {
  std::map<std::string, std::string> copied;
  const std::string from = settings_.home + "/access/";
  const std::string to = settings_.folder.AccessPath();
  for (const std::string_view name : kAccessNames) {
    const absl::StatusOr<std::string> content = ReadFile(from + std::string(name), kMostBytes);
    if (absl::IsNotFound(content.status()))
      continue;  // No access, or a key that is kept elsewhere.
    NF_RETURN_IF_ERROR(content.status());
    NF_RETURN_IF_ERROR(CreateDirectories(to));
    (void)chmod(to.c_str(), S_IRWXU);  // The files themselves are their owner's alone.
    NF_RETURN_IF_ERROR(WritePrivateFile(fmt::format("{}/{}", to, name), *content));
    copied[std::string(name)] = Sha256Hex(*content);
  }
  return copied;
}

absl::StatusOr<TermEnd> TermHolder::WriteEverything() {
  NF_RETURN_IF_ERROR(MakeState().status());
  TermEnd end;
  end.at = settings_.clock.Now();
  NF_ASSIGN_OR_RETURN(end.step, LastStepIn(settings_.home));
  NF_ASSIGN_OR_RETURN(
      end.manifest_sha256,
      Sha256File(fmt::format("{}/{}", settings_.folder.StatePath(), kManifestName), files_));
  NF_ASSIGN_OR_RETURN(end.access, CopyAccess());
  return end;
}

absl::Status TermHolder::FinishUnserved() {
  NF_ASSIGN_OR_RETURN(const HomeLock lock, HomeLock::Acquire(settings_.home));
  return Finish();
}

absl::Status TermHolder::Finish() {
  ends_ = true;
  Tell("ends");
  // From here on the home is served again only by one that has looked into the folder.
  settings_.mark.standing = HomeStanding::kEnding;
  NF_RETURN_IF_ERROR(WriteHomeMark(settings_.home, settings_.mark, files_));
  absl::StatusOr<TermEnd> end = WriteEverything();
  if (end.ok()) return settings_.folder.End(settings_.mark.term, *end);
  Tell("fails", Message(end.status()));
  settings_.mark.standing = HomeStanding::kServing;
  (void)WriteHomeMark(settings_.home, settings_.mark, files_);
  return end.status();
}

}  // namespace noisefloor
