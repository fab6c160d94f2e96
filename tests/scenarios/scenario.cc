#include "tests/scenarios/scenario.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "common/trainer_protocol/fields.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/sweep/extend.h"
#include "tests/coordinator/scheduler/fleet.h"
#include "tests/scenarios/words.h"
#include "tests/simulation/fake_store.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the events are named so often here.

namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

double ToNumber(const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  return std::stod(text);
}

// "aaaa..." for a: the hash of a data set. A longer word stays what it is.
std::string ToIdentity(const std::string& word) {
  return word.size() == 1 ? std::string(64, word[0]) : word;
}

// The world of one story: scheduler, store, clock, and the names of workers.
class World {
 public:
  std::vector<std::string> Run(const Command& command);

 private:
  void Step(const Event& event);
  void Advance(const Command& command);
  void Beat(const std::string& name);
  void Restart();
  void Explain(const std::string& what);
  void Check();
  SessionId SessionOf(const Command& command) const;
  std::vector<HeldLease> Held(const Command& command) const;

  SweepSubmitted Submit(const Command& command);
  WorkerConnected Join(const Command& command);
  RecordsArrived Records(const Command& command) const;
  AttemptFinished Finish(const Command& command) const;
  std::optional<Event> ToEvent(const Command& command);

  Options options_;
  Scheduler scheduler_{options_};
  FakeStore store_;
  absl::Time now_ = kStart;
  SessionNames names_;
  std::map<std::string, SessionId> sessions_;
  std::map<std::string, uint64_t> identities_;
  std::vector<std::string> lines_;
};

void World::Step(const Event& event) {
  const Effects effects = scheduler_.Step(event, now_);
  store_.Apply(effects.writes);
  for (const Write& write : effects.writes) lines_.push_back(Line(write));
  for (const Send& send : effects.sends) lines_.push_back(Line(send, names_));
  Check();
  if (effects.more) Step(Continue{});
}

void World::Check() {
  for (const std::string& broken : scheduler_.BrokenInvariants()) {
    lines_.push_back("problem: " + broken);
  }
  for (const std::string& violation : store_.violations()) {
    lines_.push_back("problem: " + violation);
  }
  const std::string difference = Difference(scheduler_.Durable(), store_.Recovered());
  if (!difference.empty()) lines_.push_back("problem: the store and the scheduler: " + difference);
}

void World::Advance(const Command& command) {
  const int64_t seconds = std::stoll(command.Word(0));
  for (int64_t i = 1; i <= seconds; ++i) {
    now_ += absl::Seconds(1);
    if (i % 3 == 0) {
      for (const std::string& name : command.List("alive")) Beat(name);
    }
    Step(Tick{});
  }
}

// A heartbeat that names everything that the scheduler believes of this worker.
void World::Beat(const std::string& name) {
  Heartbeat beat{sessions_.at(name), {}};
  for (const WorkerStatus& worker : scheduler_.Workers()) {
    if (worker.name != name) continue;
    for (const RunningAttempt& attempt : scheduler_.Running()) {
      if (attempt.worker == worker.worker) beat.held.push_back({attempt.lease, 0, 0, 0});
    }
  }
  Step(beat);
}

void World::Restart() {
  scheduler_ = Scheduler::Restore(options_, store_.Recovered(), now_);
  Check();
}

// A member, a sweep or a worker.
void World::Explain(const std::string& what) {
  const auto member = ParseMemberId(what);
  const auto sweep = ParseSweepId(what);
  std::optional<std::string> text;
  if (member) {
    text = scheduler_.Explain(*member, now_);
  } else if (sweep) {
    text = scheduler_.ExplainSweep(*sweep, now_);
  } else {
    text = scheduler_.ExplainWorker(what, now_);
  }
  for (const std::string& line : Split(text.value_or("there is no " + what), '\n')) {
    lines_.push_back(line);
  }
}

SessionId World::SessionOf(const Command& command) const {
  const auto it = sessions_.find(command.Word(0));
  return it == sessions_.end() ? SessionId{999} : it->second;
}

