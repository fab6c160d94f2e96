#include "coordinator/store/take_over.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/private_file.h"
#include "common/files/sha256.h"
#include "coordinator/store/database.h"
#include "coordinator/store/home_files.h"
#include "coordinator/store/home_lock.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/term_holder.h"

namespace noisefloor {

namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr uint64_t kMostBytes = 64 << 10;

absl::Status Refuse(std::string message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message);
}

class Successor {
 public:
  Successor(const TakeOverOptions& options, const Clock& clock, FileSystem& files)
      : options_(options), folder_(options.folder, files), clock_(clock), files_(files) {}

  absl::StatusOr<TakenOver> Take();

 private:
  bool HasData() const { return PathExists(DatabasePath(options_.home)); }
  absl::Status LockHome();
  absl::Status ReadMark();
  absl::Status Serve(uint64_t term);
  absl::Status GoOn(const Term& last);
  absl::Status TakeBack(const Term& last);
  absl::Status Begin();
  absl::Status TakeAnew(Term last);
  absl::Status Come(Term last);
  absl::StatusOr<Term> WaitForEnd(Term last, bool fetches);
  absl::Status Fetch();
  absl::Status Empty();
  absl::Status MakeHome(const TermEnd& end);
  absl::Status CheckState(const TermEnd& end) const;
  absl::Status CopyAccess(const TermEnd& end) const;
  absl::Status Claim(uint64_t number);
  absl::Status Others(const Term& term) const;

  const TakeOverOptions& options_;
  const HandoverFolder folder_;
  const Clock& clock_;
  FileSystem& files_;
  std::optional<HomeLock> lock_;
  bool found_ = false;  // A mark in the home.
  TakenOver taken_;
  std::set<std::string> fetched_;  // Files that are in the home, verified and synced.
};

absl::Status Successor::Others(const Term& term) const {
  const std::string by = ToText(term.claim);
  if (term.number > taken_.mark.term && taken_.mark.term > 0) {
    return Refuse(
        fmt::format("{}: was handed over; term {} in {} is that of {}. This home is what "
                    "it was then: remove it, or `noisefloor backup` it",
                    options_.home, term.number, options_.folder, by));
  }
  return Refuse(
      fmt::format("{}: term {} is that of another home ({})", options_.folder, term.number, by));
}

// Of a home that is held, by the one who has the data: it is asked to hand over first.
absl::Status Successor::LockHome() {
  absl::StatusOr<HomeLock> lock = HomeLock::Acquire(options_.home);
  if (lock.ok()) {
    lock_.emplace(*std::move(lock));
    return absl::OkStatus();
  }
  const absl::Status held = lock.status();
  if (!HomeLock::Holder(options_.home)) return held;
  NF_ASSIGN_OR_RETURN(const std::optional<HomeMark> mark, ReadHomeMark(options_.home, files_));
  if (!mark || mark->standing == HomeStanding::kTaking) return held;
  NF_ASSIGN_OR_RETURN(const Term last, folder_.LastTerm());
  if (last.number != mark->term || last.claim.id != mark->id) return held;
  NF_RETURN_IF_ERROR(WaitForEnd(last, /*fetches=*/false).status());
  const absl::Duration give_up = clock_.Steady() + options_.patience;
  while (!lock.ok() && clock_.Steady() < give_up && !options_.stopped()) {
    options_.pause(kLook);
    lock = HomeLock::Acquire(options_.home);
  }
  NF_RETURN_IF_ERROR(lock.status());
  lock_.emplace(*std::move(lock));
  return absl::OkStatus();
}

absl::Status Successor::ReadMark() {
  NF_ASSIGN_OR_RETURN(std::optional<HomeMark> mark, ReadHomeMark(options_.home, files_));
  found_ = mark.has_value();
  taken_.mark = std::move(mark).value_or(HomeMark{.id = options_.chance});
  taken_.mark.folder = options_.folder;
  return absl::OkStatus();
}

absl::Status Successor::Serve(uint64_t term) {
  taken_.mark.standing = HomeStanding::kServing;
  taken_.mark.term = term;
  return WriteHomeMark(options_.home, taken_.mark, files_);
}

absl::Status Successor::Claim(uint64_t number) {
  noisefloor::Claim who = options_.who;
  who.id = taken_.mark.id;
  who.at = clock_.Now();
  NF_ASSIGN_OR_RETURN(const bool ours, folder_.Make(number, who));
  if (ours) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const Term last, folder_.LastTerm());
  return Others(last);
}

