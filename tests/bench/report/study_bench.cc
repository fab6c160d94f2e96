// How long a study takes to build, from members in memory: no files, no hashes of files. One plan
// that frees the seeded sources on three classes of hardware.
//
//   noisefloor-study-bench [--members=R,...] [--examples=N] [--classes=K] [--parameters=P]
//                          [--answers-only]
//
// With --answers-only members have what digests say and no logits, as those of a home whose logits
// are more than a study reads.
//
// Prints a line of JSON for each R: members a class, seconds (the least of three), and the same
// without weights. Fails when a study is empty.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"

#include "common/base/philox.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {
namespace {

struct Size {
  uint32_t replicates = 0;
  int64_t examples = 0;
  int32_t classes = 0;
  int64_t parameters = 0;
  bool answers_only = false;
};

constexpr const char* kHardware[] = {"cpu-a", "cpu-b", "cpu-c"};

// Owns what the input views.
struct Made {
  StudyInput input;
  std::vector<std::vector<float>> logits;
  std::vector<std::vector<int16_t>> answers;
  std::vector<std::vector<float>> weights;
};

std::vector<float> Values(uint64_t seed, int64_t count) {
  const PhiloxStream stream(seed, StreamOf("study bench"));
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(UniformFloat(stream.Word(static_cast<uint64_t>(i))));
  }
  return values;
}

// Nine of ten are right; the wrong ones are anything.
std::vector<int16_t> Answers(uint64_t seed, const Size& size) {
  const PhiloxStream stream(seed, StreamOf("study bench"));
  std::vector<int16_t> answers;
  answers.reserve(static_cast<size_t>(size.examples));
  for (int64_t x = 0; x < size.examples; ++x) {
    const uint32_t word = stream.Word(static_cast<uint64_t>(x));
    const int64_t said = word % 10 == 0 ? word / 10 % size.classes : x % size.classes;
    answers.push_back(static_cast<int16_t>(said));
  }
  return answers;
}

void AddMember(const Size& size, uint32_t cell, uint32_t replicate, Made& made) {
  MemberInput& member = made.input.members.emplace_back();
  member.id = "s1c" + std::to_string(cell) + "r" + std::to_string(replicate);
  member.cell = cell;
  member.replicate = replicate;
  member.state = MemberState::kDone;
  member.attempts = 1;
  for (const NoiseSource source : {NoiseSource::kInit, NoiseSource::kDataOrder}) {
    member.lanes[source] = {0, replicate + 1};
  }
  const uint64_t seed = uint64_t{cell} << 32 | replicate;
  int64_t right = 0;
  if (size.answers_only) {
    const std::vector<int16_t>& answers = made.answers.emplace_back(Answers(seed, size));
    for (int64_t x = 0; x < size.examples; ++x) {
      right += answers[static_cast<size_t>(x)] == x % size.classes;
    }
    member.answers = answers;
  } else {
    std::vector<float>& logits =
        made.logits.emplace_back(Values(seed, size.examples * size.classes));
    for (int64_t x = 0; x < size.examples; ++x) {
      float* const row = logits.data() + x * size.classes;
      row[x % size.classes] += 0.9F;  // Most answers are right.
      right += std::max_element(row, row + size.classes) - row == x % size.classes;
    }
    member.predictions = logits;
  }
  member.final_metrics["top1"] = static_cast<double>(right) / static_cast<double>(size.examples);
  member.hashes.weights = member.hashes.logits = member.id;
  if (size.parameters == 0) return;
  made.weights.push_back(Values(~seed, size.parameters));
  member.weights = Weights{.parameters = {made.weights.back()}, .buffers = {}};
}

Made Make(const Size& size) {
  Made made;
  made.input.sweep.id = "s1";
  made.input.sweep.name = "bench";
  EvaluationSet& set = made.input.evaluations[0];
  set.classes = size.classes;
  for (int64_t x = 0; x < size.examples; ++x) {
    set.labels.push_back(static_cast<int32_t>(x % size.classes));
  }
  made.logits.reserve(3 * size.replicates);
  made.answers.reserve(3 * size.replicates);
  made.weights.reserve(3 * size.replicates);
  for (uint32_t c = 0; c < 3; ++c) {
    CellInput& cell = made.input.cells.emplace_back();
    cell.index = c;
    cell.plan = "algo";
    cell.hardware = kHardware[c];
    cell.stack = "stack";
    for (const NoiseSource source : kAllNoiseSources) cell.sources[source] = SourceState::kFixed;
    cell.sources[NoiseSource::kInit] = cell.sources[NoiseSource::kDataOrder] = SourceState::kFree;
    cell.sources[NoiseSource::kPoke] = SourceState::kOff;
    for (uint32_t r = 0; r < size.replicates; ++r) AddMember(size, c, r, made);
  }
  return made;
}

double SecondsOf(const StudyInput& input) {
  double least = 1e300;
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const Study study = BuildStudy(input);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (study.cohorts.empty()) return -1;
    least = std::min(least, took.count());
  }
  return least;
}

int Main(int argc, char** argv) {
  std::vector<uint32_t> members = {100, 333};
  Size size{.examples = 10000, .classes = 10, .parameters = 15722};
  CLI::App app("How long a study takes to build");
  app.add_option("--members", members, "of each of three classes")->delimiter(',');
  app.add_option("--examples", size.examples, "of the test set");
  app.add_option("--classes", size.classes, "of the data set");
  app.add_option("--parameters", size.parameters, "of a network");
  app.add_flag("--answers-only", size.answers_only, "no logits");
  CLI11_PARSE(app, argc, argv);
  for (const uint32_t replicates : members) {
    size.replicates = replicates;
    Made made = Make(size);
    const double whole = SecondsOf(made.input);
    for (MemberInput& member : made.input.members) member.weights = {};
    const double without_weights = SecondsOf(made.input);
    if (whole < 0 || without_weights < 0) return 1;
    std::printf(
        "{\"members_a_class\": %u, \"examples\": %lld, \"classes\": %d, \"parameters\": %lld, "
        "\"seconds\": %.3f, \"seconds_without_weights\": %.3f}\n",
        replicates, static_cast<long long>(size.examples), size.classes,
        static_cast<long long>(size.parameters), whole, without_weights);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace noisefloor::report

int main(int argc, char** argv) { return noisefloor::report::Main(argc, argv); }
