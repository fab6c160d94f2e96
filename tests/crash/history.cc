#include "tests/crash/history.h"

#include <algorithm>
#include <set>
#include <utility>

namespace noisefloor::test {

namespace {

using Kind = Operation::Kind;
using End = Operation::End;

std::string NameOf(uint64_t sweep) { return "s" + std::to_string(sweep); }

bool MakesSweep(const Operation& operation) {
  return operation.kind == Kind::kSubmit || operation.kind == Kind::kReplay;
}

class Checker {
 public:
  Checker(const std::vector<Operation>& history, const Kept& kept)
      : history_(history), kept_(kept) {
    std::ranges::stable_sort(history_, {}, &Operation::began);
  }

  std::vector<std::string> Check() {
    CheckRequests();
    for (const Operation& operation : history_) {
      if (operation.end != End::kOk) continue;
      if (operation.kind == Kind::kCancel) CheckCancel(operation);
      if (operation.kind == Kind::kRead || operation.kind == Kind::kWatch) CheckSeen(operation);
    }
    for (const auto& [key, done] : done_) {
      const auto sweep = kept_.sweeps.find(key.second);
      if (sweep != kept_.sweeps.end() && sweep->second.counts.done < done) {
        Say(NameOf(key.second) + " had " + std::to_string(done) + " members done and has " +
            std::to_string(sweep->second.counts.done));
      }
    }
    return std::move(faults_);
  }

 private:
  void Say(std::string fault) { faults_.push_back(std::move(fault)); }

  void CheckRequests() {
    std::map<std::string, std::set<uint64_t>> there;
    std::set<std::string> asked;
    for (const auto& [number, sweep] : kept_.sweeps) there[sweep.request].insert(number);
    for (const Operation& operation : history_) {
      if (!MakesSweep(operation)) continue;
      asked.insert(operation.request);
      if (operation.end != End::kOk) continue;
      const std::set<uint64_t>& numbers = there[operation.request];
      if (!numbers.contains(operation.sweep)) {
        Say("request " + operation.request + " was acknowledged as " + NameOf(operation.sweep) +
            ", which is not there");
      }
    }
    for (const auto& [request, numbers] : there) {
      if (numbers.size() > 1) Say("request " + request + " is there more than once");
      if (!numbers.empty() && !asked.contains(request)) {
        Say("request " + request + " is there and nobody made it");
      }
    }
  }

  // Whether a retry of that sweep may have been done after the moment.
  bool MayBeRetried(uint64_t sweep, int64_t since, int64_t until) const {
    return std::ranges::any_of(history_, [&](const Operation& other) {
      return other.kind == Kind::kRetry && other.sweep == sweep && other.end != End::kRefused &&
             (other.ended > since || other.end == End::kUnknown) && other.began < until;
    });
  }

  void CheckCancel(const Operation& cancel) {
    const auto sweep = kept_.sweeps.find(cancel.sweep);
    if (sweep == kept_.sweeps.end())
      return Say(NameOf(cancel.sweep) + " was cancelled and is gone");
    if (MayBeRetried(cancel.sweep, cancel.began, INT64_MAX)) return;
    const Counts& counts = sweep->second.counts;
    if (counts.waiting + counts.leased > 0) {
      Say(NameOf(cancel.sweep) + " was cancelled and has members that have not ended");
    }
  }

  void CheckSeen(const Operation& seen) {
    const std::string who = "client " + std::to_string(seen.client) + " saw " + NameOf(seen.sweep);
    const auto sweep = kept_.sweeps.find(seen.sweep);
    if (sweep == kept_.sweeps.end()) return Say(who + ", which is not there");
    if (seen.counts.Sum() != sweep->second.members) {
      Say(who + " with " + std::to_string(seen.counts.Sum()) + " members of " +
          std::to_string(sweep->second.members));
    }
    uint32_t& done = done_[{seen.client, seen.sweep}];
    if (seen.counts.done < done) Say(who + " with fewer members done than before");
    done = std::max(done, seen.counts.done);
    CheckOwnCancel(seen, who);
    if (seen.kind != Kind::kWatch) return;
    uint64_t& token = tokens_[{seen.client, seen.sweep}];
    if (seen.token < token) Say(who + " with a token that goes back");
    token = std::max(token, seen.token);
  }

  void CheckOwnCancel(const Operation& seen, const std::string& who) {
    for (const Operation& cancel : history_) {
      const bool before = cancel.kind == Kind::kCancel && cancel.end == End::kOk &&
                          cancel.client == seen.client && cancel.sweep == seen.sweep &&
                          cancel.ended < seen.began;
      if (!before || MayBeRetried(seen.sweep, cancel.began, seen.ended)) continue;
      if (seen.counts.waiting > 0) Say(who + " waiting after it had cancelled it");
    }
  }

  std::vector<Operation> history_;  // In the order in which they began.
  const Kept& kept_;
  std::map<std::pair<int, uint64_t>, uint32_t> done_;    // By client and sweep.
  std::map<std::pair<int, uint64_t>, uint64_t> tokens_;  // The same.
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> WhatDoesNotFit(const std::vector<Operation>& history, const Kept& kept) {
  return Checker(history, kept).Check();
}

}  // namespace noisefloor::test