// A home with data that no other has.
absl::Status Successor::GoOn(const Term& last) {
  const HomeMark& mark = taken_.mark;
  if (last.number == 0) return Begin();
  if (last.claim.id != mark.id || last.number < mark.term) return Others(last);
  if (last.end) return TakeBack(last);
  return Serve(last.number);
}

// It was handed over, or about to be. While we have its lock, it does not end by another's hand.
absl::Status Successor::TakeBack(const Term& last) {
  const HomeMark& mark = taken_.mark;
  if (last.number == 0) {
    return Refuse(
        fmt::format("{}: was handed over in term {}, of which {} knows nothing: is it the "
                    "right folder?",
                    options_.home, mark.term, options_.folder));
  }
  if (last.claim.id != mark.id || last.number < mark.term) return Others(last);
  if (!last.end) return Serve(last.number);
  NF_RETURN_IF_ERROR(Claim(last.number + 1));
  return Serve(last.number + 1);
}

// Whose claim it is must be known before there is one.
absl::Status Successor::Begin() {
  NF_RETURN_IF_ERROR(CheckDatabaseFile(options_.home));
  if (!found_) {
    if (HasData()) taken_.mark.standing = HomeStanding::kServing;
    NF_RETURN_IF_ERROR(WriteHomeMark(options_.home, taken_.mark, files_));
  }
  NF_RETURN_IF_ERROR(Claim(1));
  return Serve(1);
}

absl::StatusOr<Term> Successor::WaitForEnd(Term last, bool fetches) {
  const uint64_t number = last.number;
  // Of this question: what was answered to another one, of this home too, is none.
  Word want = {.id = options_.chance, .stage = "asks", .problem = "", .beat = 0};
  Word heard;
  absl::Duration heard_at = clock_.Steady();
  options_.says(fmt::format("waits for {} to hand over", ToText(last.claim)));
  while (true) {
    // Written at each look: on a network file system the folder is then looked at anew.
    ++want.beat;
    const absl::Status said = folder_.Want(number, want);
    NF_ASSIGN_OR_RETURN(last, folder_.LastTerm());
    if (last.number != number) return Others(last);
    if (last.end) return last;
    NF_RETURN_IF_ERROR(said);
    const Word answer = folder_.Answer(number).value_or(Word());
    if (answer != heard) heard_at = clock_.Steady();
    heard = answer;
    const bool to_us = answer.id == want.id;
    if (to_us && answer.stage == "fails") {
      return Refuse(fmt::format("{} cannot hand over: {}", ToText(last.claim), answer.problem));
    }
    if (to_us && answer.stage == "copied" && want.stage == "asks") {
      if (fetches) NF_RETURN_IF_ERROR(Fetch());
      want.stage = "ready";
      heard_at = clock_.Steady();
      continue;
    }
    if (clock_.Steady() - heard_at >= options_.patience) break;
    if (options_.stopped()) {
      return MakeError(absl::StatusCode::kCancelled, "stopped before anything was taken over");
    }
    options_.pause(kLook);
  }
  return Refuse(fmt::format(
      "{}: nothing is heard from {}. If it has died, it did not hand over: start it again where "
      "its "
      "home is, with the same --home and --handover, and it goes on; if that home is lost, "
      "`noisefloor restore {} --home=NEW` makes one of its last copy, in a new epoch, for "
      "`noisefloor serve --home=NEW` with another --handover",
      options_.folder, ToText(last.claim), folder_.StatePath()));
}

// Ahead of the end: what cannot be had now is fetched then.
absl::Status Successor::Fetch() {
  return FetchFiles(folder_.StatePath(), options_.home, fetched_, options_.stopped, files_);
}

absl::Status Successor::CheckState(const TermEnd& end) const {
  const std::string path = fmt::format("{}/{}", folder_.StatePath(), kManifestName);
  NF_ASSIGN_OR_RETURN(const std::string found, Sha256File(path, files_));
  if (found == end.manifest_sha256) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   path + ": is not what was handed over; nothing of it is used");
}

