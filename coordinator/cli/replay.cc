#include <algorithm>
#include <cmath>
#include <optional>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/data_roots.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/datasets.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/training_json.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/data_search.h"
#include "coordinator/cli/listing.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/progress.h"
#include "coordinator/cli/replay_verdict.h"
#include "coordinator/cli/submission.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/train_here.h"
#include "worker/devices/cpu.h"

namespace noisefloor::cli {

namespace {

struct Original {
  v1::Member member;
  Training training;
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
  Listing cohort = {.sweep = member.sweep()};
  cohort.selection.add_states(v1::MEMBER_STATE_DONE);
  cohort.selection.add_cells(member.cell());
  std::vector<double> values;
  NF_RETURN_IF_ERROR(VisitSelected(connection, cohort, [&](v1::Member&& other) {
    if (other.cell() != member.cell()) return;  // An older coordinator tells all of the sweep.
    const auto& metrics = other.outcome().metrics();
    const auto top1 = metrics.find("top1");
    if (top1 != metrics.end() && std::isfinite(top1->second)) values.push_back(top1->second);
  }));
  return values;
}

// What a top-1 is counted on; 0: not known.
int64_t TestExamples(const Training& training) {
  const KnownDataset* known = FindDataset(TextSetting(training.settings, "data.name"));
  const int64_t asked = IntSetting(training.settings, "data.test_examples");
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
  NF_ASSIGN_OR_RETURN(original.training, TrainingFromJson(member.specification()));
  original.hashes.insert(outcome.hashes().begin(), outcome.hashes().end());
  const Json environment = Json::parse(outcome.environment(), nullptr, false);
  original.trained_by = {.stack = member.stack(),
                         .build = TextOf(environment, "build"),
                         .conditions = ConditionsOf(environment)};
  NF_ASSIGN_OR_RETURN(const std::vector<double> top1, Top1OfCohort(connection, member));
  original.cohort = SumUp(top1, TestExamples(original.training));
  return original;
}

std::string CohortText(const Cohort& cohort) {
  if (cohort.count == 0) return "no member of its cohort has a top-1";
  const std::string spread =
      cohort.count > 1 ? fmt::format(", SD {:.3f} %", 100 * cohort.sd) : ", one member only";
  return fmt::format("cohort of {}: mean top-1 {:.2f} %{}", cohort.count, 100 * cohort.mean,
                     spread);
}

// One replay beside its original.
struct Compared {
  v1::Member replay;
  Verdict verdict;
};

Json ToJson(const Original& original, const Compared& compared) {
  const Verdict& verdict = compared.verdict;
  Json hashes = Json::object();
  for (const HashPair& pair : verdict.pairs) {
    hashes[pair.name] = {
        {"original", pair.original}, {"replay", pair.replay}, {"equal", pair.equal()}};
  }
  const v1::Outcome& outcome = compared.replay.outcome();
  Json metrics = Json::object();
  for (const auto& [name, value] : outcome.metrics()) metrics[name] = JsonNumber(value);
  const std::optional<bool> likely = IsLikely(original.cohort, verdict.top1);
  return {{"member", compared.replay.id()},
          {"worker", compared.replay.worker()},
          {"hardware", compared.replay.hardware()},
          {"stack", compared.replay.stack()},
          {"expected", verdict.bits_promised() ? "equal bits" : "the distribution"},
          {"reasons", verdict.reasons},
          {"bits_equal", verdict.bits_equal()},
          {"first_difference", verdict.difference},
          {"hashes", hashes},
          {"metrics", metrics},
          {"in_distribution", likely ? Json(*likely) : Json()},
          {"train_seconds", JsonNumber(outcome.train_seconds())}};
}

Json ResultJson(const Original& original, uint64_t sweep, const std::vector<Compared>& all) {
  Json replays = Json::array();
  for (const Compared& compared : all) replays.push_back(ToJson(original, compared));
  const Cohort& cohort = original.cohort;
  return {{"version", 2},
          {"replay_of", original.member.id()},
          {"attempt_of_original", original.member.attempt()},
          {"sweep", fmt::format("s{}", sweep)},
          {"replays", replays},
          {"cohort",
           {{"members", cohort.count},
            {"mean_top1", JsonNumber(cohort.mean)},
            {"sd_top1", JsonNumber(cohort.sd)},
            {"half_width_95", JsonNumber(cohort.half_width)}}}};
}

class Replay final : public Command {
 public:
  std::string_view Name() const override { return "replay"; }
  std::string_view Help() const override {
    return "Train a finished member again and compare; no result is replaced";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor replay s1c2r0            # after what its home has waiting
  noisefloor replay s1c2r0 --times=5 --output=json
  noisefloor replay s1c2r0 --coordinator=box:7077 --hardware=nvidia-h200 --stack=any)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("member", member_, "the member, such as s1c2r0")->required();
    app.add_option("--times", times_, "how often")->type_name("N")->check(CLI::Range(1, 1000));
    app.add_option("--hardware", hardware_, "on this hardware class (default: the member's)")
        ->type_name("CLASS");
    app.add_option("--stack", stack_, "with this stack, or any (default: the member's)")
        ->type_name("STACK");
    app.add_option("--data-root", data_root_, kDataRootHelp)->type_name("DIRS");
    app.add_option("--trainer", trainers_, kTrainerHelp)
        ->type_name("STACK=COMMAND")
        ->check(StackAndCommand())
        ->allow_extra_args(false);
  }

