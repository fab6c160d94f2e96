#include "coordinator/rpc/garbage.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/log/log.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/convert.h"
#include "coordinator/store/derived_files.h"

namespace noisefloor {

namespace {

constexpr size_t kFilesAtOnce = 256;
constexpr absl::Duration kLookAgain = absl::Seconds(5);
constexpr absl::Duration kCountUnusedAgain = absl::Minutes(5);
constexpr const char* kDatabaseFiles[] = {"/noisefloor.db", "/noisefloor.db-wal"};

absl::StatusOr<query::Retention> RetentionOf(const v1::CollectGarbageRequest& request,
                                             absl::Time now) {
  query::Retention retention;
  for (const std::string& kind : request.kinds()) {
    if (kind.empty() || kind.size() > kMaxKind) {
      return InvalidInput(
          fmt::format("kinds: expected 1 to {} bytes, got {}", kMaxKind, kind.size()));
    }
    if (query::IsOfReports(kind)) {
      return InvalidInput(fmt::format(
          "kinds: {} are what reports are made of; they go only with their sweep", kind));
    }
    if (const std::string all = query::KindAtTheEnd(kind); all != kind) {
      return InvalidInput(fmt::format(
          "kinds: expected {0}-N, which are those after every evaluation, got {1}", all, kind));
    }
    retention.kinds.insert(kind);
  }
  if (request.older_than_seconds() < 0) {
    return InvalidInput(fmt::format("older_than_seconds: expected 0 or more, got {}",
                                    request.older_than_seconds()));
  }
  retention.ended_before = now - absl::Seconds(request.older_than_seconds());
  for (const uint64_t sweep : request.sweep_ids()) retention.sweeps.insert(SweepId{sweep});
  return retention;
}

}  // namespace

// One request. The thread of the garbage only.
class Garbage::Run {
 public:
  Run(Garbage& garbage, const v1::CollectGarbageRequest& request, std::string caller,
      const std::function<bool()>& cancelled)
      : garbage_(garbage),
        parts_(garbage.parts_),
        reader_(*garbage.reader_),
        dry_run_(request.dry_run()),
        request_(request),
        caller_(std::move(caller)),
        cancelled_(cancelled),
        digests_(DerivedFiles::At(parts_.home)) {}

  absl::StatusOr<v1::CollectGarbageResponse> Do() {
    NF_ASSIGN_OR_RETURN(const query::Retention retention, RetentionOf(request_, parts_.loop.Now()));
    if (!dry_run_) NF_RETURN_IF_ERROR(CheckOlderLeases());
    // First what nothing names: it goes without a write, also where the disk is full.
    NF_RETURN_IF_ERROR(CollectUnused());
    NF_RETURN_IF_ERROR(CollectKept(retention));
    for (auto& [kind, share] : kinds_) {
      share.set_kind(kind);
      *response_.add_artifacts() = share;
    }
    return std::move(response_);
  }

 private:
  // A content that the request is about, and how many of its names are.
  struct Chosen {
    query::KeptFile file;
    uint64_t names = 0;
  };

  // A worker offers all files of what is not settled again when it is welcomed. So where none can
  // come, and those that have not come back in the time of a lease, lose nothing.
  absl::Status CheckOlderLeases() const {
    if (!parts_.listens) return absl::OkStatus();
    NF_ASSIGN_OR_RETURN(uint64_t live, reader_.LiveUpTo(garbage_.newest_at_start_));
    const absl::Duration left = garbage_.opened_at_ + parts_.lease_ttl - parts_.clock.Steady();
    const bool may_come_back = left > absl::ZeroDuration();
    if (!may_come_back) live = std::min(live, OlderWithWorker());
    if (live == 0) return absl::OkStatus();
    const std::string help =
        may_come_back ? fmt::format("in {} s where their workers do not come back",
                                    absl::ToInt64Seconds(absl::Ceil(left, absl::Seconds(1))))
                      : "run `noisefloor gc --home=HOME` while no coordinator serves it";
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("{} that began before this coordinator did, and which files they have sent "
                    "is not known any more; try again when they have ended, or {}",
                    live == 1 ? "1 attempt runs" : fmt::format("{} attempts run", live), help));
  }

  uint64_t OlderWithWorker() const {
    const LiveBoard& live = parts_.loop.live();
    uint64_t older = 0;
    for (const LiveBoard::Worker& worker : live.Workers()) {
      if (!worker->connected) continue;
      for (const MemberId& member : worker->running) {
        const auto attempt = live.AttemptAt(member);
        if (attempt && attempt->lease <= garbage_.newest_at_start_) ++older;
      }
    }
    return older;
  }

