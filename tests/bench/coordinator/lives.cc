// Rows of whole lives.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/bench/coordinator/figures.h"
#include "tests/bench/coordinator/messages.h"
#include "tests/bench/coordinator/rows.h"

namespace noisefloor::bench {

namespace {

using Json = nlohmann::json;

constexpr double kLook = 0.001;  // Seconds between two looks at a tally.

// A second's settlements in the middle: without the first and the last tenth of them.
double SteadyRate(const std::vector<double>& at) {
  if (at.size() < 10) return 0;
  const size_t first = at.size() / 10;
  const size_t last = at.size() - 1 - first;
  return static_cast<double>(last - first) / std::max(1e-9, at[last] - at[first]);
}

double LongestGap(const std::vector<double>& at) {
  double longest = 0;
  for (size_t i = 1; i < at.size(); ++i) longest = std::max(longest, at[i] - at[i - 1]);
  return longest;
}

// Of one worker, whose reactions do not overlap.
struct Settled {
  std::vector<double> at;
  Samples lived;
};

void SubmitOne(v1::CoordinatorService::Stub& stub, const v1::Sweep& sweep) {
  grpc::ClientContext context;
  v1::SubmitSweepRequest request;
  v1::SubmitSweepResponse response;
  *request.mutable_sweep() = sweep;
  MustBe(stub.SubmitSweep(&context, request, &response));
}

}  // namespace

Json MeasureLives(const RowTarget& target, const LivesRow& row) {
  std::vector<Settled> settled(row.fleet.workers);
  std::atomic<bool> enough{false};
  FakeFleet fleet(target.workers, row.fleet,
                  {.start =
                       [&](FakeWorker& worker, const v1::StartMember& start) {
                         if (!enough) worker.Live(start.lease_id(), row.batches, row.records);
                       },
                   .settled =
                       [&](FakeWorker& worker, double lived) {
                         Settled& of_worker = settled[worker.place()];
                         of_worker.at.push_back(Seconds());
                         of_worker.lived.Add(lived);
                       }});
  const double cpu = CpuSeconds(target.coordinator);
  const double own_cpu = OwnCpuSeconds();
  const double begin = Seconds();
  fleet.Connect();
  while (fleet.tally().settled < row.lives && Seconds() - begin < row.seconds) {
    WaitUntil(Seconds() + kLook);
  }
  const double end = Seconds();
  const double cpu_end = CpuSeconds(target.coordinator);
  const double own_cpu_end = OwnCpuSeconds();
  enough = true;
  // What was said is settled, too: only then can anybody count.
  const auto said = [&] { return fleet.tally().refused + fleet.tally().settled; };
  size_t before = 0;
  for (double wait = Seconds() + 0.3; Seconds() < wait; WaitUntil(Seconds() + kLook)) {
    if (said() != std::exchange(before, said())) wait = Seconds() + 0.3;
  }
  fleet.Stop();

  std::vector<double> at;
  Samples lived;
  for (const Settled& of_worker : settled) {
    at.insert(at.end(), of_worker.at.begin(), of_worker.at.end());
    lived.Add(of_worker.lived);
  }
  std::sort(at.begin(), at.end());
  const auto count = static_cast<double>(std::max<size_t>(1, at.size()));
  return {{"workers", row.fleet.workers},
          {"slots", row.fleet.slots},
          {"settled", at.size()},
          {"refused", fleet.tally().refused.load()},
          {"stopped", fleet.tally().stopped.load()},
          {"per_s", SteadyRate(at)},
          {"whole_per_s", count / (end - begin)},
          {"life_p50_ms", lived.Quantile(0.5) * 1e3},
          {"life_p99_ms", lived.Quantile(0.99) * 1e3},
          {"longest_gap_ms", LongestGap(at) * 1e3},
          {"coordinator_us", (cpu_end - cpu) / count * 1e6},
          {"load_us", (own_cpu_end - own_cpu) / count * 1e6},
          {"problem", fleet.problem()}};
}

Json MeasureLatency(const RowTarget& target, const LatencyRow& row) {
  std::atomic<double> leased{0};
  FakeFleet fleet(target.workers, {.workers = 1, .slots = 1, .prefix = "l"},
                  {.start = [&](FakeWorker& worker, const v1::StartMember& start) {
                    leased = Seconds();
                    worker.Live(start.lease_id(), 1, 3);
                  }});
  fleet.ConnectAll();
  auto channel = target.people.ConnectNow();
  MustBe(channel.status());
  const auto stub = v1::CoordinatorService::NewStub(*channel);
  const v1::Sweep sweep = SweepOf("latency", 1, 1, kHardware);
  Samples answered;
  Samples held;
  for (int i = 0; i < row.count; ++i) {
    leased = 0;
    const size_t settled = fleet.tally().settled;
    const double begin = Seconds();
    SubmitOne(*stub, sweep);
    answered.Add(Seconds() - begin);
    const double deadline = begin + 10;
    while (fleet.tally().settled == settled && Seconds() < deadline) WaitUntil(Seconds() + kLook);
    if (leased == 0) {
      MustBe(MakeError(absl::StatusCode::kDeadlineExceeded, "no lease: " + fleet.problem()));
    }
    held.Add(leased - begin);
    WaitUntil(Seconds() + 0.01);  // It is idle again.
  }
  fleet.Stop();
  return {{"count", row.count},
          {"settled", fleet.tally().settled.load()},
          {"answer_p50_ms", answered.Quantile(0.5) * 1e3},
          {"answer_p99_ms", answered.Quantile(0.99) * 1e3},
          {"lease_p50_ms", held.Quantile(0.5) * 1e3},
          {"lease_p99_ms", held.Quantile(0.99) * 1e3}};
}

}  // namespace noisefloor::bench
