// Interrupted and gone on with is undisturbed, bit for bit: weights, hashes, every line of records,
// every file.
//
// NOISEFLOOR_RESUME_ALL=1: every optimiser with every network and source instead of each once;
// NOISEFLOOR_RESUME_SEED=N draws other steps.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "common/files/sha256.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/simulation/chance.h"
#include "tests/support/model_disk.h"
#include "tests/worker/trainer/resume/resumed_member.h"

namespace noisefloor::trainer {
namespace {

namespace fs = std::filesystem;

TEST(ResumeTest, AtEveryStepOfATraining) {
  const Specification spec = Small("mlp");
  const Left undisturbed = Undisturbed(spec);
  ASSERT_EQ(undisturbed.hashes.size(), 7u) << "three tests, and what belongs to the whole";
  ASSERT_EQ(undisturbed.files.size(), 8u) << "predictions and weights of each, and of the end";
  for (int64_t step = 1; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    ExpectSame(Interrupted(spec, {step}), undisturbed);
  }
}

TEST(ResumeTest, OnceAndAgainAndAtOnceAgain) {
  const Specification spec = Small("small_cnn");
  const Left undisturbed = Undisturbed(spec);
  ExpectSame(Interrupted(spec, {2, 3, 7, 14}), undisturbed);
  Member member(spec);
  (void)member.Run({.stop_after = 6});
  const Left none_further = member.Run({.stop_after = 6});
  EXPECT_TRUE(none_further.report.is_kept) << "what it began with is still there";
  const Left left = member.Run({});
  ExpectSame(left, undisturbed);
  EXPECT_EQ(left.report.resumed_at, std::vector<int64_t>{6}) << "one of them trained";
}

TEST(ResumeTest, BeforeItsFirstStepThereIsNothingToKeep) {
  const Specification spec = Small("mlp");
  Member member(spec);
  EXPECT_FALSE(member.Run({.stop_after = 0}).report.is_kept);
  ExpectSame(member.Run({}), Undisturbed(spec));
}

// The folder of a member that is killed holds its last two checkpoints; the last may be damaged.
TEST(ResumeTest, KilledAndWithItsLastCheckpointDamaged) {
  const Specification spec = Small("mlp");
  const Left undisturbed = Undisturbed(spec);
  for (const int64_t step : {1, 4, 5, 6, 9, 10, 11, 14}) {
    SCOPED_TRACE(step);
    Member member(spec);
    (void)member.Run({.die_after = step + 1, .every = absl::ZeroDuration()});
    ExpectSame(member.Run({}), undisturbed);
    if (step < 2) continue;
    Member damaged(spec);
    (void)damaged.Run({.die_after = step + 1, .every = absl::ZeroDuration()});
    const std::vector<std::string> folders = damaged.Folders();
    ASSERT_EQ(folders.size(), 2u);
    fs::resize_file(folders[1] + "/state.safetensors", 1000);
    const Left left = damaged.Run({});
    ExpectSame(left, undisturbed);
    EXPECT_EQ(left.report.resumed_at, std::vector<int64_t>{step - 1});
  }
}

TEST(ResumeTest, WithAllOfItsCheckpointsGoneItBeginsAnew) {
  const Specification spec = Small("mlp");
  Member member(spec);
  (void)member.Run({.stop_after = 7});
  for (const auto& entry : fs::recursive_directory_iterator(member.checkpoints())) {
    if (entry.path().filename() == "events.jsonl") fs::resize_file(entry.path(), 0);
  }
  const Left left = member.Run({});
  ExpectSame(left, Undisturbed(spec));
  EXPECT_TRUE(left.report.resumed_at.empty());
}

// What goes wrong with the disk of the checkpoints is said with the result, and costs no member.
TEST(ResumeTest, ADiskThatTakesNoCheckpointsChangesNothingElse) {
  Specification spec = Small("mlp");
  // No file of the work folder belongs to a checkpoint.
  spec.evaluate.predictions = spec.evaluate.weights = "final";
  ModelDisk disk;
  Member member(spec, "/checkpoints", disk);
  disk.FailAt(30, ENOSPC, /*lasting=*/true);
  const Left left = member.Run({.every = absl::ZeroDuration()});
  ExpectSame(left, Undisturbed(spec));
  EXPECT_GE(left.cost["written"], 1);
  EXPECT_GE(left.cost["failed"], 1);
  EXPECT_EQ(left.cost["written"].get<int64_t>() + left.cost["failed"].get<int64_t>(), kSteps - 1);
  EXPECT_NE(left.cost["error"].get<std::string>().find("No space left"), std::string::npos);
  EXPECT_GT(left.cost["bytes"], 50'000) << "two layers and their momentum";
}

struct Variant {
  std::string name;
  std::function<void(Specification&)> change;
};

std::vector<Variant> Optimizers() {
  return {{"sgd", [](Specification& s) { s.train.optimizer.momentum = 0; }},
          {"momentum", [](Specification& s) { s.train.optimizer.weight_decay = 0.01; }},
          {"nesterov", [](Specification& s) { s.train.optimizer.nesterov = true; }},
          {"adam",
           [](Specification& s) { s.train.optimizer = {.name = "adam", .learning_rate = 0.01}; }}};
}

std::vector<Variant> Networks() {
  std::vector<Variant> all;
  for (const char* name : {"small_cnn", "medium_cnn", "mlp", "resnet18"}) {
    all.push_back({name, [name](Specification& s) {
                     const Specification fresh = Small(name);
                     s.model = fresh.model;
                     s.data = fresh.data;
                     s.train.batch_size = fresh.train.batch_size;
                   }});
  }
  return all;
}

std::vector<Variant> Sources() {
  return {{"fixed", [](Specification&) {}},
          {"shards", [](Specification& s) { s.train.shards = 3; }},
          {"devices",
           [](Specification& s) {
             s.train.shards = 3;
             s.train.devices = 3;
           }},
          {"order", [](Specification& s) { FreeSource(s, NoiseSource::kDataOrder); }},
          {"window", [](Specification& s) { s.sources.shuffle_window = 8; }},
          {"augment",
           [](Specification& s) {
             FreeSource(s, NoiseSource::kAugment);
             s.augment.cutout = 4;
           }},
          {"dropout",
           [](Specification& s) {
             FreeSource(s, NoiseSource::kDropout);
             s.model.dropout = s.model.name == "mlp" || s.model.name == "medium_cnn" ? 0.3 : 0;
           }},
          {"poke",
           [](Specification& s) {
             s.Source(NoiseSource::kPoke).state = SourceState::kFixed;
             s.sources.poke_step = 6;
           }},
          {"dial",
           [](Specification& s) {
             FreeSource(s, NoiseSource::kDial);
             s.sources.dial_size = 0.01;
             s.Source(NoiseSource::kLoad).state = SourceState::kFixed;
             s.sources.load_choices = {1};
           }},
          {"steps", [](Specification& s) {
             s.train.schedule = {.name = "step", .milestones = {1, 2}, .factor = 0.5};
           }}};
}

// At random steps: in an epoch, at its end, right before and after a test, twice in a row.
void TryAll(const std::vector<const Variant*>& changes, test::Chance& chance) {
  Specification spec = Small("mlp");
  std::string trace;
  for (const Variant* variant : changes) {
    variant->change(spec);
    trace += variant->name + " ";
  }
  const auto drawn = static_cast<int64_t>(1 + chance.Below(kSteps - 2));
  const auto later =
      drawn + 1 + static_cast<int64_t>(chance.Below(static_cast<uint64_t>(kSteps - 1 - drawn)));
  SCOPED_TRACE(trace + std::to_string(drawn) + " " + std::to_string(later));
  ExpectSame(Interrupted(spec, {drawn, later}), Undisturbed(spec));
}

TEST(ResumeTest, OfEveryOptimizerNetworkAndSource) {
  const char* text = std::getenv("NOISEFLOOR_RESUME_SEED");
  const uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  SCOPED_TRACE("NOISEFLOOR_RESUME_SEED=" + std::to_string(seed));
  test::Chance chance(seed);
  const auto optimizers = Optimizers(), networks = Networks(), sources = Sources();
  if (std::getenv("NOISEFLOOR_RESUME_ALL") == nullptr) {
    // Each of each kind at least once; the last network, which takes as long as all others, not
    // more.
    for (size_t i = 0; i < sources.size(); ++i) {
      const size_t network = i == 1 ? networks.size() - 1 : i % (networks.size() - 1);
      TryAll({&networks[network], &optimizers[(i + i / 4) % optimizers.size()], &sources[i]},
             chance);
    }
    return;
  }
  for (const Variant& optimizer : optimizers) {
    for (const Variant& network : networks) {
      for (const Variant& source : sources) TryAll({&network, &optimizer, &source}, chance);
    }
  }
}

// Where it was cut off the poke of the next step has not come yet.
TEST(ResumeTest, APokeComesOnceWhereItWasCutOffRightBeforeIt) {
  Specification spec = Small("mlp");
  spec.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  spec.sources.poke_step = 6;
  const Left undisturbed = Undisturbed(spec);
  for (const int64_t step : {6, 7}) ExpectSame(Interrupted(spec, {step}), undisturbed);
}

// One before each step, and one before the look that stops: 5, then 11.
TEST(ResumeTest, SecondsAreThoseOfAllAttempts) {
  Member member(Small("mlp"));
  EXPECT_EQ(member.Run({.stop_after = 4}).report.train_seconds, 5);
  EXPECT_EQ(member.Run({}).report.train_seconds, 16);
}

// With an eighth of a second for each glance at the clock, of which a test takes two.
TEST(ResumeTest, SecondsOfTestsAreCountedApartInAllAttempts) {
  constexpr double kGlance = 0.125;
  const auto report = [](const std::vector<int64_t>& stops) {
    Member member(Small("mlp"));
    member.clock().set_glance(absl::Seconds(kGlance));
    for (const int64_t stop : stops) (void)member.Run({.stop_after = stop});
    return member.Run({}).report;
  };
  const TrainReport whole = report({});
  EXPECT_EQ(whole.evaluate_seconds, 3 * kGlance);
  // Whether a checkpoint is due, before all steps but the first; after two tests; at the end.
  EXPECT_EQ(whole.train_seconds, kSteps + (kSteps - 1 + 2 + 1) * kGlance);
  const TrainReport cut = report({7});
  EXPECT_EQ(cut.evaluate_seconds, 3 * kGlance);
  EXPECT_EQ(cut.train_seconds, whole.train_seconds + 1) << "the look that stopped it";
}

// Three glances a checkpoint; what comes after the second, its own facts cannot have.
TEST(ResumeTest, WhatCheckpointsCostIsOfAllAttempts) {
  constexpr double kGlance = 0.125;
  Member often(Small("mlp"));
  often.clock().set_glance(absl::Seconds(kGlance));
  Left left = often.Run({.stop_after = 4, .every = absl::ZeroDuration()});
  EXPECT_EQ(left.cost["written"], 4);
  EXPECT_EQ(left.cost["held_up_seconds"], 8 * kGlance);
  EXPECT_EQ(often.Run({.stop_after = 4}).cost["written"], 4) << "none of its own";
  left = often.Run({.every = absl::ZeroDuration()});
  EXPECT_EQ(left.cost["written"], 4 + kSteps - 5);
  EXPECT_EQ(left.cost["held_up_seconds"], (7 + 2 * (kSteps - 5)) * kGlance);

  Member once(Small("mlp"));
  once.clock().set_glance(absl::Seconds(kGlance));
  (void)once.Run({.stop_after = 4});
  left = once.Run({});
  EXPECT_EQ(left.cost["written"], 1) << "by the first attempt";
  EXPECT_EQ(left.cost["failed"], 0);
  EXPECT_EQ(left.cost["held_up_seconds"], kGlance);
  EXPECT_GT(left.cost["bytes"], 50'000);
}

TEST(ResumeTest, ItsFirstCheckpointRemovesThoseThatNobodyHasComeBackFor) {
  Member member(Small("mlp"));
  const std::string left = member.checkpoints() + "/" + std::string(32, 'a');
  const std::string young = member.checkpoints() + "/" + std::string(32, 'b');
  for (const std::string& folder : {left, young}) fs::create_directory(folder);
  fs::last_write_time(left, fs::last_write_time(left) - std::chrono::hours(15 * 24));
  EXPECT_TRUE(member.Run({.stop_after = 3}).report.is_kept);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(young));
}

// All in it is whole; but what was told before would be told of a file that is not there.
TEST(ResumeTest, ACheckpointWithoutAFileThatItToldOfIsNotUsed) {
  const Specification spec = Small("mlp");
  Member member(spec);
  (void)member.Run({.stop_after = 7});
  const std::string path = member.Folders().back() + "/manifest.json";
  std::ifstream file(path);
  Json manifest = Json::parse(file);
  Json& kept = manifest["manifest"]["kept"];
  ASSERT_EQ(kept.size(), 2u);
  kept.erase(kept.begin());
  manifest["sha256"] = Sha256Hex(manifest["manifest"].dump());
  std::ofstream(path) << manifest.dump() << "\n";
  testing::internal::CaptureStderr();
  const Left left = member.Run({});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("is not used: it has other files than it told of\n"), std::string::npos)
      << said;
  EXPECT_TRUE(left.report.resumed_at.empty());
  ExpectSame(left, Undisturbed(spec));
}

TEST(ResumeTest, ACheckpointIsDueAnIntervalAfterTheLast) {
  const Left left = Member(Small("mlp")).Run({.every = absl::Seconds(5)});
  EXPECT_EQ(left.cost["written"], 3) << "after 5, 10 and 15 s";
  EXPECT_EQ(left.cost["failed"], 0);
}

// Orders of arrival are real noise: not the bits go on, but the count of what was seen.
TEST(ResumeTest, ArrivalOrdersAreCountedOverAllAttempts) {
  Specification spec = Small("mlp");
  spec.train.shards = 3;
  FreeSource(spec, NoiseSource::kReduceOrder);
  const Left left = Interrupted(spec, {4, 9});
  int64_t seen = 0;
  for (const auto& [order, count] : left.report.arrival_orders) seen += count;
  EXPECT_EQ(seen, kSteps);
}

// Of another training there may be a checkpoint under this member's name: what it does not fit is
// said, and it begins anew.
TEST(ResumeTest, ACheckpointOfAnotherTrainingIsNotUsed) {
  const auto changes = std::vector<std::function<void(Specification&)>>{
      [](Specification& s) { s.model.hidden = 17; },
      [](Specification& s) { s.train.optimizer.momentum = 0; },
      [](Specification& s) { s.Source(NoiseSource::kInit).seed = 99; },
      [](Specification& s) { s.Source(NoiseSource::kDataOrder).seed = 99; },
      [](Specification& s) { s.train.epochs = 1; }};
  for (const auto& change : changes) {
    Specification spec = Small("mlp");
    Member member(spec);
    (void)member.Run({.stop_after = 6});
    change(spec);
    Member other(spec);
    fs::remove_all(other.checkpoints());
    fs::copy(member.checkpoints(), other.checkpoints(), fs::copy_options::recursive);
    const Left left = other.Run({});
    EXPECT_EQ(left.ending, Ending::kDone);
    EXPECT_TRUE(left.report.resumed_at.empty());
    EXPECT_EQ(left.hashes, Undisturbed(spec).hashes);
  }
}

}  // namespace
}  // namespace noisefloor::trainer
