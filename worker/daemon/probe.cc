#include "worker/daemon/probe.h"

#include <algorithm>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/sha256.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/json_reader.h"
#include "worker/daemon/ask.h"
#include "worker/daemon/attempt_result.h"
#include "worker/daemon/spawn.h"
#include "worker/devices/class_variables.h"

namespace noisefloor {

namespace {

// A stack on a class on the GPUs of a slot. Slots with the same are asked once.
struct Probed {
  std::string hardware_class;
  std::string stack;
  std::string gpus;  // UUIDs, by ','; none for processors.
  friend auto operator<=>(const Probed&, const Probed&) = default;
};

// What came out: why it is withheld, or, with "", what is offered.
struct Finding {
  std::string reason;
  std::string fingerprint;
  Versions versions;  // Of the fingerprint.
};

// What the trainer saw must be what we lend it: on a machine whose numbering changed under us, or
// with a wrong UUID, it would train on another.
std::string Mismatch(const std::vector<ProbeAnswer::Device>& seen, const SlotPlan& slot) {
  if (seen.size() != slot.gpus.size()) {
    return fmt::format("the trainer sees {} of its {} GPUs", seen.size(), slot.gpus.size());
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    const std::string found = GpuClassOf(seen[i].name, seen[i].memory_bytes);
    if (found == slot.gpus[i].hardware_class) continue;
    return fmt::format("CUDA calls it {} ({}), NVML {} ({})", seen[i].name, found,
                       slot.gpus[i].name, slot.gpus[i].hardware_class);
  }
  return "";
}

// What a registration may hold.
Versions VersionsOf(const Stack& stack, const Versions& of_device, const std::string& driver) {
  constexpr size_t kMost = 32;
  Versions versions;
  if (!driver.empty()) versions["driver"] = driver;
  for (const Versions& more : {of_device, stack.versions}) {
    for (const auto& [name, version] : more) {
      if (versions.size() >= kMost) break;
      versions.emplace(name, version);
    }
  }
  return versions;
}

Finding Judge(const absl::StatusOr<std::string>& text, const SlotPlan& slot, const Stack& stack,
              const std::string& driver) {
  if (!text.ok()) return {Message(text.status()), "", {}};
  const absl::StatusOr<ProbeAnswer> answer = ParseProbeAnswer(*text);
  if (!answer.ok()) return {"--probe: " + Message(answer.status()), "", {}};
  if (!answer->works) return {answer->reason.empty() ? "it does not work" : answer->reason, "", {}};
  std::string mismatch = Mismatch(answer->devices, slot);
  if (!mismatch.empty()) return {std::move(mismatch), "", {}};
  const std::string of_gpu = slot.gpus.empty() ? "" : driver;
  return {"", FingerprintOf(stack, answer->facts, of_gpu),
          VersionsOf(stack, answer->versions, of_gpu)};
}

Question QuestionOf(const Probed& probed, const Stack& stack) {
  Question question;
  question.arguments = stack.command;
  question.arguments.insert(question.arguments.end(), {"--probe", probed.hardware_class});
  question.environment = InheritedEnvironment();
  const auto variables =
      VariablesOf({.hardware_class = probed.hardware_class, .gpu_uuid = probed.gpus});
  if (variables.ok()) {
    for (const auto& [name, value] : *variables) question.environment[name] = value;
  }
  return question;
}

// Remarks keep nobody from registering: to what a registration may hold.
void Shorten(std::vector<Inventory::Withheld>& withheld) {
  constexpr size_t kMostEntries = 256;
  constexpr size_t kMostBytes = 2000;
  for (Inventory::Withheld& one : withheld) {
    one.what = ToUtf8(one.what, kMostBytes);
    one.reason = ToUtf8(one.reason, kMostBytes);
  }
  if (withheld.size() <= kMostEntries) return;
  const size_t left_out = withheld.size() - (kMostEntries - 1);
  withheld.resize(kMostEntries - 1);
  withheld.push_back({fmt::format("{} more", left_out), "", "", "see the worker's log"});
}

class Prober {
 public:
  Prober(const Host& host, const Layout& layout, const Stacks& stacks)
      : host_(host), layout_(layout), stacks_(stacks) {}

  ProbedSlots Run() {
    AskAll();
    result_.inventory.devices = DevicesOf(host_);
    result_.inventory.withheld = layout_.withheld;
    for (const SlotPlan& slot : layout_.slots) Add(slot);
    Shorten(result_.inventory.withheld);
    return std::move(result_);
  }

