// The folder through which a coordinator hands its data over to its successor on another machine,
// and the mark of a home that takes part. Both see the folder; each has its home on its own disk.
//
//   DIR/state/              the data, as a backup (backup.h)
//   DIR/access/             the files of HOME/access, readable by their owner only
//   DIR/term-7/claim.json   who has the data during term 7: there with its folder, by one rename
//   DIR/term-7/wanted.json  what a successor that waits is at
//   DIR/term-7/answer.json  what the one of the claim does for it
//   DIR/term-7/end.json     term 7 is over, and all of DIR/state is its last state: written last
//
// Whoever has claimed a term is the only one who writes the data, and the only one who can end it;
// the next term can be claimed when this one is over. Terms that were followed are removed, but for
// the one before the last. HOME/noisefloor.handover says which term a home has, so that one that
// was handed over is not served again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

inline constexpr std::string_view kHomeMarkName = "noisefloor.handover";

// What a home is to its folder.
enum class HomeStanding : uint8_t {
  kTaking,   // A successor's: its data are not there, or not all of them.
  kServing,  // It has the data, and nobody else.
  kEnding,   // It was handed over, or was about to be: the folder says which.
};

struct HomeMark {
  HomeStanding standing = HomeStanding::kTaking;
  std::string folder;
  uint64_t term = 0;  // 0: none yet.
  std::string id;     // Of the home, in its claims: chance.
};

// Nothing: the home takes no part. DataLoss: it cannot be understood.
absl::StatusOr<std::optional<HomeMark>> ReadHomeMark(const std::string& home,
                                                     FileSystem& files = LocalFileSystem());
// On disk when OK.
absl::Status WriteHomeMark(const std::string& home, const HomeMark& mark,
                           FileSystem& files = LocalFileSystem());

// FailedPrecondition, saying what to do, when the home is or may be another coordinator's: it was
// handed over, or its data are not whole yet. Does not look into the folder.
absl::Status CheckHandedOver(const std::string& home, FileSystem& files = LocalFileSystem());

// Who has a term.
struct Claim {
  std::string id;
  std::string host;
  int64_t process = 0;
  std::string home;
  absl::Time at;
};
// "box, process 1234, /local/study, since 2026-11-24 23:15:00 UTC"
std::string ToText(const Claim& claim);

struct TermEnd {
  uint64_t step = 0;                          // The last one of the data.
  std::string manifest_sha256;                // Of DIR/state/backup.json, which names the rest.
  std::map<std::string, std::string> access;  // Files in DIR/access, and their SHA-256.
  absl::Time at;
};

struct Term {
  uint64_t number = 0;  // 0: there is none.
  Claim claim;
  std::optional<TermEnd> end;
};

// What the two say to each other while a term lasts. Hints: what is decided, claim and end decide.
struct Word {
  std::string id;     // Of the successor's question, in both directions.
  std::string stage;  // Of a successor "asks", "ready"; to it "copies", "copied", "ends", "fails".
  std::string problem;  // Of "fails".
  uint64_t beat = 0;    // One more each time: a sign of life.
  friend bool operator==(const Word&, const Word&) = default;
};

// Any thread; several machines. Has no state but the path.
class HandoverFolder {
 public:
  explicit HandoverFolder(std::string path, FileSystem& files = LocalFileSystem())
      : path_(std::move(path)), files_(&files) {}

  const std::string& path() const { return path_; }
  std::string StatePath() const { return path_ + "/state"; }
  std::string AccessPath() const { return path_ + "/access"; }

  // FailedPrecondition when the folder is not there: it is not made, since it may be the mount that
  // is missing. DataLoss: a term that cannot be understood.
  absl::StatusOr<Term> LastTerm() const;

  // True: `number`, the term after LastTerm, is now and durably that of `claim`, or was already.
  // False: another has it. An error leaves it open; the same claim can be made again.
  absl::StatusOr<bool> Make(uint64_t number, const Claim& claim) const;
  // Durable when OK. After an error it may be over all the same: LastTerm tells.
  absl::Status End(uint64_t number, const TermEnd& end) const;
  // Removes the terms below `number`. Never the last one: it says who has the data.
  absl::Status Forget(uint64_t number) const;

  // Nothing: nobody has said anything that can be understood.
  std::optional<Word> Wanted(uint64_t term) const { return Read(term, "wanted.json"); }
  std::optional<Word> Answer(uint64_t term) const { return Read(term, "answer.json"); }
  absl::Status Want(uint64_t term, const Word& word) const {
    return Say(term, "wanted.json", word);
  }
  absl::Status Tell(uint64_t term, const Word& word) const {
    return Say(term, "answer.json", word);
  }

 private:
  std::string FolderOf(uint64_t term) const;
  absl::StatusOr<Term> TermOf(uint64_t number) const;
  std::optional<Word> Read(uint64_t term, std::string_view name) const;
  absl::Status Say(uint64_t term, std::string_view name, const Word& word) const;

  std::string path_;
  FileSystem* files_;
};

}  // namespace noisefloor
