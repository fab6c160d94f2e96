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
      if (operation.kind == Kind::kDelete) CheckDelete(operation);
      if (operation.kind == Kind::kRead || operation.kind == Kind::kWatch) CheckSeen(operation);
    }
    for (const auto& [number, sweep] : kept_.sweeps) CheckKept(number, sweep);
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
      if (!numbers.contains(operation.sweep) && !MayBeDeleted(operation.sweep)) {
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

  // Whether such a call of that sweep may have been done between the moments.
  bool MayBeDone(Kind kind, uint64_t sweep, int64_t since, int64_t until) const {
    return std::ranges::any_of(history_, [&](const Operation& other) {
      return other.kind == kind && other.sweep == sweep && other.end != End::kRefused &&
             (other.ended > since || other.end == End::kUnknown) && other.began < until;
    });
  }
  bool MayWaitAgain(uint64_t sweep, int64_t since, int64_t until) const {
    return MayBeDone(Kind::kRetry, sweep, since, until) ||
           MayBeDone(Kind::kExtend, sweep, since, until);
  }
  bool MayBeDeleted(uint64_t sweep) const {
    return MayBeDone(Kind::kDelete, sweep, INT64_MIN, INT64_MAX);
  }

  void CheckDelete(const Operation& deleted) {
    if (kept_.sweeps.contains(deleted.sweep))
      Say(NameOf(deleted.sweep) + " was deleted and is there");
    for (const Operation& seen : history_) {
      if (seen.end == End::kOk && (seen.kind == Kind::kRead || seen.kind == Kind::kWatch) &&
          seen.sweep == deleted.sweep && seen.began > deleted.ended) {
        Say("client " + std::to_string(seen.client) + " saw " + NameOf(seen.sweep) +
            " after it was deleted");
      }
    }
  }

  // Members that a sweep must and may have for who asks between the moments.
  std::pair<uint32_t, uint32_t> MembersOf(uint64_t number, const Kept::Sweep& sweep, int64_t began,
                                          int64_t ended) const {
    uint32_t first = 0;
    for (const Operation& made : history_) {
      if (MakesSweep(made) && made.request == sweep.request) first = made.members;
    }
    std::pair<uint32_t, uint32_t> members = {first, first};
    for (const Operation& wider : history_) {
      if (wider.kind != Kind::kExtend || wider.sweep != number || wider.end == End::kRefused) {
        continue;
      }
      if (wider.end == End::kOk && wider.ended < began) {
        members.first = std::max(members.first, wider.members);
      }
      if (wider.began < ended) members.second = std::max(members.second, wider.members);
    }
    return members;
  }

  void CheckMembers(const std::string& who, uint32_t there,
                    const std::pair<uint32_t, uint32_t>& members) {
    if (members.first <= there && there <= members.second) return;
    Say(who + " with " + std::to_string(there) + " members of " + std::to_string(members.first) +
        " to " + std::to_string(members.second));
  }

  // Those of an update that began before `ended`, and that none replaced which was over by `began`.
  bool NotesFit(const std::string& notes, uint64_t sweep, int64_t began, int64_t ended) const {
    const auto is_update = [&](const Operation& update) {
      return update.kind == Kind::kUpdate && update.sweep == sweep && update.end != End::kRefused;
    };
    const auto replaced_after = [&](int64_t moment) {
      return std::ranges::any_of(history_, [&](const Operation& later) {
        return is_update(later) && later.end == End::kOk && later.began > moment &&
               later.ended < began;
      });
    };
    if (notes.empty()) return !replaced_after(INT64_MIN);
    return std::ranges::any_of(history_, [&](const Operation& update) {
      const int64_t over = update.end == End::kUnknown ? INT64_MAX : update.ended;
      return is_update(update) && update.notes == notes && update.began < ended &&
             !replaced_after(over);
    });
  }

  void CheckKept(uint64_t number, const Kept::Sweep& sweep) {
    CheckMembers(NameOf(number) + " is there", sweep.members,
                 MembersOf(number, sweep, INT64_MAX, INT64_MAX));
    if (!NotesFit(sweep.notes, number, INT64_MAX, INT64_MAX)) {
      Say(NameOf(number) + " is there with the notes \"" + sweep.notes + "\"");
    }
  }

  void CheckCancel(const Operation& cancel) {
    const auto sweep = kept_.sweeps.find(cancel.sweep);
    if (sweep == kept_.sweeps.end()) {
      if (!MayBeDeleted(cancel.sweep)) Say(NameOf(cancel.sweep) + " was cancelled and is gone");
      return;
    }
    if (MayWaitAgain(cancel.sweep, cancel.began, INT64_MAX)) return;
    const Counts& counts = sweep->second.counts;
    if (counts.waiting + counts.leased > 0) {
      Say(NameOf(cancel.sweep) + " was cancelled and has members that have not ended");
    }
  }

  void CheckSeen(const Operation& seen) {
    const std::string who = "client " + std::to_string(seen.client) + " saw " + NameOf(seen.sweep);
    const auto sweep = kept_.sweeps.find(seen.sweep);
    if (sweep == kept_.sweeps.end()) {
      if (!MayBeDeleted(seen.sweep)) Say(who + ", which is not there");
      return;
    }
    CheckMembers(who, seen.counts.Sum(),
                 MembersOf(seen.sweep, sweep->second, seen.began, seen.ended));
    if (seen.kind == Kind::kRead && !NotesFit(seen.notes, seen.sweep, seen.began, seen.ended)) {
      Say(who + " with the notes \"" + seen.notes + "\"");
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
      if (!before || MayWaitAgain(seen.sweep, cancel.began, seen.ended)) continue;
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