// holds=1:3:40/100,2 : lease, records sent, steps done and in all.
std::vector<HeldLease> World::Held(const Command& command) const {
  std::vector<HeldLease> held;
  for (const std::string& one : command.List("holds")) {
    const std::vector<std::string> parts = Split(one, ':');
    HeldLease& lease = held.emplace_back();
    lease.lease = LeaseId{std::stoull(parts[0])};
    if (parts.size() < 2) continue;
    const std::vector<std::string> steps = Split(parts[1], '/');
    lease.step = std::stoll(steps.at(0));
    lease.step_count = std::stoll(steps.at(1));
  }
  return held;
}

// "control", or "control:3x2": 3 blocks of 2 replicates.
sweep::PlanRequest PlanFrom(const std::string& text) {
  const size_t colon = text.find(':');
  sweep::PlanRequest plan{text.substr(0, colon), "", {}};
  if (colon == std::string::npos) return plan;
  plan.blocks = static_cast<uint32_t>(std::stoul(text.substr(colon + 1)));
  plan.replicates = static_cast<uint32_t>(std::stoul(text.substr(text.find('x', colon) + 1)));
  return plan;
}

SweepSubmitted World::Submit(const Command& command) {
  sweep::SweepRequest request;
  request.name = command.Value("name", "story");
  request.seed = command.Number("seed", 0);
  request.training = {{"data.name", command.Value("data", "mnist")}};
  for (const std::string& plan : command.List("plans", "algo")) {
    request.noise.push_back(PlanFrom(plan));
  }
  request.hardware = sweep::HardwareKind::kList;
  request.classes = command.List("hardware", "cpu");
  if (request.classes == std::vector<std::string>{"any"}) {
    request.hardware = sweep::HardwareKind::kAny;
  }
  request.stacks = command.List("stacks");
  request.replicates = static_cast<uint32_t>(command.Number("replicates", 1));
  sweep::Known known;
  for (const std::string& stack : request.stacks) known.stacks[stack] = OwnSchema();
  const auto resolved = sweep::Resolve(request, known);
  SweepSubmitted event;
  event.request = 1;
  event.request_id = command.Value("request");
  event.resume = command.Has("resume");
  event.caller = command.Value("owner");
  event.priority = static_cast<int32_t>(std::stoi(command.Value("priority", "0")));
  event.max_failures = static_cast<uint32_t>(command.Number("max_failures", 0));
  if (const auto* sweep = std::get_if<sweep::Sweep>(&resolved)) event.sweep = *sweep;
  event.specification_sha256 = sweep::CanonicalText(event.sweep);
  return event;
}

// slots=N on the unit=U of classes=a,b with stacks=NAME:FINGERPRINT:BUILD,...; and
// devices=UNIT:CLASS,... with a slot each; and withheld=UNIT:CLASS:REASON,...
std::shared_ptr<const Inventory> InventoryFrom(const Command& command, const std::string& name) {
  SameSlots same = {.unit = command.Value("unit", "host-" + name), .stacks = {}};
  same.slots = static_cast<uint32_t>(command.Number("slots", 1));
  same.classes = command.List("classes", "cpu");
  for (const std::string& stack : command.List("stacks", "torch:f1")) {
    const std::vector<std::string> parts = Split(stack, ':');
    same.stacks.push_back({"", parts.at(0), parts.at(1), parts.size() > 2 ? parts.at(2) : "b"});
  }
  Inventory inventory;
  AddSlots(same, inventory);
  for (const std::string& device : command.List("devices")) {
    const std::vector<std::string> parts = Split(device, ':');
    AddSlots({parts.at(0), 1, {parts.at(1)}, same.stacks}, inventory);
  }
  for (const std::string& withheld : command.List("withheld")) {
    const std::vector<std::string> parts = Split(withheld, ':');
    inventory.withheld.push_back({parts.at(0), parts.at(1), "", parts.at(2)});
  }
  return std::make_shared<const Inventory>(std::move(inventory));
}

WorkerConnected World::Join(const Command& command) {
  const std::string name = command.Word(0);
  const SessionId session = {names_.size() + 1};
  sessions_[name] = session;
  names_[session] = name;
  identities_.emplace(name, 100 + identities_.size());
  WorkerConnected event;
  event.session = session;
  event.name = command.Value("name", name);
  event.identity = command.Number("identity", identities_.at(name));
  event.inventory = InventoryFrom(command, name);
  event.held = Held(command);
  return event;
}

