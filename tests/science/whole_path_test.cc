// What is claimed over the whole path of a coordinator: results are written as the scheduler writes
// them, predictions lie in its store, and the study is asked for after every member, as a page
// does; the gate compares what two sweeps give out. Of sweeps in which the hardware does nothing at
// most one in twenty may ever say anything, and of gates over sweeps that are alike at most one in
// twenty may fail.
//
// Seeds are fixed. NOISEFLOOR_STUDIES: how many sweeps; bounds are three Monte Carlo standard
// errors wide.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/files/npy.h"
#include "common/files/sha256.h"
#include "coordinator/inputs/load_arrays.h"
#include "coordinator/query/query.h"
#include "coordinator/query/study_source_of.h"
#include "coordinator/query/verified_files.h"
#include "coordinator/report/gate.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/store/sample_writes.h"
#include "tests/coordinator/store/temp_home.h"
#include "tests/science/latent.h"

namespace noisefloor {
namespace {

using analysis::Draws;
using report::Latent;

constexpr int64_t kExamples = 60;
constexpr int32_t kClasses = 10;
constexpr uint32_t kReplicates = 8;

// A data directory that sweeps of two hardware classes are trained into.
class WholePath {
 public:
  WholePath() {
    blobs_ = std::make_unique<BlobStore>(*BlobStore::Open(home_.path()));
    store_ = *SqliteStore::Open(home_.path());
    Apply({sample::Worker(1)});
    query::QueryOptions options;
    options.home = home_.path();
    options.live = {[this](SweepId sweep) { return ProgressOf(sweep); },
                    [](const MemberId&) { return std::nullopt; }};
    query_ = *query::Query::Open(std::move(options));
  }

  SweepId Submit() {
    scheduler::KeepSweep keep = sample::Keep(next_sweep_);
    keep.content.axes = {};
    keep.content.plans = {{"algo", *sweep::BuiltInPlan("algo")}};
    keep.content.hardware = {"cpu-test-avx2", "cpu-test-sse"};
    keep.content.replicates = kReplicates;
    keep.content.seed = next_sweep_;
    PutSetting(keep.content.base, "data.test_examples", kExamples);
    keep.cells = sweep::Expand(keep.content);
    keep.specification_sha256 = Sha256Hex(sweep::CanonicalText(keep.content));
    const SweepId sweep{next_sweep_++};
    waiting_ = 2 * kReplicates;
    Apply({keep, scheduler::PinCell{sweep, 0, "cpu-test-avx2", "torch-2.11", "f", "build-1"},
           scheduler::PinCell{sweep, 1, "cpu-test-sse", "torch-2.11", "f", "build-1"},
           scheduler::PinIdentity{sweep, "fashion-mnist-sample", sample::kIdentity}});
    return sweep;
  }

  void Finish(MemberId member, const std::vector<int16_t>& answers) {
    std::vector<float> logits(kExamples * kClasses, 0);
    double right = 0;
    for (size_t x = 0; x < answers.size(); ++x) {
      logits[x * kClasses + static_cast<size_t>(answers[x])] = 1;
      right += answers[x] == static_cast<int16_t>(x % kClasses);
    }
    const uint64_t lease = next_lease_++;
    scheduler::KeepOutcome write = sample::Finish(lease, member);
    write.outcome.artifacts.clear();
    write.outcome.per_class_accuracy.clear();
    write.outcome.metrics = {{"top1", right / kExamples}};
    AddFile(write.outcome, "predictions",
            *EncodeNpy(MakeTensorView<float>("logits", {kExamples, kClasses}, logits)));
    const std::string hash = write.outcome.artifacts[0].sha256;
    write.outcome.hashes = {{"weights", hash}, {"logits", hash}};
    if (lease == 1) {
      std::vector<int32_t> labels;
      for (int32_t x = 0; x < kExamples; ++x) labels.push_back(x % kClasses);
      AddFile(write.outcome, "evaluation_labels",
              *EncodeNpy(MakeTensorView<int32_t>("labels", {kExamples}, labels)));
    }
    --waiting_;
    Apply({sample::Grant(lease, member), write,
           scheduler::DropLease{LeaseId{lease}, CauseClass::kNone, "", sample::At(60)},
           scheduler::SetMemberState{member, MemberState::kDone, 1, 0}});
  }

  std::string Study(SweepId sweep, query::StudyForm form) {
    const auto text = query_->GetStudy({.sweep = sweep, .form = form});
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? *text : "{}";
  }

  inputs::LoadedStudy Load(SweepId sweep) {
    const auto source = inputs::SourceFromJson(Study(sweep, query::StudyForm::kInput));
    EXPECT_TRUE(source.ok()) << source.status();
    return inputs::LoadArrays(*source, query::FilesOf(*blobs_, verified_));
  }

 private:
  void Apply(const std::vector<scheduler::Write>& writes) {
    const absl::Status status = store_->Apply(writes);
    ASSERT_TRUE(status.ok()) << status;
  }
  void AddFile(ingest::AttemptOutcome& outcome, const std::string& kind,
               const std::string& content) {
    const BlobName name{Sha256Hex(content), content.size()};
    EXPECT_TRUE(blobs_->Put(name, content).ok());
    outcome.artifacts.push_back({kind, kind + ".npy", name.sha256, name.size_bytes});
  }
  // Of the newest sweep, which is the one that is asked for while it is trained.
  std::optional<query::SweepProgress> ProgressOf(SweepId sweep) const {
    query::SweepProgress progress;
    progress.cells = 2;
    progress.waiting = sweep.value + 1 == next_sweep_ ? waiting_ : 0;
    progress.done = 2 * kReplicates - progress.waiting;
    return progress;
  }