  // Here, with a worker beside this process; or, where a coordinator serves, with its workers.
  absl::StatusOr<int> Run(Context& context) override {
    NF_RETURN_IF_ERROR(CheckMember(member_));
    if (!hardware_.empty()) NF_RETURN_IF_ERROR(CheckClassNames({hardware_}));
    NF_RETURN_IF_ERROR(CheckGivenRoots("--data-root", data_root_));
    OutliveReaders();
    NF_ASSIGN_OR_RETURN(Connection connection, OpenToTrainSomewhere(context));
    NF_ASSIGN_OR_RETURN(const Original original, Fetch(connection, member_));
    uint64_t number = 0;
    const auto submit = [&](Connection& to) -> absl::StatusOr<uint64_t> {
      if (!to.remote()) {
        NF_RETURN_IF_ERROR(CheckIsHere(to, {Hardware(original), Stack(original)}));
      }
      NF_ASSIGN_OR_RETURN(number, Submit(context, to));
      SayExpectation(context, original, !to.remote());
      return number;
    };
    NF_ASSIGN_OR_RETURN(const TrainedHere trained,
                        TrainSomewhere(context, connection, Worker(context, original), submit));
    if (trained.stopped) return Withdraw(context, connection, trained.sweep);
    NF_ASSIGN_OR_RETURN(const Replays replays, Compare(connection, original, number));
    const int code = Print(context, original, number, replays.all);
    for (const std::string& failed : replays.failed) context.err << failed << "\n";
    return replays.failed.empty() ? code : kFailedMembers;
  }

 private:
  // Who trains here is known when it has; until then only the processor is.
  static void SayExpectation(const Context& context, const Original& original, bool here) {
    TrainedBy trainer = original.trained_by;
    if (here) trainer.conditions["processor"] = ReadCpuFacts().model;
    const auto reasons = WhyBitsMayDiffer(original.training, original.trained_by, trainer);
    context.err << (reasons.empty()
                        ? "expects equal bits from the same trainer: every physical source is fixed"
                        : fmt::format("expects the distribution, not equal bits: {}",
                                      fmt::join(reasons, "; ")))
                << "\n"
                << CohortText(original.cohort) << "\n";
  }

  absl::StatusOr<uint64_t> Submit(const Context& context, Connection& connection) const {
    v1::ReplayMemberRequest request;
    request.set_member(member_);
    request.set_count(static_cast<uint32_t>(times_));
    request.set_hardware_class(hardware_);
    request.set_stack(stack_);
    request.set_request_id(MakeRequestId(context));
    NF_ASSIGN_OR_RETURN(const v1::ReplayMemberResponse answer,
                        connection.Call(&Stub::ReplayMember, request));
    context.err << fmt::format("s{} trains it again\n", answer.sweep_id());
    return answer.sweep_id();
  }

  // The class that is asked for; else that of the original.
  const std::string& Hardware(const Original& original) const {
    return hardware_.empty() ? original.member.hardware() : hardware_;
  }

  // Likewise.
  const std::string& Stack(const Original& original) const {
    return stack_.empty() ? original.member.stack() : stack_;
  }