 private:
  void AskAll() {
    std::vector<Question> questions;
    std::vector<std::pair<Probed, const SlotPlan*>> asked;
    for (const SlotPlan& slot : layout_.slots) {
      EachWanted(slot, [&](const Probed& probed, const Stack& stack) {
        if (!findings_.try_emplace(probed).second) return;
        if (stack.command.empty()) {
          findings_[probed] = {"", FingerprintOf(stack, "", ""), stack.versions};
          return;
        }
        questions.push_back(QuestionOf(probed, stack));
        asked.emplace_back(probed, &slot);
      });
    }
    const std::vector<absl::StatusOr<std::string>> answers =
        Ask(questions, {.at_once = std::max(2u, std::thread::hardware_concurrency())});
    for (size_t i = 0; i < answers.size(); ++i) {
      const auto& [probed, slot] = asked[i];
      findings_[probed] = Judge(answers[i], *slot, stacks_.at(probed.stack), host_.gpus.driver);
    }
  }

  template <typename Visit>
  void EachWanted(const SlotPlan& slot, const Visit& visit) const {
    for (const std::string& name : slot.classes) {
      for (const auto& [stack_name, stack] : stacks_) {
        visit(Probed{name, stack_name, UuidsOf(slot)}, stack);
      }
    }
  }

  void Add(const SlotPlan& plan) {
    Inventory::Slot slot;
    slot.devices = DevicesOf(host_, plan);
    slot.cores = static_cast<uint32_t>(plan.cores.size());
    EachWanted(plan, [&](const Probed& probed, const Stack& stack) {
      const Finding& finding = findings_.at(probed);
      if (finding.reason.empty()) {
        slot.offers.push_back(
            PlaceOf({probed.hardware_class, probed.stack, finding.fingerprint, stack.build,
                     stack.schema == nullptr ? "" : IdentityOf(*stack.schema), finding.versions,
                     stack.infers},
                    result_.inventory));
      } else {
        Withhold(slot, probed.hardware_class, probed.stack, finding.reason);
      }
    });
    if (slot.offers.empty()) return;
    result_.inventory.slots.push_back(std::move(slot));
    result_.slots.push_back(plan);
  }

  void Withhold(const Inventory::Slot& slot, const std::string& name, const std::string& stack,
                const std::string& reason) {
    std::string what;
    for (const uint32_t place : slot.devices) {
      const Inventory::Device& device = result_.inventory.devices[place];
      what += fmt::format("{}{} ({})", what.empty() ? "" : " and ", device.unit, device.model);
    }
    if (slot.devices.front() == 0) what = result_.inventory.devices.front().unit;
    Inventory::Withheld withheld = {what, name, stack, reason};
    std::vector<Inventory::Withheld>& all = result_.inventory.withheld;
    if (std::ranges::find(all, withheld) == all.end()) all.push_back(std::move(withheld));
  }

  const Host& host_;
  const Layout& layout_;
  const Stacks& stacks_;
  std::map<Probed, Finding> findings_;
  ProbedSlots result_;
};

}  // namespace

absl::StatusOr<ProbeAnswer> ParseProbeAnswer(std::string_view line) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  JsonReader reader(json, "");
  ProbeAnswer answer;
  reader.Version("probes", kProbeVersion);
  answer.works = reader.Bool("works");
  answer.reason = reader.Text("reason", 2000);
  const Json& devices = reader.Any("devices");
  const Json& facts = reader.Any("facts");
  if (!devices.is_array()) reader.Fail("devices", "a list");
  if (!facts.is_object()) reader.Fail("facts", "an object");
  NF_RETURN_IF_ERROR(reader.Finish());
  for (size_t i = 0; i < devices.size(); ++i) {
    JsonReader device(devices[i], fmt::format("devices[{}]", i));
    const std::string name = device.Text("name", 200);
    const int64_t memory = device.Int("memory_bytes", 0, std::numeric_limits<int64_t>::max());
    NF_RETURN_IF_ERROR(device.Finish());
    answer.devices.push_back({name, static_cast<uint64_t>(memory)});
  }
  if (!facts.empty()) answer.facts = facts.dump();
  answer.versions = VersionsFrom(facts);
  return answer;
}

// Of processors what --describe told, alone: then a home's cells stay pinned to what they were.
std::string FingerprintOf(const Stack& stack, const std::string& facts, const std::string& driver) {
  if (facts.empty() && driver.empty()) return stack.fingerprint;
  return Sha256Hex(fmt::format("{}\n{}\n{}", stack.fingerprint, facts, driver));
}

ProbedSlots Probe(const Host& host, const Layout& layout, const Stacks& stacks) {
  return Prober(host, layout, stacks).Run();
}

}  // namespace noisefloor