  absl::Status CheckGoesOn() const {
    if (!garbage_.ending_ && !cancelled_()) return absl::OkStatus();
    return MakeError(absl::StatusCode::kUnavailable,
                     "stopped in the middle; what went before is gone, the rest is as it was");
  }

  absl::Status CollectKept(const query::Retention& retention) {
    query::KeptFile last;
    for (;;) {
      NF_RETURN_IF_ERROR(CheckGoesOn());
      NF_ASSIGN_OR_RETURN(const std::vector<query::KeptFile> files,
                          reader_.Collectable(retention, last, kFilesAtOnce));
      if (files.empty()) return dry_run_ ? CountWhatWouldGo() : absl::OkStatus();
      last = files.back();
      if (dry_run_) {
        for (const query::KeptFile& file : files) {
          ++would_go_.try_emplace(file.blob.sha256, Chosen{file, 0}).first->second.names;
        }
        continue;
      }
      std::map<SweepId, std::vector<query::KeptFile>> sweeps;
      for (const query::KeptFile& file : files) sweeps[file.sweep].push_back(file);
      for (const auto& [sweep, of_sweep] : sweeps) {
        const absl::Status forgotten = Forget(sweep, of_sweep);
        if (absl::IsNotFound(forgotten)) continue;  // Deleted meanwhile: all of its files go.
        NF_RETURN_IF_ERROR(forgotten);
        for (const query::KeptFile& file : of_sweep) {
          NF_ASSIGN_OR_RETURN(const bool gone, RemoveUnlessNamed(file.blob.sha256));
          if (gone) Count(file);
        }
      }
    }
  }

  // Kept when OK.
  absl::Status Forget(SweepId sweep, const std::vector<query::KeptFile>& files) const {
    scheduler::ArtifactsCollected event;
    event.sweep = sweep;
    event.caller = caller_;
    for (const query::KeptFile& file : files) {
      event.artifacts.push_back({file.lease, file.kind, file.path});
    }
    // shared: it is set on the loop's thread, which may still be at it when it has been read here.
    auto answered = std::make_shared<std::promise<absl::Status>>();
    std::future<absl::Status> answer = answered->get_future();
    parts_.loop.Call(std::move(event),
                     [answered](const CallResult& result) { answered->set_value(result.status); });
    return answer.get();
  }

  // What others name, too, would stay.
  absl::Status CountWhatWouldGo() {
    for (const auto& [sha256, chosen] : would_go_) {
      NF_RETURN_IF_ERROR(CheckGoesOn());
      NF_ASSIGN_OR_RETURN(const uint64_t names, reader_.CountNames(sha256));
      if (names <= chosen.names && parts_.pins.Unless(sha256, [] {})) Count(chosen.file);
    }
    return absl::OkStatus();
  }

  void Count(const query::KeptFile& file) {
    if (!counted_.insert(file.blob.sha256).second) return;
    v1::StorageShare& share = kinds_[query::KindAtTheEnd(file.kind)];
    share.set_files(share.files() + 1);
    share.set_bytes(share.bytes() + file.blob.size_bytes);
  }

  absl::StatusOr<bool> RemoveUnlessNamed(const std::string& sha256) const {
    absl::Status status;
    bool gone = false;
    (void)parts_.pins.Unless(sha256, [&] {
      const absl::StatusOr<bool> named = reader_.Names(sha256);
      status = named.status();
      if (!named.ok() || *named) return;
      status = parts_.blobs.Remove(sha256);
      gone = status.ok();
      // Of no use and no harm without it: what stays goes with what nobody names.
      if (gone) (void)digests_.Remove(sha256);
    });
    if (!status.ok()) return status;
    return gone;
  }

  absl::Status CollectUnused() {
    v1::StorageShare& unused = *response_.mutable_unused();
    for (int folder = 0; folder < BlobStore::kFolders; ++folder) {
      NF_RETURN_IF_ERROR(CheckGoesOn());
      // What lies there first: what is named later than it is found is not taken for unnamed.
      NF_ASSIGN_OR_RETURN(const std::vector<std::string> there, parts_.blobs.NamesIn(folder));
      NF_ASSIGN_OR_RETURN(const std::set<std::string> named, reader_.NamedIn(folder));
      for (const std::string& sha256 : there) {
        if (named.contains(sha256)) continue;
        const uint64_t bytes = parts_.blobs.SizeOf(sha256).value_or(0);
        bool goes = true;
        if (dry_run_) {
          goes = parts_.pins.Unless(sha256, [] {});
        } else {
          NF_ASSIGN_OR_RETURN(goes, RemoveUnlessNamed(sha256));
        }
        if (!goes) continue;
        unused.set_files(unused.files() + 1);
        unused.set_bytes(unused.bytes() + bytes);
      }
      if (!dry_run_) RemoveDigestsOfNothing(folder);
    }
    return absl::OkStatus();
  }