  LocalWorkerSettings Worker(const Context& context, const Original& original) const {
    const uint32_t gpus = std::max<uint32_t>(1, CountGpus(Hardware(original)).count);
    return {.gpus_per_slot = gpus,
            .data_roots = JoinDataRoots(DataRoots(context, data_root_)),
            .trainers = trainers_,
            .stacks = InstalledOf({Stack(original)})};
  }

  struct Replays {
    std::vector<Compared> all;        // That ended with a result.
    std::vector<std::string> failed;  // In words.
  };

  static absl::StatusOr<Replays> Compare(Connection& connection, const Original& original,
                                         uint64_t sweep) {
    NF_ASSIGN_OR_RETURN(const std::vector<v1::Member> members,
                        ListMembers(connection, sweep, v1::MEMBER_STATE_UNSPECIFIED));
    Replays replays;
    for (const v1::Member& listed : members) {
      NF_ASSIGN_OR_RETURN(v1::Member replay, GetMember(connection, listed.id()));
      if (replay.state() != v1::MEMBER_STATE_DONE && replay.state() != v1::MEMBER_STATE_DIVERGED) {
        replays.failed.push_back(fmt::format(
            "the replay {} is {}{}{}", replay.id(), cli::Name(replay.state()),
            replay.outcome().cause().empty() ? "" : ", ",
            replay.outcome().cause() + (replay.outcome().message().empty() ? "" : ": ") +
                replay.outcome().message()));
        continue;
      }
      Verdict verdict = Judge(original, replay);
      replays.all.push_back({std::move(replay), std::move(verdict)});
    }
    return replays;
  }

  static Verdict Judge(const Original& original, const v1::Member& replay) {
    const v1::Outcome& outcome = replay.outcome();
    const Json environment = Json::parse(outcome.environment(), nullptr, false);
    const TrainedBy here = {.stack = replay.stack(),
                            .build = TextOf(environment, "build"),
                            .conditions = ConditionsOf(environment)};
    Verdict verdict;
    verdict.reasons = WhyBitsMayDiffer(original.training, original.trained_by, here);
    if (replay.hardware() != original.member.hardware()) {
      verdict.reasons.push_back(fmt::format("the hardware class was {} and is {} here",
                                            original.member.hardware(), replay.hardware()));
    }
    verdict.pairs = PairHashes({original.hashes.begin(), original.hashes.end()},
                               {outcome.hashes().begin(), outcome.hashes().end()});
    verdict.difference = FirstDifference(verdict.pairs);
    verdict.top1 = MetricOf({outcome.metrics().begin(), outcome.metrics().end()}, "top1");
    return verdict;
  }

  static int Print(Context& context, const Original& original, uint64_t sweep,
                   const std::vector<Compared>& all) {
    if (context.Json()) {
      PrintJson(context.out, ResultJson(original, sweep, all));
    } else {
      for (const Compared& compared : all) PrintOne(context, original, compared);
      context.out << fmt::format("kept as s{}\n", sweep);
    }
    const bool failed = std::ranges::any_of(all, [](const Compared& compared) {
      return compared.verdict.bits_promised() && !compared.verdict.bits_equal();
    });
    return failed ? kDidNotHold : kDone;
  }

  static void PrintOne(const Context& context, const Original& original, const Compared& compared) {
    const Verdict& verdict = compared.verdict;
    context.out << fmt::format("{} on {}\n", compared.replay.id(), compared.replay.worker());
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
  }

  static void PrintDistribution(const Context& context, const Cohort& cohort, double top1) {
    context.out << fmt::format("{}; the replay has {}\n", CohortText(cohort), Percent(top1));
    const std::optional<bool> likely = IsLikely(cohort, top1);
    if (!likely) return;
    const std::string away =
        std::isfinite(top1) ? fmt::format("is {:.2f} % away", 100 * std::abs(top1 - cohort.mean))
                            : "has none";
    context.out << fmt::format(
        "{}: one more training of this cohort lies within {:.2f} % of its mean in 95 of 100 cases, "
        "were top-1 normal but for its counting in examples; the replay {}\n",
        *likely ? "held: the distribution" : "did not hold: the distribution",
        100 * cohort.half_width, away);
  }

  std::string member_;
  std::string hardware_;
  std::string stack_;
  std::string data_root_;
  std::vector<std::string> trainers_;
  int times_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeReplay() { return std::make_unique<Replay>(); }

}  // namespace noisefloor::cli