  TempHome home_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<query::Query> query_;
  query::VerifiedFiles verified_;
  uint64_t next_sweep_ = 1;
  uint64_t next_lease_ = 1;
  int64_t waiting_ = 0;
};

// Anything that a study of nothing must not say. Classes of the data set differ by chance only, but
// that is said of these examples.
bool ClaimsAnything(const nlohmann::json& study) {
  bool claims = false;
  for (const char* tests : {"hardware_tests", "hardware"}) {
    for (const auto& test : study[tests]) claims |= test["shift"]["shown"].get<bool>();
  }
  for (const auto& contrast : study["contrasts"]) {
    for (const auto& figure : contrast["figures"]) claims |= figure["shown"].get<bool>();
  }
  for (const auto& sensitive : study["sensitive"]) claims |= !sensitive["found"].empty();
  return claims;
}

// Trains a sweep member by member, in the order of replicates, one class after the other; was
// anything claimed at any look?
bool ClaimsWhileItGrows(WholePath& path, SweepId sweep, const Latent& latent, Draws& draws) {
  bool claims = false;
  for (uint32_t replicate = 0; replicate < kReplicates; ++replicate) {
    const std::vector<double> seed = latent.Noise(draws, latent.seed_noise);
    for (uint32_t cell = 0; cell < 2; ++cell) {
      path.Finish({sweep, cell, replicate}, latent.Answer(draws, seed, cell == 1));
      const auto study = nlohmann::json::parse(path.Study(sweep, query::StudyForm::kJson));
      const bool last = replicate + 1 == kReplicates && cell == 1;
      EXPECT_EQ(study["interim"].get<bool>(), !last);
      EXPECT_EQ(study["counts"]["done"], 2 * replicate + cell + 1);
      claims |= ClaimsAnything(study);
    }
  }
  return claims;
}

Latent Nothing(Draws& draws) {
  Latent latent(draws, kExamples);
  latent.classes = kClasses;
  return latent;
}

TEST(WholePathTest, LookedAtAfterEveryMemberOneSweepInTwentyAtMostClaimsWhatIsNotThere) {
  const int studies = std::max(20, report::StudyCount() / 4);
  WholePath path;
  Draws draws(61);
  int claims = 0;
  for (int k = 0; k < studies; ++k) {
    const Latent latent = Nothing(draws);
    claims += ClaimsWhileItGrows(path, path.Submit(), latent, draws);
  }
  std::printf("something claimed at any look at %d of %d sweeps of nothing\n", claims, studies);
  EXPECT_LE(claims, report::AtMost(0.05, studies) * studies);
}

TEST(WholePathTest, WhereTheSecondClassTurnsAnswersRoundMostSweepsSaySoInTheEnd) {
  constexpr int kStudies = 10;
  WholePath path;
  Draws draws(62);
  int claims = 0;
  for (int k = 0; k < kStudies; ++k) {
    Latent latent = Nothing(draws);
    latent.moved = 8;
    claims += ClaimsWhileItGrows(path, path.Submit(), latent, draws);
  }
  EXPECT_GE(claims, 8);
}

// Two sweeps of other seeds, of which the second is compared while it is trained and at its end.
TEST(WholePathTest, OfGatesOverSweepsThatAreAlikeOneInTwentyAtMostFailsAndNoneBeforeTheEnd) {
  const int gates = std::max(20, report::StudyCount() / 5);
  WholePath path;
  Draws draws(63);
  const report::GateOptions narrow = {.margins = {1e-5, 1e-5, 1e-5},
                                      .a = {.hardware = "cpu-test-avx2"},
                                      .b = {.hardware = "cpu-test-avx2"}};
  int failed = 0;
  for (int k = 0; k < gates; ++k) {
    const Latent latent = Nothing(draws);
    std::vector<SweepId> sweeps;
    std::optional<inputs::LoadedStudy> a;
    for (int side = 0; side < 2; ++side) {
      sweeps.push_back(path.Submit());
      for (uint32_t replicate = 0; replicate < kReplicates; ++replicate) {
        const std::vector<double> seed = latent.Noise(draws, latent.seed_noise);
        for (uint32_t cell = 0; cell < 2; ++cell) {
          path.Finish({sweeps.back(), cell, replicate}, latent.Answer(draws, seed, false));
        }
        const bool looks = side == 1 && (replicate == 4 || replicate + 1 == kReplicates);
        if (!looks) continue;
        const inputs::LoadedStudy b = path.Load(sweeps[1]);
        const auto gate = report::CompareStudies(a->input, b.input, narrow);
        ASSERT_TRUE(gate.ok()) << gate.status();
        if (replicate == 4) {
          EXPECT_EQ(gate->verdict, report::Verdict::kInconclusive);
        }
        failed += gate->verdict == report::Verdict::kFail;
      }
      if (side == 0) a.emplace(path.Load(sweeps[0]));
    }
  }
  std::printf("%d of %d gates fail where nothing differs\n", failed, gates);
  EXPECT_LE(failed, report::AtMost(0.05, gates) * gates);
}

}  // namespace
}  // namespace noisefloor
