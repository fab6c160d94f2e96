#include <cmath>
#include <filesystem>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/atomic_file.h"
#include "common/files/data_roots.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/datasets.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress.h"
#include "coordinator/cli/replay_run.h"
#include "coordinator/cli/replay_verdict.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/terminal_text.h"
#include "worker/devices/cpu.h"
#include "worker/devices/layout.h"

namespace noisefloor::cli {

namespace {

// All that the coordinator knows of it, so that it need not be held during the training.
struct Original {
  v1::Member member;
  Specification specification;
  std::map<std::string, std::string> hashes;
  TrainedBy trained_by;
  Cohort cohort;
};

struct Verdict {
  std::vector<std::string> reasons;  // Why equal bits were not promised; empty: they were.
  std::vector<HashPair> pairs;
  std::string difference;
  double top1 = 0;
  bool bits_promised() const { return reasons.empty(); }
  bool bits_equal() const { return difference.empty(); }
};

double MetricOf(const std::map<std::string, double>& metrics, const std::string& name) {
  const auto it = metrics.find(name);
  return it == metrics.end() ? std::nan("") : it->second;
}

std::string TextOf(const Json& object, const char* key) {
  const bool there = object.is_object() && object.contains(key) && object[key].is_string();
  return there ? object[key].get<std::string>() : "";
}

absl::StatusOr<std::vector<double>> Top1OfCohort(Connection& connection, const v1::Member& member) {
  NF_ASSIGN_OR_RETURN(const std::vector<v1::Member> members,
                      ListMembers(connection, member.sweep(), v1::MEMBER_STATE_DONE));
  std::vector<double> values;
  for (const v1::Member& other : members) {
    const auto& metrics = other.outcome().metrics();
    const auto top1 = metrics.find("top1");
    if (other.cell() != member.cell() || top1 == metrics.end()) continue;
    if (std::isfinite(top1->second)) values.push_back(top1->second);
  }
  return values;
}

// What a top-1 is counted on; 0: not known.
int64_t TestExamples(const Specification& specification) {
  const KnownDataset* known = FindDataset(specification.data.name);
  const int64_t asked = specification.data.test_examples;
  return asked > 0 || known == nullptr ? asked : known->test_examples;
}

absl::StatusOr<Original> Fetch(Connection& connection, const std::string& id) {
  Original original;
  NF_ASSIGN_OR_RETURN(original.member, GetMember(connection, id));
  const v1::Member& member = original.member;
  const v1::Outcome& outcome = member.outcome();
  if (outcome.hashes().empty() ||
      (member.state() != v1::MEMBER_STATE_DONE && member.state() != v1::MEMBER_STATE_DIVERGED)) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} is {}: expected a member that is done or diverged", id,
                                 Name(member.state())));
  }
  if (Sha256Hex(member.specification()) != member.specification_sha256()) {
    return MakeError(absl::StatusCode::kDataLoss,
                     id + ": its specification does not have its hash");
  }
  NF_ASSIGN_OR_RETURN(original.specification, SpecificationFromJson(member.specification()));
  original.hashes.insert(outcome.hashes().begin(), outcome.hashes().end());
  const Json environment = Json::parse(outcome.environment(), nullptr, false);
  original.trained_by = {.stack = member.stack(),
                         .build = TextOf(environment, "build"),
                         .conditions = ConditionsOf(environment)};
  NF_ASSIGN_OR_RETURN(const std::vector<double> top1, Top1OfCohort(connection, member));
  original.cohort = SumUp(top1, TestExamples(original.specification));
  return original;
}

// Of a class that this machine has; refused in words otherwise.
absl::StatusOr<Variables> VariablesHere(const Specification& specification) {
  NF_ASSIGN_OR_RETURN(const Host host, ReadHost());
  const GpuCount wanted = CountGpus(specification.hardware_class);
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> classes, ChooseClasses(host, {wanted.one}));
  const Layout layout = LayOut(host, classes, {.gpus_per_slot = wanted.count});
  if (layout.slots.empty()) {
    return InvalidInput(fmt::format("hardware class '{}': this machine has fewer of these GPUs",
                                    specification.hardware_class));
  }
  ClassRequest request = {.hardware_class = specification.hardware_class,
                          .gpu_uuid = UuidsOf(layout.slots.front())};
  request.kernels_fixed = specification.Source(NoiseSource::kKernels).state != SourceState::kFree;
  return VariablesOf(request);
}