RecordsArrived World::Records(const Command& command) const {
  RecordsArrived event{SessionOf(command), LeaseId{command.Number("lease", 0)}, {}};
  event.batch.sequence = command.Number("batch", 1);
  const uint64_t count = command.Number("count", 1);
  for (uint64_t i = 0; i < count; ++i) {
    event.batch.records.push_back({static_cast<int64_t>(i), ToNumber(command.Value("epoch", "0.5")),
                                   command.Value("metric", "loss"),
                                   ToNumber(command.Value("value", "1.5"))});
  }
  return event;
}

AttemptFinished World::Finish(const Command& command) const {
  AttemptFinished event;
  event.session = SessionOf(command);
  event.lease = LeaseId{command.Number("lease", 0)};
  ingest::AttemptOutcome& outcome = event.outcome;
  if (command.Has("done")) outcome.kind = Outcome::Kind::kDone;
  if (command.Has("diverged")) outcome.kind = Outcome::Kind::kDiverged;
  outcome.cause = ParseCauseClass(command.Value("cause", "none")).value_or(CauseClass::kBug);
  outcome.message = command.Value("message");
  outcome.record_batches = command.Number("batches", 0);
  outcome.data_identity = ToIdentity(command.Value("identity"));
  for (const auto& [key, value] : command.values) {
    if (key == "top1" || key == "loss") outcome.metrics[key] = ToNumber(value);
  }
  for (const std::string& kind : command.List("artifacts")) {
    outcome.artifacts.push_back({kind, kind + ".npy", std::string(64, 'a'), 10});
  }
  if (command.Has("missing")) event.missing_artifacts = {std::string(64, 'a')};
  return event;
}

// states=failed plans=algo hardware=a stacks=t cells=0,2 members=s1c0r1 workers=box
Selection SelectionFrom(const Command& command) {
  Selection selection;
  for (const std::string& name : command.List("states")) {
    selection.states.insert(*ParseMemberState(name));
  }
  for (const auto& [key, names] :
       {std::pair("plans", &selection.plans), std::pair("hardware", &selection.hardware),
        std::pair("stacks", &selection.stacks), std::pair("workers", &selection.workers)}) {
    for (const std::string& name : command.List(key)) names->insert(name);
  }
  for (const std::string& cell : command.List("cells")) {
    selection.cells.insert(static_cast<uint32_t>(std::stoul(cell)));
  }
  for (const std::string& name : command.List("members")) {
    const MemberId id = *ParseMemberId(name);
    selection.members.emplace(id.cell, id.replicate);
  }
  return selection;
}

// limits=cpu:2,gpu:1
std::map<std::string, uint32_t> LimitsFrom(const Command& command) {
  std::map<std::string, uint32_t> limits;
  for (const std::string& limit : command.List("limits")) {
    const size_t colon = limit.find(':');
    limits[limit.substr(0, colon)] = static_cast<uint32_t>(std::stoul(limit.substr(colon + 1)));
  }
  return limits;
}

// update s1 paused|resumed|archived|unarchived priority=5 max_failures=3 notes=... set=a:b remove=c
SweepUpdated UpdateFrom(SweepId sweep, const Command& command) {
  SweepUpdated event{.request = 1, .sweep = sweep};
  if (command.Has("paused")) event.paused = true;
  if (command.Has("resumed")) event.paused = false;
  if (command.Has("archived")) event.archived = true;
  if (command.Has("unarchived")) event.archived = false;
  if (command.values.contains("priority")) {
    event.priority = static_cast<int32_t>(std::stoi(command.Value("priority")));
  }
  if (command.values.contains("max_failures")) {
    event.max_failures = static_cast<uint32_t>(command.Number("max_failures", 0));
  }
  event.set_limits = LimitsFrom(command);
  if (command.values.contains("notes")) event.notes = command.Value("notes");
  for (const std::string& tag : command.List("set")) {
    event.set_tags[tag.substr(0, tag.find(':'))] = tag.substr(tag.find(':') + 1);
  }
  for (const std::string& tag : command.List("remove")) event.remove_tags.insert(tag);
  return event;
}