// Whole or not at all.
absl::Status Successor::CopyAccess(const TermEnd& end) const {
  const std::string to = options_.home + "/access";
  const std::string aside = to + ".new";
  NF_RETURN_IF_ERROR(files_.RemoveTree(aside));
  NF_RETURN_IF_ERROR(files_.RemoveTree(to));
  if (end.access.empty()) return absl::OkStatus();
  if (mkdir(aside.c_str(), S_IRWXU) != 0) return FileError(aside, "make", errno);
  for (const auto& [name, sha256] : end.access) {
    if (std::ranges::find(kAccessNames, name) == std::end(kAccessNames)) {
      return MakeError(absl::StatusCode::kDataLoss, name + ": is no file of access");
    }
    const std::string path = fmt::format("{}/{}", folder_.AccessPath(), name);
    NF_ASSIGN_OR_RETURN(const std::string content, ReadFile(path, kMostBytes, files_));
    if (Sha256Hex(content) != sha256) {
      return MakeError(absl::StatusCode::kDataLoss, path + ": is not what was handed over");
    }
    NF_RETURN_IF_ERROR(WritePrivateFile(fmt::format("{}/{}", aside, name), content));
  }
  NF_RETURN_IF_ERROR(files_.Rename(aside, to));
  return files_.SyncFolder(options_.home);
}

// The database comes last.
absl::Status Successor::MakeHome(const TermEnd& end) {
  NF_RETURN_IF_ERROR(CheckState(end));
  NF_RETURN_IF_ERROR(CopyAccess(end));
  RestoreOptions options;
  options.same_epoch = true;
  options.held = &fetched_;
  NF_ASSIGN_OR_RETURN(const RestoreResult made,
                      RestoreBackup(folder_.StatePath(), options_.home, clock_, options, files_));
  taken_.came_here = true;
  taken_.step = end.step;
  taken_.missing = made.manifest.missing.size();
  return absl::OkStatus();
}

// From here on the home is one that nobody opens, and it is known of whom the claim will be. A copy
// that was made here before belongs to a term that another has, or was not claimed: it goes.
absl::Status Successor::Empty() {
  NF_RETURN_IF_ERROR(WriteHomeMark(options_.home, taken_.mark, files_));
  NF_RETURN_IF_ERROR(WriteFileAtomically(fmt::format("{}/{}", options_.home, kRestoringName),
                                         "Data that are taken over here are not whole yet.\n",
                                         files_));
  for (const char* ending : {"-wal", "-shm", ""}) {
    NF_RETURN_IF_ERROR(files_.Remove(DatabasePath(options_.home) + ending));
  }
  return absl::OkStatus();
}

// The claim comes when the home is whole: a successor that dies before leaves the term to others.
absl::Status Successor::Come(Term last) {
  NF_RETURN_IF_ERROR(Empty());
  if (!last.end) {
    NF_ASSIGN_OR_RETURN(last, WaitForEnd(std::move(last), /*fetches=*/true));
  }
  options_.says("takes over");
  NF_RETURN_IF_ERROR(MakeHome(*last.end));
  NF_RETURN_IF_ERROR(Claim(last.number + 1));
  return Serve(last.number + 1);
}

// A home without a mark, or whose data were never whole.
absl::Status Successor::TakeAnew(Term last) {
  if (found_ && last.number > 0 && last.claim.id == taken_.mark.id) {
    return Serve(last.number);  // Killed after its claim.
  }
  if (last.number == 0 && found_ && HasData()) {
    return Refuse(
        fmt::format("{}: its data are a copy that was taken over from {}, which has no "
                    "terms any more: another may go on with them",
                    options_.home, options_.folder));
  }
  if (last.number == 0) return Begin();
  if (found_ || !HasData()) return Come(std::move(last));
  return Refuse(
      fmt::format("{}: has data of its own, and those of {} are another home's ({}): "
                  "choose an empty home, or another folder",
                  options_.home, options_.folder, ToText(last.claim)));
}

absl::StatusOr<TakenOver> Successor::Take() {
  NF_RETURN_IF_ERROR(folder_.LastTerm().status());  // Before a home is made.
  NF_RETURN_IF_ERROR(LockHome());
  NF_RETURN_IF_ERROR(ReadMark());
  NF_ASSIGN_OR_RETURN(const Term last, folder_.LastTerm());
  switch (taken_.mark.standing) {
    case HomeStanding::kTaking: NF_RETURN_IF_ERROR(TakeAnew(last)); break;
    case HomeStanding::kServing: NF_RETURN_IF_ERROR(GoOn(last)); break;
    case HomeStanding::kEnding: NF_RETURN_IF_ERROR(TakeBack(last)); break;
  }
  return std::move(taken_);
}

}  // namespace

absl::StatusOr<TakenOver> TakeOver(const TakeOverOptions& options, const Clock& clock,
                                   FileSystem& files) {
  return Successor(options, clock, files).Take();
}

}  // namespace noisefloor