// HOME/replays/s1c2r0-1, or the next number that is free.
absl::StatusOr<std::string> MakeFolder(const std::string& home, const std::string& member) {
  std::error_code error;
  const std::string parent = std::filesystem::absolute(home + "/replays", error).string();
  NF_RETURN_IF_ERROR(CreateDirectories(parent));
  for (int number = 1; number < 100'000; ++number) {
    const std::string path = fmt::format("{}/{}-{}", parent, member, number);
    if (std::filesystem::create_directory(path, error)) return path;
    if (error) break;
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("{}: no folder can be made: {}", parent, error.message()));
}

std::string CohortText(const Cohort& cohort) {
  if (cohort.count == 0) return "no member of its cohort has a top-1";
  const std::string spread =
      cohort.count > 1 ? fmt::format(", SD {:.3f} %", 100 * cohort.sd) : ", one member only";
  return fmt::format("cohort of {}: mean top-1 {:.2f} %{}", cohort.count, 100 * cohort.mean,
                     spread);
}

Json ResultJson(const Original& original, const Verdict& verdict, const ReplayEnd& end,
                const std::string& folder) {
  Json hashes = Json::object();
  for (const HashPair& pair : verdict.pairs) {
    hashes[pair.name] = {
        {"original", pair.original}, {"replay", pair.replay}, {"equal", pair.equal()}};
  }
  Json metrics = Json::object();
  for (const auto& [name, value] : end.outcome.metrics) metrics[name] = JsonNumber(value);
  const Cohort& cohort = original.cohort;
  return {{"version", 1},
          {"replay_of", original.member.id()},
          {"attempt_of_original", original.member.attempt()},
          {"folder", folder},
          {"expected", verdict.bits_promised() ? "equal bits" : "the distribution"},
          {"reasons", verdict.reasons},
          {"bits_equal", verdict.bits_equal()},
          {"first_difference", verdict.difference},
          {"hashes", hashes},
          {"metrics", metrics},
          {"cohort",
           {{"members", cohort.count},
            {"mean_top1", JsonNumber(cohort.mean)},
            {"sd_top1", JsonNumber(cohort.sd)},
            {"half_width_95", JsonNumber(cohort.half_width)}}},
          {"in_distribution", IsLikely(cohort, verdict.top1)},
          {"stack", end.hello.stack},
          {"build", end.hello.build},
          {"train_seconds", JsonNumber(end.outcome.train_seconds)}};
}

