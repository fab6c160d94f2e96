// A disk in memory that fails where a test says and loses power when a test says.
//
// It knows two things of every file and folder: what a program sees, and what is on disk. Content
// gets there by a sync of the file, entries by a sync of their folder, nothing else does. What was
// written and not synced is on its way; a loss of power keeps none of it, all of it, or some of it:
// sectors of 512 bytes and single entries, drawn from a seed. A sync that fails drops what was on
// its way, though programs still see it: a later sync says yes and does not bring it back, as
// Linux does since its page cache forgets what it could not write. (Entries it usually remembers,
// or takes no more writes at all; KeepEntriesOfFailedSyncs.)
//
// Every change and every sync is one operation and has a number, from 0; reading has none. One
// thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/files/file_system.h"
#include "tests/simulation/chance.h"

namespace noisefloor {

class ModelDisk final : public FileSystem {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  // What is on its way when power goes.
  enum class Survival : uint8_t { kNothing, kEverything, kSome };

  ModelDisk();  // With the folder "/".

  // --- What shall go wrong ---

  // From this operation on nothing works, reading neither.
  void LosePowerAt(int64_t operation) { power_lost_at_ = operation; }
  // This operation fails with EIO, ENOSPC, ...; `lasting`: all from it on.
  void FailAt(int64_t operation, int error_number, bool lasting);
  void FailNever() { fail_at_ = kNever; }
  // A later sync of a folder brings what a failed one did not.
  void KeepEntriesOfFailedSyncs() { drops_entries_ = false; }

  bool has_power() const { return has_power_; }
  int64_t operations() const { return operations_; }
  // "sync /home/x", one for each.
  const std::vector<std::string>& history() const { return history_; }

  // --- What is there afterwards ---

  // What the next process finds when this one was killed: everything that was seen.
  ModelDisk AfterKill() const;
  // What the machine finds when power is back.
  ModelDisk AfterPowerLoss(Survival survival, uint64_t seed = 0) const;

  // --- FileSystem ---

  absl::StatusOr<FileInfo> Inspect(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const std::string& path) override;
  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToAppend(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToOverwrite(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateAside(const std::string& path) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status RemoveTree(const std::string& path) override;
  absl::StatusOr<bool> MakeFolder(const std::string& path) override;
  absl::Status SyncFolder(const std::string& path) override;

  // --- Files by number, for SQLite (model_vfs.h). A number stays good after the file's removal ---

  absl::StatusOr<int> Open(const std::string& path, bool create);
  absl::Status Read(int file, uint64_t offset_bytes, std::span<char> into) const;  // Exactly.
  absl::Status Write(int file, uint64_t offset_bytes, std::string_view bytes);
  absl::Status Truncate(int file, uint64_t size_bytes);
  absl::Status Sync(int file);
  uint64_t SizeOf(int file) const { return nodes_.at(file).content.size(); }

 private:
  using Entries = std::map<std::string, int, std::less<>>;
  struct Change {  // Of content: a truncation without bytes.
    uint64_t offset_bytes = 0;
    std::optional<std::string> bytes;
  };
  struct Move {  // Of entries, at once: the one of `gone` goes, `name` leads to `node`, or nowhere.
    std::string name;
    std::optional<int> node;
    std::string gone;
  };
  struct Node {
    bool is_folder = false;
    std::string path;             // As it was made; for the history.
    std::string content;          // What is seen.
    std::string synced;           // What is on disk.
    std::vector<Change> changes;  // What is on its way.
    Entries entries;
    Entries synced_entries;
    std::vector<Move> moves;
  };

  static void Apply(const Change& change, std::string& content);
  static void Apply(const Move& move, Entries& entries);
  static void Settle(Node& node, Survival survival, test::Chance& chance);

  // Counts the operation; an error when it shall fail or there is no power.
  absl::Status Begin(const std::string& what, const std::string& path);
  absl::Status CheckPower(const std::string& path) const;
  std::optional<int> Find(const std::string& path) const;
  absl::StatusOr<int> FindFolder(const std::string& path) const;
  int Make(const std::string& path, bool is_folder);
  void Do(int folder, Move move);
  absl::Status RemoveNode(const std::string& path, int node);

  std::map<int, Node> nodes_;
  int last_node_ = 0;
  int asides_ = 0;
  bool has_power_ = true;
  int64_t operations_ = 0;
  int64_t power_lost_at_ = kNever;
  int64_t fail_at_ = kNever;
  int fail_error_ = 0;
  bool fail_lasting_ = false;
  bool drops_entries_ = true;
  std::vector<std::string> history_;
};

}  // namespace noisefloor
