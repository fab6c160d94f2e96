// A data directory with one small sweep, half trained, and files made by hand.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/files/npy.h"
#include "common/files/safetensors.h"
#include "coordinator/query/query.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"

namespace noisefloor {

inline constexpr int64_t kExamples = 6;
inline constexpr int64_t kClasses = 10;

// Sweep 1 of sample_writes.h: the three members of cells 0 (control) and 1 (algo) are done, those
// of cells 2 and 3 wait. In cell 0 all predict the same; in cell 1 member r is wrong on example r.
class FilledHome {
 public:
  FilledHome() {
    blobs_ = std::make_unique<BlobStore>(*BlobStore::Open(home_.path()));
    auto opened = SqliteStore::Open(home_.path());
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    Apply({sample::Keep(), sample::Worker(1), sample::Pin(0), sample::Pin(1), sample::Specify(0),
           sample::Specify(1), sample::Specify(2), sample::Specify(3),
           scheduler::PinIdentity{SweepId{1}, "fashion-mnist-sample", sample::kIdentity},
           scheduler::AppendEvent{
               SweepId{1}, {}, "submitted", "12 members", sample::At(0), EventId{1}}});
    for (uint32_t cell = 0; cell < 2; ++cell) {
      for (uint32_t replicate = 0; replicate < 3; ++replicate) Finish(cell, replicate);
    }
    query::QueryOptions options;
    options.home = home_.path();
    options.page_script = "draw();";
    options.page_style = "p{}";
    options.live = {[this](SweepId sweep) { return ProgressOf(sweep); },
                    [this](const MemberId& member) -> std::optional<query::Progress> {
                      const auto it = running_.find(member);
                      if (it == running_.end()) return std::nullopt;
                      return it->second;
                    }};
    auto query = query::Query::Open(std::move(options));
    EXPECT_TRUE(query.ok()) << query.status();
    query_ = *std::move(query);
  }

  void Apply(const std::vector<scheduler::Write>& writes) {
    const absl::Status status = store_->Apply(writes);
    EXPECT_TRUE(status.ok()) << status;
  }

  const std::string& path() const { return home_.path(); }
  query::Query& query() { return *query_; }
  const BlobStore& blobs() const { return *blobs_; }
  const BlobName& Blob(const std::string& member, const std::string& kind) {
    return names_.at({member, kind});
  }
  std::map<MemberId, query::Progress>& running() { return running_; }
  // As of a coordinator that runs while its files are damaged: sweep 1 is counted no more.
  void HoldCounts() { held_ = ProgressOf(SweepId{1}); }
  // What is committed just before counts are asked for next.
  void CommitBeforeCounts(std::vector<scheduler::Write> writes) { pending_ = std::move(writes); }
  // What a coordinator would keep up to date, made anew from what is on disk.
  std::optional<query::SweepProgress> ProgressOf(SweepId sweep) {
    if (!pending_.empty()) Apply(std::exchange(pending_, {}));
    if (held_ && sweep == SweepId{1}) return held_;
    const auto state = store_->Recover();
    EXPECT_TRUE(state.ok()) << state.status();
    const auto counts =
        scheduler::Scheduler::Restore({}, *state, absl::UnixEpoch()).CountsOf(sweep);
    if (!counts) return std::nullopt;
    query::SweepProgress progress;
    progress.cells = counts->cells;
    progress.waiting = counts->In(MemberState::kWaiting);
    progress.leased = counts->In(MemberState::kLeased);
    progress.done = counts->In(MemberState::kDone);
    progress.diverged = counts->In(MemberState::kDiverged);
    progress.failed = counts->In(MemberState::kFailed);
    progress.cancelled = counts->In(MemberState::kCancelled);
    progress.retries = counts->retries;
    if (counts->times.count > 0) progress.mean_seconds = counts->times.sum / counts->times.count;
    for (const auto& [member, attempt] : running_) {
      if (attempt.step_count == 0) continue;
      progress.running +=
          static_cast<double>(attempt.step) / static_cast<double>(attempt.step_count);
    }
    return progress;
  }