class Replay final : public Command {
 public:
  std::string_view Name() const override { return "replay"; }
  std::string_view Help() const override {
    return "Train a finished member again here and compare; no result is replaced";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor replay s1c2r0
  noisefloor replay s1c2r0 --data-root=/data --output=json)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("member", member_, "the member, such as s1c2r0")->required();
    app.add_option("--trainer", trainer_, "the program (default: noisefloor-trainer beside this)")
        ->type_name("FILE");
    app.add_option("--data-root", data_root_, kDataRootHelp)->type_name("DIRS");
  }

  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckMember(member_));
    NF_RETURN_IF_ERROR(CheckGivenRoots(data_root_));
    Original original;
    {
      NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
      NF_ASSIGN_OR_RETURN(original, Fetch(connection, member_));
    }
    NF_ASSIGN_OR_RETURN(const Variables variables, VariablesHere(original.specification));
    SayExpectation(context, original);
    NF_ASSIGN_OR_RETURN(const std::string folder, MakeFolder(context.options.home, member_));
    NF_RETURN_IF_ERROR(CreateDirectories(folder + "/work"));
    NF_ASSIGN_OR_RETURN(const ReplayEnd end, Train(context, original, variables, folder));
    const Verdict verdict = Judge(original, end);
    const Json result = ResultJson(original, verdict, end, folder);
    NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/replay.json", result.dump(2) + "\n"));
    if (context.Json()) {
      PrintJson(context.out, result);
    } else {
      Print(context, original, verdict, folder);
    }
    return verdict.bits_promised() && !verdict.bits_equal() ? kDidNotHold : kDone;
  }

 private:
  // Who trains here is known when it says hello; until then only the processor is.
  static void SayExpectation(const Context& context, const Original& original) {
    TrainedBy here = original.trained_by;
    if (const auto cpu = ReadCpuFacts(); cpu.ok()) here.conditions["processor"] = cpu->model;
    const auto reasons = WhyBitsMayDiffer(original.specification, original.trained_by, here);
    context.err << (reasons.empty()
                        ? "expects equal bits from the same trainer: every physical source is fixed"
                        : fmt::format("expects the distribution, not equal bits: {}",
                                      fmt::join(reasons, "; ")))
                << "\n"
                << CohortText(original.cohort) << "\n";
  }

  absl::StatusOr<ReplayEnd> Train(const Context& context, const Original& original,
                                  const Variables& variables, const std::string& folder) const {
    ReplayRun run;
    run.program = trainer_.empty() ? context.program_folder + "/noisefloor-trainer" : trainer_;
    run.request.member = member_;
    run.request.attempt = std::max<uint32_t>(1, original.member.attempt());
    run.request.specification = original.specification;
    run.request.data_root = JoinDataRoots(DataRoots(context, data_root_));
    run.request.work_directory = folder + "/work";
    run.variables = variables;
    run.folder = folder;
    const bool draw = context.ErrRedraws();
    if (draw) {
      run.progress = [&](const ProgressEvent& progress) {
        const double steps = static_cast<double>(std::max<int64_t>(1, progress.step_count));
        context.err << Style::kLineStart
                    << fmt::format("{} step {} of {}",
                                   Bar(static_cast<double>(progress.step) / steps), progress.step,
                                   progress.step_count)
                    << Style::kClearToRight << std::flush;
      };
    }
    const StopSignal stop;
    absl::StatusOr<ReplayEnd> end = RunTrainer(run, stop);
    if (draw) context.err << Style::kClearLine << std::flush;
    return end;
  }

  static Verdict Judge(const Original& original, const ReplayEnd& end) {
    Verdict verdict;
    // What an outcome leaves out, the hello has said.
    TrainedBy here = {.stack = end.hello.stack, .build = end.hello.build};
    for (const std::string& text : {end.outcome.environment, end.hello.environment}) {
      here.conditions.merge(ConditionsOf(Json::parse(text, nullptr, false)));
    }
    verdict.reasons = WhyBitsMayDiffer(original.specification, original.trained_by, here);
    verdict.pairs = PairHashes(original.hashes, end.outcome.hashes);
    verdict.difference = FirstDifference(verdict.pairs);
    verdict.top1 = MetricOf(end.outcome.metrics, "top1");
    return verdict;
  }

  static void Print(const Context& context, const Original& original, const Verdict& verdict,
                    const std::string& folder) {
    Table table({"hash", "original", "replay", "equal"});
    for (const HashPair& pair : verdict.pairs) {
      const auto shown = [](const std::string& hash) {
        return hash.empty() ? std::string("-") : hash.substr(0, 16);
      };
      table.Add({pair.name, shown(pair.original), shown(pair.replay), pair.equal() ? "yes" : "no"});
    }
    table.Print(context);
    context.out << (verdict.bits_promised() ? "expected: equal bits\n"
                                            : fmt::format("expected: the distribution ({})\n",
                                                          fmt::join(verdict.reasons, "; ")));
    context.out << (verdict.bits_equal()
                        ? "held: equal bits\n"
                        : fmt::format("the bits differ, first in {}\n", verdict.difference));
    if (!verdict.bits_equal()) PrintDistribution(context, original.cohort, verdict.top1);
    context.out << "kept in " << folder << "\n";
  }

  static void PrintDistribution(const Context& context, const Cohort& cohort, double top1) {
    context.out << fmt::format("{}; the replay has {}\n", CohortText(cohort), Percent(top1));
    if (!std::isfinite(cohort.half_width)) return;
    context.out << fmt::format(
        "{}: one more training of this cohort lies within {:.2f} % of its mean in 95 of 100 cases, "
        "were top-1 normal but for its counting in examples; the replay is {:.2f} % away\n",
        IsLikely(cohort, top1) ? "held: the distribution" : "did not hold: the distribution",
        100 * cohort.half_width, 100 * std::abs(top1 - cohort.mean));
  }

  std::string member_;
  std::string trainer_;
  std::string data_root_;
};

}  // namespace

std::unique_ptr<Command> MakeReplay() { return std::make_unique<Replay>(); }

}  // namespace noisefloor::cli