// extend s1 replicates=3 blocks=2 hardware=gpu plans=algo
SweepExtended ExtensionFrom(const RecoveredState& kept, SweepId sweep, const Command& command) {
  SweepExtended event{.request = 1, .sweep = sweep};
  const auto found = std::ranges::find(kept.sweeps, sweep, &RecoveredSweep::id);
  if (found == kept.sweeps.end()) return event;
  sweep::Extension wish;
  wish.replicates = static_cast<uint32_t>(command.Number("replicates", 0));
  wish.blocks = static_cast<uint32_t>(command.Number("blocks", 0));
  wish.hardware = command.List("hardware");
  for (const std::string& plan : command.List("plans")) wish.plans.insert(plan);
  event.from_sha256 = found->specification_sha256;
  event.content = std::get<sweep::Sweep>(sweep::Extend(found->content, wish));
  event.specification_sha256 = sweep::CanonicalText(event.content);
  return event;
}

// use box drained|undrained|quarantined|released unit=U
WorkerUpdated UseFrom(const Command& command) {
  WorkerUpdated event{.request = 1, .worker = command.Word(0), .unit = command.Value("unit")};
  if (command.Has("drained")) event.drained = true;
  if (command.Has("undrained")) event.drained = false;
  if (command.Has("quarantined")) event.quarantined = true;
  if (command.Has("released")) event.quarantined = false;
  return event;
}

std::optional<Event> World::ToEvent(const Command& command) {
  const std::string& verb = command.verb;
  const SweepId sweep = ParseSweepId(command.Word(0)).value_or(SweepId{});
  const LeaseId lease = {command.Number("lease", 0)};
  if (verb == "submit") return Submit(command);
  if (verb == "cancel") return SweepCancelled{1, sweep, "", SelectionFrom(command)};
  if (verb == "retry") return SweepRetried{1, sweep, "", SelectionFrom(command)};
  if (verb == "update") return UpdateFrom(sweep, command);
  if (verb == "extend") return ExtensionFrom(scheduler_.Durable(), sweep, command);
  if (verb == "delete") return SweepDeleted{1, sweep, ""};
  if (verb == "use") return UseFrom(command);
  if (verb == "join") return Join(command);
  if (verb == "break") return SessionLost{SessionOf(command)};
  if (verb == "beat") return Heartbeat{SessionOf(command), Held(command)};
  if (verb == "drain") return WorkerDraining{SessionOf(command)};
  if (verb == "hello")
    return AttemptStarted{SessionOf(command), lease, ToIdentity(command.Value("identity"))};
  if (verb == "records") return Records(command);
  if (verb == "finish") return Finish(command);
  if (verb == "storage" && command.Has("fails")) return StorageFailed{"the disk is full"};
  if (verb == "storage" && command.Has("recovers")) return StorageRecovered{};
  return std::nullopt;
}

std::vector<std::string> World::Run(const Command& command) {
  lines_.clear();
  if (command.verb == "advance") {
    Advance(command);
  } else if (command.verb == "restart") {
    Restart();
  } else if (command.verb == "explain") {
    Explain(command.Word(0));
  } else if (const std::optional<Event> event = ToEvent(command)) {
    Step(*event);
  } else {
    lines_.push_back("problem: nobody knows the command " + command.verb);
  }
  if (lines_.empty()) lines_.push_back("(nothing)");
  return lines_;
}

}  // namespace

std::string Replay(std::string_view story) {
  World world;
  std::istringstream in{std::string(story)};
  std::string out;
  std::vector<std::string> answers;
  bool in_answers = false;
  for (std::string line; std::getline(in, line);) {
    if (in_answers && !line.empty()) continue;  // The answer that the story had.
    in_answers = line == "----";
    out += line + "\n";
    if (in_answers) {
      for (const std::string& answer : answers) out += answer + "\n";
      answers.clear();
    } else if (!line.empty() && line[0] != '#') {
      for (std::string& answer : world.Run(ParseCommand(line)))
        answers.push_back(std::move(answer));
    }
  }
  if (!answers.empty()) out += "problem: the last commands have no ----\n";
  return out;
}

}  // namespace noisefloor::test