  void AddFile(ingest::AttemptOutcome& outcome, MemberId member, const std::string& kind,
               const std::string& content) {
    const BlobName name{Sha256Hex(content), content.size()};
    EXPECT_TRUE(blobs_->Put(name, content).ok());
    names_[{ToText(member), kind}] = name;
    outcome.artifacts.push_back({kind, kind + ".file", name.sha256, name.size_bytes});
  }
  // Three parameters, {shift, 2, 3}, and running statistics.
  std::string Weights(float shift) {
    const std::vector<float> weight = {shift, 2, 3};
    const std::vector<float> mean = {shift * 10};
    const std::vector<float> variance = {shift * 20};
    const std::string path = home_.path() + "/weights.tmp";
    EXPECT_TRUE(WriteSafetensors(path, {MakeTensorView<float>("a.running_mean", {1}, mean),
                                        MakeTensorView<float>("a.running_var", {1}, variance),
                                        MakeTensorView<float>("b.weight", {3}, weight)})
                    .ok());
    return *ReadFile(path, 1 << 20);
  }

 private:
  void Finish(uint32_t cell, uint32_t replicate) {
    const MemberId member = sample::Member(cell, replicate);
    const uint64_t lease = 1 + cell * 3 + replicate;
    scheduler::KeepOutcome write = sample::Finish(lease, member);
    const char digit = cell == 0 ? 'b' : static_cast<char>('1' + replicate);
    write.outcome.hashes["weights"] = std::string(64, digit);
    write.outcome.hashes["weights_at/1"] = std::string(64, digit);
    write.outcome.hashes["logits"] = std::string(64, digit);
    write.outcome.metrics = {{"top1", cell == 0 ? 1.0 : 5.0 / 6}, {"loss", 0.5}, {"top5", 1.0}};
    write.outcome.artifacts.clear();
    AddFile(write.outcome, member, "predictions", Logits(cell, replicate));
    AddFile(write.outcome, member, "weights", Weights(cell == 0 ? 0.0f : 1.0f + replicate));
    if (lease == 1) AddEvaluationSet(write.outcome, member);
    Apply({sample::Grant(lease, member), sample::Records(lease, member, 1), write,
           scheduler::DropLease{LeaseId{lease}, CauseClass::kNone, "", sample::At(60)},
           scheduler::SetMemberState{member, MemberState::kDone, 1, 0},
           scheduler::AppendEvent{SweepId{1}, member, "done", ToText(member) + " done",
                                  sample::At(60), EventId{1 + lease}}});
  }

  // Example i is of class i; the wrong one is told as class 9.
  static std::string Logits(uint32_t cell, uint32_t replicate) {
    std::vector<float> logits(kExamples * kClasses, 0);
    for (int64_t i = 0; i < kExamples; ++i) {
      const bool wrong = cell == 1 && i == static_cast<int64_t>(replicate);
      logits[static_cast<size_t>(i * kClasses + (wrong ? 9 : i))] = 1;
    }
    return *EncodeNpy(MakeTensorView<float>("logits", {kExamples, kClasses}, logits));
  }

  void AddEvaluationSet(ingest::AttemptOutcome& outcome, MemberId member) {
    std::vector<int32_t> labels;
    for (int32_t i = 0; i < kExamples; ++i) labels.push_back(i);
    AddFile(outcome, member, "evaluation_labels",
            *EncodeNpy(MakeTensorView<int32_t>("labels", {kExamples}, labels)));
    const std::vector<uint8_t> images(kExamples * 4, 128);
    AddFile(outcome, member, "evaluation_images",
            *EncodeNpy(MakeTensorView<uint8_t>("images", {kExamples, 2, 2, 1}, images)));
  }

  TempHome home_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<SqliteStore> store_;
  std::map<std::pair<std::string, std::string>, BlobName> names_;  // member, kind
  std::map<MemberId, query::Progress> running_;
  std::optional<query::SweepProgress> held_;
  std::vector<scheduler::Write> pending_;
  std::unique_ptr<query::Query> query_;
};

}  // namespace noisefloor
