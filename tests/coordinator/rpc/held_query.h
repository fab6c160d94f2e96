// Reads that a test lets run, one at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "coordinator/query/query.h"

namespace noisefloor::test {

// Holds what is posted until the test lets it run, on the test's thread; counts what was read.
class HeldQuery : public query::Query {
 public:
  bool Post(query::Work, std::function<void()> work) override {
    MutexLock lock(mutex_);
    if (closed_) return false;
    held_.push_back(std::move(work));
    arrived_.NotifyAll();
    return true;
  }
  // Nothing is left that a call waits for.
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    while (RunNext(absl::ZeroDuration())) {
    }
  }
  // False when none came in that time: a call may end before it has left its client.
  bool RunNext(absl::Duration patience) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      if (held_.empty()) arrived_.WaitFor(mutex_, patience);
      if (held_.empty()) return false;
      work = std::move(held_.front());
      held_.erase(held_.begin());
    }
    work();
    return true;
  }
  int reads() const { return reads_; }

  void MakeDigest(const BlobName&) override {}
  const std::string& database_path() const override { return database_path_; }
  absl::StatusOr<query::SweepWhole> GetSweep(SweepId) override {
    ++reads_;
    query::SweepWhole whole;
    whole.sweep.facts = std::make_shared<const query::SweepFacts>();
    return whole;
  }
  absl::StatusOr<std::string> GetStudy(const query::StudyQuestion&) override {
    ++reads_;
    return std::string();
  }
  absl::StatusOr<SweepId> FindSweep(SweepId) override { return None(); }
  absl::StatusOr<query::SweepSummary> SummariseSweep(SweepId, query::SweepView) override {
    return None();
  }
  absl::StatusOr<query::SweepPage> ListSweeps(const query::SweepQuestion&) override {
    return None();
  }
  absl::StatusOr<query::MemberPage> ListMembers(const query::MemberQuestion&) override {
    return None();
  }
  absl::StatusOr<query::MemberWhole> GetMember(const MemberId&) override { return None(); }
  absl::StatusOr<std::vector<query::WorkerRow>> ListWorkers() override { return None(); }
  absl::StatusOr<query::SweepNews> WatchSweep(const query::SweepPlace&) override {
    if (news_.empty()) return None();
    query::SweepNews next = std::move(news_.front());
    news_.erase(news_.begin());
    return next;
  }
  // What the next who watches a sweep finds.
  void AddNews(query::SweepNews news) { news_.push_back(std::move(news)); }
  absl::StatusOr<query::MemberNews> WatchMember(const query::MemberPlace&) override {
    return None();
  }
  absl::StatusOr<query::Plan> PlanSweep(const sweep::Sweep&,
                                        std::span<const query::FleetWorker>) override {
    return None();
  }
  absl::StatusOr<query::ReplaySource> FindReplaySource(const MemberId&) override { return None(); }
  absl::StatusOr<query::InferSources> FindInferSources(const query::InferQuestion&) override {
    return None();
  }
  absl::StatusOr<std::string> FindWeights(const std::string&) override { return None(); }
  absl::StatusOr<query::Definition> FindDefinition(SweepId) override { return None(); }
  absl::StatusOr<query::Settlement> DecideUntil(SweepId) override { return None(); }
  absl::StatusOr<query::ArtifactFile> FindArtifact(const MemberId&, const std::string&) override {
    return artifact_;
  }

  query::ArtifactFile artifact_;  // Every member's, of any kind.

 private:
  std::vector<query::SweepNews> news_;  // Of the test's thread.
  static absl::Status None() { return MakeError(absl::StatusCode::kNotFound, "not asked here"); }

  const std::string database_path_;
  Mutex mutex_;
  CondVar arrived_;
  std::vector<std::function<void()>> held_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<int> reads_{0};
};

}  // namespace noisefloor::test
