#include "tests/worker/trainer/resume/resumed_member.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/base/seed.h"
#include "common/files/sha256.h"
#include "tests/worker/trainer/torch/synthetic_data.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/step/train.h"

namespace noisefloor::trainer {

namespace {

namespace fs = std::filesystem;

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

struct Dies : std::exception {};  // As a process that is killed: nothing is done any more.

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"progress\"") == std::string::npos) lines.push_back(line);
  }
  return lines;
}

}  // namespace

Specification Small(const std::string& model) {
  Specification spec = ExampleSpecification();
  spec.data.name = "fashion-mnist-sample";
  spec.data.train_examples = 57;
  spec.data.test_examples = 40;
  spec.train.batch_size = 12;
  spec.train.epochs = kEpochs;
  spec.train.optimizer.momentum = 0.9;
  spec.evaluate.batch_size = 40;
  spec.evaluate.predictions = spec.evaluate.weights = "all";
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

void FreeSource(Specification& spec, NoiseSource source) {
  const Lane lane{0, 7};
  spec.Source(source) = {SourceState::kFree, lane, DeriveSeed(0, source, lane)};
}

Member::Member(Specification spec) : Member(std::move(spec), NewFolder(), LocalFileSystem()) {}

Member::Member(Specification spec, std::string checkpoints, FileSystem& files)
    : checkpoints_(std::move(checkpoints)), files_(files) {
  request_.specification = std::move(spec);
}

std::vector<std::string> Member::Folders() const {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(checkpoints_ + "/m")) {
    if (entry.path().filename() != "kept") folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

Left Member::Run(const Attempt& attempt) {
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

void Member::Train(const Attempt& attempt, Results& results, Reporter& reporter, Left& left) {
  const Specification& spec = request_.specification;
  const Streams streams = MakeStreams(spec);
  const SwitchPlan switches = PlanSwitches(spec, streams.threads);
  (void)SetSwitches(switches);
  CheckpointFolder folder(checkpoints_, "m", identity_, files_);
  ASSERT_TRUE(folder.Open().ok());
  Checkpointer checkpoints(std::move(folder), attempt.every, request_.work_directory, clock_);
  int64_t asked = -1;
  const auto stop_asked = [&] {
    // Before the loop's next look the checkpoint of this one is whole: no moment is left to
    // chance.
    if (attempt.every != absl::InfiniteDuration()) (void)checkpoints.Measured();
    clock_.Step();
    ++asked;
    if (begin_ + asked >= attempt.die_after) throw Dies();
    return begin_ + asked >= attempt.stop_after;
  };
  const std::vector<at::Device> devices(static_cast<size_t>(spec.train.devices), at::kCPU);
  const auto report = noisefloor::trainer::Train(
      {spec, Data(spec), streams, switches, devices, clock_, stop_asked, &checkpoints}, results,
      reporter);
  ASSERT_TRUE(report.ok()) << report.status();
  left.report = *report;
  left.cost = checkpoints.Measured();
  left.ending = report->ending;
  begin_ = report->ending == Ending::kInterrupted ? report->steps : 0;
}

Left Undisturbed(const Specification& spec) { return Member(spec).Run({}); }

void ExpectSame(const Left& left, const Left& undisturbed) {
  EXPECT_EQ(left.ending, Ending::kDone);
  EXPECT_EQ(left.told, undisturbed.told);
  EXPECT_EQ(left.hashes, undisturbed.hashes);
  EXPECT_EQ(left.metrics, undisturbed.metrics);
  EXPECT_EQ(left.files, undisturbed.files);
  EXPECT_EQ(left.report.steps, undisturbed.report.steps);
  EXPECT_EQ(left.report.skipped_steps, undisturbed.report.skipped_steps);
  EXPECT_EQ(left.report.examples_seen, undisturbed.report.examples_seen);
  EXPECT_EQ(left.report.examples_seen_sha256, undisturbed.report.examples_seen_sha256);
}

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

}  // namespace noisefloor::trainer