  // Those whose file went while they were made. Of no use and no harm where they cannot be removed.
  void RemoveDigestsOfNothing(int folder) const {
    const absl::StatusOr<std::vector<std::string>> there = digests_.NamesIn(folder);
    if (!there.ok()) return;
    for (const std::string& sha256 : *there) {
      if (!absl::IsNotFound(parts_.blobs.SizeOf(sha256).status())) continue;
      (void)digests_.Remove(sha256);
    }
  }

  Garbage& garbage_;
  const Parts& parts_;
  query::StorageReader& reader_;
  const bool dry_run_;
  const v1::CollectGarbageRequest& request_;
  const std::string caller_;
  const std::function<bool()>& cancelled_;
  const DerivedFiles digests_;
  std::map<std::string, Chosen> would_go_;  // In a dry run, by content.
  std::set<std::string> counted_;
  std::map<std::string, v1::StorageShare> kinds_;
  v1::CollectGarbageResponse response_;
};

absl::StatusOr<std::unique_ptr<Garbage>> Garbage::Open(Parts parts) {
  NF_ASSIGN_OR_RETURN(auto reader, query::StorageReader::Open(parts.home));
  NF_ASSIGN_OR_RETURN(const LeaseId newest, reader->NewestLease());
  return std::unique_ptr<Garbage>(new Garbage(std::move(parts), std::move(reader), newest));
}

Garbage::~Garbage() { ending_ = true; }

void Garbage::Collect(const v1::CollectGarbageRequest& request, const std::string& caller,
                      const std::function<bool()>& cancelled,
                      const Done<v1::CollectGarbageResponse>& done) {
  const bool posted = work_.Post([this, request, caller, cancelled, done] {
    const absl::StatusOr<v1::CollectGarbageResponse> collected =
        Run(*this, request, caller, cancelled).Do();
    if (!request.dry_run()) {
      looked_.reset();
      unused_.reset();
      LogInfo("garbage_collected", {{"caller", caller}, {"status", collected.status()}});
    }
    done(collected.status(), collected.ok() ? *collected : v1::CollectGarbageResponse());
  });
  if (!posted) done(TooManyWait("questions about storage"), {});
}

void Garbage::GetStorage(const Done<v1::GetStorageResponse>& done) {
  const bool posted = work_.Post([this, done] {
    const absl::StatusOr<v1::GetStorageResponse> looked = Look();
    done(looked.status(), looked.ok() ? *looked : v1::GetStorageResponse());
  });
  if (!posted) done(TooManyWait("questions about storage"), {});
}

absl::StatusOr<v1::GetStorageResponse> Garbage::Look() {
  const absl::Duration now = parts_.clock.Steady();
  if (!looked_ || now - looked_at_ > kLookAgain) {
    v1::GetStorageResponse response;
    NF_ASSIGN_OR_RETURN(const std::vector<query::KindShare> shares, reader_->Shares());
    for (const query::KindShare& of_kind : shares) {
      v1::StorageShare& share = *response.add_artifacts();
      share.set_kind(of_kind.kind);
      share.set_files(of_kind.files);
      share.set_bytes(of_kind.bytes);
    }
    NF_ASSIGN_OR_RETURN(*response.mutable_unused(), Unused());
    looked_ = std::move(response);
    looked_at_ = now;
  }
  v1::GetStorageResponse response = *looked_;
  for (const char* file : kDatabaseFiles) {
    const auto about = LocalFileSystem().Inspect(parts_.home + file);
    if (about.ok()) response.set_database_bytes(response.database_bytes() + about->size_bytes);
  }
  struct statvfs disk {};
  if (statvfs(parts_.home.c_str(), &disk) == 0) {
    response.set_free_bytes(uint64_t{disk.f_bavail} * disk.f_frsize);
  }
  response.set_storage_problem(parts_.storage_problem());
  return response;
}

absl::StatusOr<v1::StorageShare> Garbage::Unused() {
  const absl::Duration now = parts_.clock.Steady();
  if (unused_ && now - unused_at_ < kCountUnusedAgain) return *unused_;
  v1::CollectGarbageRequest request;
  request.set_dry_run(true);
  const std::function<bool()> never = [] { return false; };
  NF_ASSIGN_OR_RETURN(const v1::CollectGarbageResponse found, Run(*this, request, "", never).Do());
  unused_ = found.unused();
  unused_at_ = now;
  return *unused_;
}

}  // namespace noisefloor
