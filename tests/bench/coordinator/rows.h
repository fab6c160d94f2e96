// What is measured, one function a row: each drives the coordinator at `target` and returns its
// figures. Every one exits with a message when what it measures did not happen.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "nlohmann/json.hpp"

#include "tests/bench/coordinator/fake_fleet.h"
#include "tests/bench/coordinator/target.h"

namespace noisefloor::bench {

struct RowTarget {
  Target workers;         // As a worker.
  Target people;          // As a person.
  pid_t coordinator = 0;  // Whose processor time is told; 0: nobody's.
};

// Lives until `lives` have settled or `seconds` have passed.
struct LivesRow {
  FleetShape fleet;
  size_t lives = 10000;
  double seconds = 60;
  int batches = 1;
  int records = 3;  // Of a batch.
};
nlohmann::json MeasureLives(const RowTarget& target, const LivesRow& row);

// Submissions of one member to an idle coordinator with one idle worker.
struct LatencyRow {
  int count = 200;
};
nlohmann::json MeasureLatency(const RowTarget& target, const LatencyRow& row);

// Records of `streams` leases, on a session each.
struct PointsRow {
  size_t streams = 8;
  int batch = 64;   // Records.
  int window = 8;   // Batches that may wait for their acknowledgement; not with a rate.
  double rate = 0;  // Records a second of all streams; 0: as fast as they are taken.
  double seconds = 4;
  uint64_t points = 0;  // Stops after so many, too; 0: does not.
  bool submit = true;   // A sweep of its own.
  std::string prefix = "p";
  std::string hardware = kHardware;
};
nlohmann::json MeasurePoints(const RowTarget& target, const PointsRow& row);

// `count` sweeps, one after the other.
struct SubmitRow {
  uint32_t cells = 60;
  uint32_t members = 10000;
  int count = 1;
  std::string hardware = kHardware;
};
nlohmann::json MeasureSubmit(const RowTarget& target, const SubmitRow& row);

// One call again and again: members, member, sweep, sweeps, explain, workers, version.
struct QueryRow {
  std::string what = "members";
  int count = 100;
  double seconds = 60;
  uint64_t sweep = 1;
  uint32_t cells = 60;  // Of which any member of that sweep may be asked for.
  uint32_t replicates = 10;
};
nlohmann::json MeasureQuery(const RowTarget& target, const QueryRow& row);

// All members of a sweep: "cancel" or "retry".
struct ChangeRow {
  std::string what = "cancel";
  uint64_t sweep = 1;
};
nlohmann::json MeasureChange(const RowTarget& target, const ChangeRow& row);

// One file of drawn bytes, of a lease of its own.
struct UploadRow {
  size_t mebibytes = 1024;
};
nlohmann::json MeasureUpload(const RowTarget& target, const UploadRow& row);

// A fleet that takes leases and keeps them. Prints a line when all are connected, then waits for
// the end of standard input.
struct HoldRow {
  FleetShape fleet;
};
nlohmann::json MeasureHold(const RowTarget& target, const HoldRow& row);

// A worker that knocks until it holds a lease: when that was, by CLOCK_MONOTONIC.
nlohmann::json MeasureFirstLease(const RowTarget& target);

}  // namespace noisefloor::bench
