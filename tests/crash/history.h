// What clients were promised, and whether it was kept. A value; the checker is a pure function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace noisefloor::test {

struct Counts {
  uint32_t waiting = 0;
  uint32_t leased = 0;
  uint32_t done = 0;  // Or diverged: what never goes back.
  uint32_t failed = 0;
  uint32_t cancelled = 0;

  uint32_t Sum() const { return waiting + leased + done + failed + cancelled; }
};

// One call of one client, from when it was made until its answer. Moments are places in one order
// of all of them: what ended before another began was told before it was asked.
struct Operation {
  enum class Kind : uint8_t {
    kSubmit,
    kReplay,
    kCancel,
    kRetry,
    kExtend,
    kUpdate,
    kDelete,
    kRead,
    kWatch
  };
  // kUnknown: the connection broke, it may or may not have been done.
  enum class End : uint8_t { kOk, kRefused, kUnknown };

  Kind kind = Kind::kRead;
  End end = End::kOk;
  int client = 0;
  int64_t began = 0;
  int64_t ended = 0;
  std::string request;   // Of kSubmit and kReplay.
  uint64_t sweep = 0;    // What it was about, or what was answered.
  uint32_t members = 0;  // Asked for: of kSubmit, kReplay and kExtend.
  std::string notes;     // Of kUpdate, each its own; seen by kRead.
  Counts counts;         // Of kRead and kWatch.
  uint64_t token = 0;    // Of kWatch.
};

// What is kept in the end.
struct Kept {
  struct Sweep {
    std::string request;
    uint32_t members = 0;
    Counts counts;
    std::string notes;
  };
  std::map<uint64_t, Sweep> sweeps;  // But those that were deleted.
};

// In words, what does not fit; none: some order of the calls explains everything.
//
// An acknowledged request is there exactly once, under the number that was told, to everybody who
// asked with it, unless it may have been deleted; nothing is there that nobody asked for, and what
// was deleted is seen by nobody who asks later; what was cancelled stays so unless a retry or an
// extension may have come later; counts that were read sum to the members that were asked for so
// far; notes are those of an update that no later one replaced; nothing that was done is undone,
// neither as one client saw it nor in the end; a client's tokens of a watch never go back; who has
// cancelled sees it in the next read, unless a retry or an extension may have come between.
std::vector<std::string> WhatDoesNotFit(const std::vector<Operation>& history, const Kept& kept);

}  // namespace noisefloor::test
