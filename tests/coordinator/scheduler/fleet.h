// A scheduler with a sweep and workers, for tests of single decisions.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "common/trainer_protocol/fields.h"
#include "coordinator/scheduler/scheduler.h"

namespace noisefloor::test {

inline const absl::Time kT0 = absl::FromUnixSeconds(1'000'000);

inline sweep::Sweep MakeSweep(const std::vector<std::string>& plans, uint32_t replicates,
                              std::vector<std::string> classes = {"cpu"}, int64_t devices = 1) {
  sweep::SweepRequest request;
  request.name = "fleet";
  request.training = {
      {"data.name", std::string("mnist")}, {"train.devices", devices}, {"train.shards", devices}};
  for (const std::string& plan : plans) request.noise.push_back({plan, "", {}});
  request.hardware = sweep::HardwareKind::kList;
  if (classes == std::vector<std::string>{""}) request.hardware = sweep::HardwareKind::kAny;
  request.classes = std::move(classes);
  request.replicates = replicates;
  return std::get<sweep::Sweep>(sweep::Resolve(request, {}));
}

inline scheduler::SweepSubmitted Submit(sweep::Sweep sweep) {
  scheduler::SweepSubmitted event;
  event.specification_sha256 = sweep::CanonicalText(sweep);
  event.sweep = std::move(sweep);
  return event;
}

// What `owner` submits: replicates that differ in all seeded sources.
inline scheduler::SweepSubmitted SubmitFor(const std::string& owner, uint32_t replicates,
                                           int32_t priority = 0) {
  scheduler::SweepSubmitted event = Submit(MakeSweep({"algo"}, replicates));
  event.caller = owner;
  event.priority = priority;
  return event;
}

// Slots of one unit, of which each offers every class with every stack. Settings: ours where none
// are said.
struct SameSlots {
  std::string unit;
  uint32_t slots = 1;
  std::vector<std::string> classes = {"cpu"};
  // Without a class: name, fingerprint, build.
  std::vector<Inventory::Offer> stacks = {{"", "torch", "f1", "b"}};
};

inline void AddSlots(const SameSlots& same, Inventory& inventory) {
  Inventory::Slot slot;
  slot.devices = {static_cast<uint32_t>(inventory.devices.size())};
  inventory.devices.push_back({same.unit, "model", 0, "", ""});
  for (const std::string& name : same.classes) {
    for (Inventory::Offer offer : same.stacks) {
      offer.hardware_class = name;
      if (offer.schema.empty()) offer.schema = IdentityOf(*OwnSchema());
      const auto known = std::ranges::find(inventory.offers, offer);
      slot.offers.push_back(static_cast<uint32_t>(known - inventory.offers.begin()));
      if (known == inventory.offers.end()) inventory.offers.push_back(std::move(offer));
    }
  }
  inventory.slots.insert(inventory.slots.end(), same.slots, slot);
}

// Goes on until nothing is left to go on with.
inline void Settle(scheduler::Scheduler& scheduler) {
  for (int i = 0; i < 10'000; ++i) {
    if (!scheduler.Step(scheduler::Continue{}, kT0).more) return;
  }
  FAIL() << "it never ends";
}

inline std::shared_ptr<const Inventory> MakeInventory(const SameSlots& same) {
  Inventory inventory;
  AddSlots(same, inventory);
  return std::make_shared<const Inventory>(std::move(inventory));
}

// Worker N has session N, identity N and name "wN".
inline scheduler::WorkerConnected Join(uint64_t number, uint32_t slots, const std::string& unit,
                                       std::vector<std::string> classes = {"cpu"}) {
  scheduler::WorkerConnected event;
  event.session = SessionId{number};
  event.name = "w" + std::to_string(number);
  event.identity = number;
  event.inventory = MakeInventory({.unit = unit, .slots = slots, .classes = std::move(classes)});
  return event;
}

template <typename T>
std::vector<T> Of(const scheduler::Effects& effects) {
  std::vector<T> found;
  if constexpr (std::is_constructible_v<scheduler::Write, T>) {
    for (const auto& write : effects.writes) {
      if (const T* one = std::get_if<T>(&write)) found.push_back(*one);
    }
  } else {
    for (const auto& send : effects.sends) {
      if (const T* one = std::get_if<T>(&send)) found.push_back(*one);
    }
  }
  return found;
}

inline std::vector<std::string> Started(const scheduler::Effects& effects) {
  std::vector<std::string> started;
  for (const auto& start : Of<scheduler::SendStart>(effects)) {
    started.push_back(ToText(start.member) + " w" + std::to_string(start.session.value));
  }
  return started;
}

inline scheduler::AttemptFinished Finish(uint64_t worker, uint64_t lease) {
  scheduler::AttemptFinished event{SessionId{worker}, LeaseId{lease}, {}, {}};
  event.outcome.kind = Outcome::Kind::kDone;
  return event;
}

inline scheduler::AttemptFinished Fail(uint64_t worker, uint64_t lease, CauseClass cause) {
  scheduler::AttemptFinished event = Finish(worker, lease);
  event.outcome.kind = Outcome::Kind::kFailed;
  event.outcome.cause = cause;
  return event;
}

}  // namespace noisefloor::test
