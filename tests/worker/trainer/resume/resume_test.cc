// Interrupted and gone on with is undisturbed, bit for bit: weights, hashes, every line of records,
// every file.
//
// NOISEFLOOR_RESUME_ALL=1: every optimiser with every network and source instead of each once;
// NOISEFLOOR_RESUME_SEED=N draws other steps.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "common/base/seed.h"
#include "common/files/sha256.h"
#include "tests/simulation/chance.h"
#include "tests/support/model_disk.h"
#include "tests/worker/trainer/torch/synthetic_data.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/step/checkpointer.h"
#include "worker/trainer/torch/step/train.h"

namespace noisefloor::trainer {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPerEpoch = 5;
constexpr int64_t kEpochs = 3;
constexpr int64_t kSteps = kPerEpoch * kEpochs;
constexpr int64_t kNever = 1 << 20;

const Dataset& Data(const Specification& spec) {
  static std::map<int64_t, Dataset> loaded;
  const int64_t train = spec.data.train_examples;
  const auto it = loaded.find(train);
  if (it != loaded.end()) return it->second;
  auto data =
      LoadDataset("fashion-mnist-sample", SyntheticDataRoot(), {train, spec.data.test_examples});
  EXPECT_TRUE(data.ok()) << data.status();
  return loaded[train] = *std::move(data);
}

std::string NewFolder() {
  std::string name = testing::TempDir() + "/noisefloor-resume-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  return name;
}

// All sources fixed but augmentation, dropout and order, which draw; 3 epochs of 5 steps, the last
// one smaller; a test at the end of each.
Specification Small(const std::string& model) {
  Specification spec = ExampleSpecification();
  spec.data.name = "fashion-mnist-sample";
  spec.data.train_examples = 57;
  spec.data.test_examples = 40;
  spec.train.batch_size = 12;
  spec.train.epochs = kEpochs;
  spec.train.optimizer.momentum = 0.9;
  spec.evaluate.batch_size = 40;
  spec.evaluate.predictions = "all";
  spec.model.name = model;
  if (model == "small_cnn" || model == "resnet18") spec.model.batch_norm_momentum = 0.3;
  if (model == "mlp") spec.model.hidden = 16;
  if (model == "resnet18") {  // As many steps, of fewer examples.
    spec.data = {.name = "fashion-mnist-sample", .train_examples = 15, .test_examples = 6};
    spec.train.batch_size = 3;
  }
  spec.train.schedule.name = "cosine";
  spec.augment.crop_padding = 2;
  spec.augment.flip = true;
  return spec;
}

struct Dies : std::exception {};  // As a process that is killed: nothing is done any more.

// How one attempt is ended, and what it keeps until then.
struct Attempt {
  int64_t stop_after = kNever;  // Steps; asked to stop, as by SIGTERM.
  int64_t die_after = kNever;   // Steps; killed, when the last checkpoint is whole.
  bool every_step = false;      // A checkpoint.
};

// What it leaves behind. Of the events only what is compared: records and artifacts.
struct Left {
  Ending ending = Ending::kInterrupted;
  std::vector<std::string> told;
  std::map<std::string, std::string> hashes;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> files;  // SHA-256 by name.
  TrainReport report;
  Json cost;  // Of its checkpoints.
};

// The clock of a training whose steps take no time.
class StandingClock final : public Clock {
 public:
  absl::Time Now() const override { return SystemClock().Now(); }
  absl::Duration Steady() const override { return absl::ZeroDuration(); }
};

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"progress\"") == std::string::npos) lines.push_back(line);
  }
  return lines;
}

// A member on its way through attempts, with checkpoints in a folder of its own.
class Member {
 public:
  explicit Member(Specification spec) : Member(std::move(spec), NewFolder(), LocalFileSystem()) {}
  Member(Specification spec, std::string checkpoints, FileSystem& files)
      : checkpoints_(std::move(checkpoints)), files_(files) {
    request_.specification = std::move(spec);
  }

