// Who waits for what, in which order.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/base/ids.h"
#include "coordinator/scheduler/turns.h"
#include "coordinator/scheduler/undo.h"

namespace noisefloor::scheduler {

// What a worker must offer to train a member. Empty = any.
struct Pool {
  std::string hardware;
  std::string stack;
  std::string fingerprint;  // Of the stack; empty: the cell is not pinned yet.
  std::string schema;       // As in Inventory::Offer; never any.
  // Of a cell of any class that says how many devices it trains on; else 0. A class of GPUs has so
  // many: HasDevices.
  int64_t devices = 0;
  friend auto operator<=>(const Pool&, const Pool&) = default;
};

// Order in which members of a sweep are leased: replicate r of every cell before r + 1. Between the
// classes of a replicate: Rank in placement.cc. Between sweeps: Turns.
struct WaitKey {
  SweepId sweep;
  uint32_t replicate = 0;
  uint32_t cell = 0;
  friend auto operator<=>(const WaitKey&, const WaitKey&) = default;
};

// Members of a sweep that wait for the same.
struct Line {
  UndoSet<WaitKey> cells;  // The first fresh member of each cell that has one.
  UndoSet<WaitKey> again;  // Members that have had an attempt.
  size_t fresh = 0;        // Fresh members of all its cells.

  bool empty() const { return cells.empty() && again.empty(); }
  size_t size() const { return fresh + again.size(); }
  WaitKey first() const;  // Of one that is not empty.

  void Remember() {
    (cells.Remember(), again.Remember());
    fresh_before = fresh;
  }
  void TakeBack() {
    (cells.TakeBack(), again.TakeBack());
    if (fresh_before) fresh = *std::exchange(fresh_before, std::nullopt);
  }
  void Forget() {
    (cells.Forget(), again.Forget());
    fresh_before.reset();
  }
  std::optional<size_t> fresh_before = {};  // While it remembers.
};

// Members that wait for the same.
struct Queue {
  UndoMap<SweepId, Line> lines;  // No empty ones.
  Turns turns;                   // Of the lines whose sweeps may have leases.

  void Remember() {
    lines.Remember();
    turns_before = turns;
  }
  void TakeBack() {
    lines.TakeBack();
    if (turns_before) turns = *std::exchange(turns_before, std::nullopt);
  }
  void Forget() {
    lines.Forget();
    turns_before.reset();
  }
  std::optional<Turns> turns_before;  // While it remembers.
};

}  // namespace noisefloor::scheduler
