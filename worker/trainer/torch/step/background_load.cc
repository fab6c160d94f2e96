#include "worker/trainer/torch/step/background_load.h"

#include <time.h>

#include <span>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr size_t kPiecesOfABlock = 64;
constexpr int kRounds = 1 << 16;

// A chain, so that no unit is shorter than its operations; the constants are of a generator of full
// period.
uint64_t Compute(uint64_t value) {
  for (int i = 0; i < kRounds; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  return value;
}

uint64_t Stream(std::span<uint64_t> piece) {
  uint64_t sum = 0;
  for (uint64_t& word : piece) sum += ++word;
  return sum;
}

double CpuSecondsOfThread() {
  timespec time = {};
  NF_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

BackgroundLoad::BackgroundLoad(LoadKind kind, int64_t threads)
    : busy_(threads), workers_(static_cast<size_t>(threads)) {
  if (kind == LoadKind::kMemory) {
    for (Worker& worker : workers_) worker.block.resize(kLoadBytes / sizeof(uint64_t));
  }
  try {
    for (Worker& worker : workers_) {
      worker.thread = std::thread([this, &worker] { Run(worker); });
    }
  } catch (...) {
    Stop();
    throw;
  }
  busy_.wait();
}

LoadDone BackgroundLoad::Stop() {
  stopping_ = true;
  LoadDone all;
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
    all.units += worker.done.units;
    all.cpu_seconds += worker.done.cpu_seconds;
  }
  return all;
}

void BackgroundLoad::Run(Worker& worker) {
  const std::span block(worker.block);
  const size_t piece = block.size() / kPiecesOfABlock;
  while (!stopping_) {
    worker.result +=
        block.empty()
            ? Compute(worker.result)
            : Stream(block.subspan(static_cast<size_t>(worker.done.units) % kPiecesOfABlock * piece,
                                   piece));
    if (++worker.done.units == 1) busy_.count_down();
  }
  worker.done.cpu_seconds = CpuSecondsOfThread();
}

}  // namespace noisefloor::trainer