  Left Run(const Attempt& attempt) {
    request_.work_directory = NewFolder();
    const std::string events = NewFolder() + "/events";
    const int file = open(events.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    Left left;
    Reporter reporter(file);
    Results results(request_, Data(request_.specification), reporter);
    try {
      Train(attempt, results, reporter, left);
    } catch (const Dies&) {
    }
    close(file);
    left.told = LinesOf(events);
    left.hashes = results.outcome().hashes;
    left.metrics = results.outcome().metrics;
    for (const auto& entry : fs::directory_iterator(request_.work_directory)) {
      left.files[entry.path().filename()] = *Sha256File(entry.path());
    }
    return left;
  }

  const std::string& checkpoints() const { return checkpoints_; }

 private:
  void Train(const Attempt& attempt, Results& results, Reporter& reporter, Left& left) {
    const Specification& spec = request_.specification;
    const Streams streams = MakeStreams(spec);
    const SwitchPlan switches = PlanSwitches(spec, streams.threads);
    (void)SetSwitches(switches);
    const auto every = attempt.every_step ? absl::ZeroDuration() : absl::InfiniteDuration();
    CheckpointFolder folder(checkpoints_, "m", {{"member", "m"}}, files_);
    ASSERT_TRUE(folder.Open().ok());
    Checkpointer checkpoints(std::move(folder), every, request_.work_directory, clock_);
    int64_t asked = -1;
    const auto stop_asked = [&] {
      // Before the loop's next look the checkpoint of this one is whole: no moment is left to
      // chance.
      if (attempt.every_step) (void)checkpoints.Measured();
      ++asked;
      if (begin_ + asked >= attempt.die_after) throw Dies();
      return begin_ + asked >= attempt.stop_after;
    };
    const auto report = noisefloor::trainer::Train(
        {spec, Data(spec), streams, switches, at::kCPU, clock_, stop_asked, &checkpoints}, results,
        reporter);
    ASSERT_TRUE(report.ok()) << report.status();
    left.report = *report;
    left.cost = checkpoints.Measured();
    left.ending = report->ending;
    begin_ = report->ending == Ending::kInterrupted ? report->steps : 0;
  }

  const std::string checkpoints_;
  FileSystem& files_;
  TrainerRequest request_;
  StandingClock clock_;
  int64_t begin_ = 0;  // Steps done where the next attempt goes on, if its checkpoint is whole.
};

Left Undisturbed(const Specification& spec) { return Member(spec).Run({}); }

void ExpectSame(const Left& left, const Left& undisturbed) {
  EXPECT_EQ(left.ending, Ending::kDone);
  EXPECT_EQ(left.told, undisturbed.told);
  EXPECT_EQ(left.hashes, undisturbed.hashes);
  EXPECT_EQ(left.metrics, undisturbed.metrics);
  EXPECT_EQ(left.files, undisturbed.files);
  EXPECT_EQ(left.report.steps, undisturbed.report.steps);
}

// Asked to stop after each of these steps in turn, then to its end.
Left Interrupted(const Specification& spec, const std::vector<int64_t>& stops) {
  Member member(spec);
  for (const int64_t stop : stops) {
    const Left left = member.Run({.stop_after = stop});
    EXPECT_EQ(left.ending, Ending::kInterrupted);
    EXPECT_EQ(left.report.steps, stop);
    EXPECT_TRUE(left.report.is_kept);
  }
  const Left left = member.Run({});
  EXPECT_EQ(left.report.resumed_at, stops);
  return left;
}

TEST(ResumeTest, AtEveryStepOfATraining) {
  const Specification spec = Small("mlp");
  const Left undisturbed = Undisturbed(spec);
  ASSERT_EQ(undisturbed.hashes.size(), 7u) << "three tests, and what belongs to the whole";
  ASSERT_EQ(undisturbed.files.size(), 5u);
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
  ExpectSame(member.Run({}), undisturbed);
}

// The folder of a member that is killed holds its last two checkpoints; the last may be damaged.
TEST(ResumeTest, KilledAndWithItsLastCheckpointDamaged) {
  const Specification spec = Small("mlp");
  const Left undisturbed = Undisturbed(spec);
  for (const int64_t step : {1, 4, 5, 6, 9, 10, 11, 14}) {
    SCOPED_TRACE(step);
    Member member(spec);
    (void)member.Run({.die_after = step + 1, .every_step = true});
    ExpectSame(member.Run({}), undisturbed);
    if (step < 2) continue;
    Member damaged(spec);
    (void)damaged.Run({.die_after = step + 1, .every_step = true});
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(damaged.checkpoints() + "/m")) {
      if (entry.path().filename() != "kept") folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
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
  spec.evaluate.predictions = "final";  // No file of the work folder belongs to a checkpoint.
  ModelDisk disk;
  Member member(spec, "/checkpoints", disk);
  disk.FailAt(30, ENOSPC, /*lasting=*/true);
  const Left left = member.Run({.every_step = true});
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

void FreeSource(Specification& spec, NoiseSource source) {
  const Lane lane{0, 7};
  spec.Source(source) = {SourceState::kFree, lane, DeriveSeed(0, source, lane)};
}

std::vector<Variant> Sources() {
  return {{"fixed", [](Specification&) {}},
          {"shards", [](Specification& s) { s.train.shards = 3; }},
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
