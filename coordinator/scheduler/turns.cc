#include "coordinator/scheduler/turns.h"

#include "common/base/check.h"

namespace noisefloor::scheduler {

void Turns::Insert(const Turnstile& at) {
  Level& level = levels_[at.priority];
  level.owners.insert({at.of_owner, at.owner});
  NF_CHECK(level.sweeps[at.owner].insert({at.of_sweep, at.sweep}).second);
}

void Turns::Erase(const Turnstile& at) {
  const auto level = levels_.find(at.priority);
  NF_CHECK(level != levels_.end());
  const auto sweeps = level->second.sweeps.find(at.owner);
  NF_CHECK(sweeps != level->second.sweeps.end());
  NF_CHECK(sweeps->second.erase({at.of_sweep, at.sweep}) == 1);
  if (!sweeps->second.empty()) return;
  level->second.sweeps.erase(sweeps);
  NF_CHECK(level->second.owners.erase({at.of_owner, at.owner}) == 1);
  if (level->second.owners.empty()) levels_.erase(level);
}

void Turns::MoveOwner(uint32_t owner, const Standing& before, const Standing& now) {
  for (auto& [priority, level] : levels_) {
    if (level.owners.erase({before, owner}) == 1) level.owners.insert({now, owner});
  }
}

void Turns::MoveSweep(const Turnstile& at, const Standing& now) {
  Sweeps& sweeps = levels_.at(at.priority).sweeps.at(at.owner);
  NF_CHECK(sweeps.erase({at.of_sweep, at.sweep}) == 1);
  sweeps.insert({now, at.sweep});
}

Turns::Cursor::Cursor(const Turns& turns)
    : level_(turns.levels_.begin()), end_(turns.levels_.end()) {
  EnterLevel();
}

void Turns::Cursor::EnterLevel() {
  if (level_ == end_) return;
  owner_ = level_->second.owners.begin();
  EnterOwner();
}

void Turns::Cursor::EnterOwner() { sweep_ = level_->second.sweeps.at(owner_->id).begin(); }

void Turns::Cursor::Next() {
  if (++sweep_ != level_->second.sweeps.at(owner_->id).end()) return;
  if (++owner_ != level_->second.owners.end()) return EnterOwner();
  ++level_;
  EnterLevel();
}

}  // namespace noisefloor::scheduler
