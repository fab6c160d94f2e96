// The row of metric points.
#include <algorithm>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/bench/coordinator/figures.h"
#include "tests/bench/coordinator/messages.h"
#include "tests/bench/coordinator/rows.h"

namespace noisefloor::bench {

namespace {

using Json = nlohmann::json;

constexpr double kPatienceSeconds = 30;

// One lease and what is said of it.
class Stream {
 public:
  explicit Stream(const PointsRow& row) : row_(row) {}

  void Began(FakeWorker& worker, uint64_t lease) {
    MutexLock lock(mutex_);
    if (worker_ != nullptr) return;
    worker_ = &worker;
    lease_ = lease;
    changed_.NotifyAll();
  }
  bool WaitForLease(double deadline) {
    MutexLock lock(mutex_);
    while (worker_ == nullptr && Seconds() < deadline) {
      (void)changed_.WaitFor(mutex_, absl::Milliseconds(10));
    }
    return worker_ != nullptr;
  }
  void Kept(uint64_t sequence) {
    const double now = Seconds();
    MutexLock lock(mutex_);
    while (!due_.empty() && due_.front().first <= sequence) {
      answered_.Add(now - due_.front().second);
      due_.pop_front();
      ++kept_;
    }
    changed_.NotifyAll();
  }
  // A batch that ought to have gone at `due`.
  void Say(double due) {
    uint64_t sequence = 0;
    {
      MutexLock lock(mutex_);
      sequence = ++sequence_;
      due_.emplace_back(sequence, due);
    }
    worker_->Say(Records(lease_, sequence, row_.batch));
  }
  // As fast as they are taken, until then.
  void SayUntil(const std::atomic<bool>& enough) {
    while (!enough) {
      {
        MutexLock lock(mutex_);
        const auto window = static_cast<size_t>(row_.window);
        if (due_.size() >= window) (void)changed_.WaitFor(mutex_, absl::Milliseconds(20));
        if (due_.size() >= window) continue;
      }
      Say(Seconds());
    }
  }
  bool AllKept() {
    MutexLock lock(mutex_);
    return due_.empty();
  }
  void End() { worker_->End(lease_, said()); }
  uint64_t said() {
    MutexLock lock(mutex_);
    return sequence_;
  }
  uint64_t kept() {
    MutexLock lock(mutex_);
    return kept_;
  }
  Samples answered() {
    MutexLock lock(mutex_);
    return answered_;
  }

 private:
  const PointsRow& row_;
  Mutex mutex_;
  CondVar changed_;
  FakeWorker* worker_ = nullptr;  // Constant once it is there, as is the lease.
  uint64_t lease_ = 0;
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t kept_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<std::pair<uint64_t, double>> due_ ABSL_GUARDED_BY(mutex_);
  Samples answered_ ABSL_GUARDED_BY(mutex_);
};

using Streams = std::vector<std::unique_ptr<Stream>>;

// In turn, each batch at its time, late or not.
void SayAtRate(Streams& streams, const PointsRow& row, const std::atomic<bool>& enough) {
  const double begin = Seconds();
  const double apart = row.batch / row.rate;
  for (uint64_t i = 0; !enough; ++i) {
    const double due = begin + static_cast<double>(i) * apart;
    WaitUntil(due);
    streams[i % streams.size()]->Say(due);
  }
}

std::vector<std::thread> StartTalking(Streams& streams, const PointsRow& row,
                                      const std::atomic<bool>& enough) {
  std::vector<std::thread> threads;
  if (row.rate > 0) {
    threads.emplace_back([&] { SayAtRate(streams, row, enough); });
    return threads;
  }
  for (const auto& stream : streams) {
    threads.emplace_back([&enough, one = stream.get()] { one->SayUntil(enough); });
  }
  return threads;
}

uint64_t PointsKept(const Streams& streams, const PointsRow& row) {
  uint64_t batches = 0;
  for (const auto& stream : streams) batches += stream->kept();
  return batches * static_cast<uint64_t>(row.batch);
}

template <typename Condition>
void WaitFor(const char* what, const Condition& condition) {
  const double deadline = Seconds() + kPatienceSeconds;
  while (!condition()) {
    if (Seconds() > deadline) MustBe(MakeError(absl::StatusCode::kDeadlineExceeded, what));
    WaitUntil(Seconds() + 0.001);
  }
}

void SubmitFor(const RowTarget& target, const PointsRow& row) {
  if (row.submit)
    (void)MeasureSubmit(target, {1, static_cast<uint32_t>(row.streams), 1, row.hardware});
}

}  // namespace

Json MeasurePoints(const RowTarget& target, const PointsRow& row) {
  Streams streams;
  for (size_t i = 0; i < row.streams; ++i) streams.push_back(std::make_unique<Stream>(row));
  FakeFleet fleet(
      target.workers,
      {.workers = row.streams, .slots = 1, .prefix = row.prefix, .hardware = row.hardware},
      {.start =
           [&](FakeWorker& worker, const v1::StartMember& start) {
             worker.Begin(start.lease_id());
             streams[worker.place()]->Began(worker, start.lease_id());
           },
       .kept = [&](FakeWorker& worker, uint64_t lease,
                   uint64_t sequence) { streams[worker.place()]->Kept(sequence); }});
  fleet.ConnectAll();
  SubmitFor(target, row);
  for (const auto& stream : streams) {
    if (!stream->WaitForLease(Seconds() + kPatienceSeconds)) {
      MustBe(MakeError(absl::StatusCode::kDeadlineExceeded, "no lease: " + fleet.problem()));
    }
  }
  const double cpu = CpuSeconds(target.coordinator);
  const double begin = Seconds();
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads = StartTalking(streams, row, enough);
  while (Seconds() - begin < row.seconds &&
         (row.points == 0 || PointsKept(streams, row) < row.points)) {
    WaitUntil(Seconds() + 0.005);
  }
  const auto kept = static_cast<double>(PointsKept(streams, row));
  const double took = Seconds() - begin;
  const double cpu_took = CpuSeconds(target.coordinator) - cpu;
  enough = true;
  for (std::thread& thread : threads) thread.join();
  uint64_t said = 0;
  Samples answered;
  for (const auto& stream : streams) {
    WaitFor("records were not acknowledged", [&] { return stream->AllKept(); });
    said += stream->said() * static_cast<uint64_t>(row.batch);
    answered.Add(stream->answered());
    stream->End();
  }
  WaitFor("ends were not settled",
          [&] { return fleet.tally().settled + fleet.tally().refused >= row.streams; });
  fleet.Stop();
  return {{"streams", row.streams},
          {"batch", row.batch},
          {"offered_per_s", row.rate},
          {"points", said},
          {"settled", fleet.tally().settled.load()},
          {"per_s", kept / took},
          {"ack_p50_ms", answered.Quantile(0.5) * 1e3},
          {"ack_p99_ms", answered.Quantile(0.99) * 1e3},
          {"ack_p999_ms", answered.Quantile(0.999) * 1e3},
          {"ack_worst_ms", answered.Quantile(1) * 1e3},
          {"coordinator_us", cpu_took / std::max(1.0, kept) * 1e6}};
}

}  // namespace noisefloor::bench
