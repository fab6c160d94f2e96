#include "tests/worker/trainer/cuda/rehearsal.h"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "common/base/philox.h"
#include "tests/worker/trainer/cuda/shadow.h"
#include "tests/worker/trainer/cuda/shim.h"

// Where the linker has put all __shared__ memory and all __constant__ tables of this program.
extern "C" const char __start_nf_shared[], __stop_nf_shared[];
extern "C" const char __start_nf_constant[], __stop_nf_constant[];

namespace noisefloor::cuda::rehearsal {

namespace {

constexpr size_t kStackBytes = 48 << 10;
constexpr size_t kMostFindings = 8;
constexpr uint32_t kLanesOfWarp = 32;
constexpr unsigned char kGarbage = 0xA5;  // In shared memory when a block begins.

struct Thread {
  enum class State { kReady, kBarrier, kShuffle, kDone };
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  State state = State::kReady;
  const void* site = nullptr;  // Of the barrier or shuffle that it waits at.
  uint32_t mask = 0, distance = 0;
  uint64_t value = 0;  // What it brings to a shuffle; then what it gets.
};

class Draws {
 public:
  explicit Draws(uint64_t seed) : stream_(seed, StreamOf("rehearsal")) {}
  uint32_t Below(uint32_t bound) {
    return static_cast<uint32_t>((uint64_t{stream_.Word(next_++)} * bound) >> 32);
  }

 private:
  PhiloxStream stream_;
  uint64_t next_ = 0;
};

bool Within(uintptr_t address, size_t size, const void* begin, size_t bytes) {
  const auto first = reinterpret_cast<uintptr_t>(begin);
  return address >= first && address + size <= first + bytes;
}

class Machine {
 public:
  explicit Machine(const Job& job)
      : job_(job),
        draws_(job.seed),
        threads_(job.block),
        shared_(static_cast<size_t>(__stop_nf_shared - __start_nf_shared), true) {
    for (const Region& region : job.regions) {
      shadows_.emplace_back(region.written ? std::optional<Shadow>(Shadow(region.bytes, false))
                                           : std::nullopt);
    }
    for (Thread& thread : threads_) {
      thread.stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    }
  }

  Report Run() {
    std::vector<uint32_t> blocks(job_.grid);
    std::iota(blocks.begin(), blocks.end(), 0u);
    for (uint32_t i = job_.grid; i > 1; --i) std::swap(blocks[i - 1], blocks[draws_.Below(i)]);
    for (const uint32_t block : blocks) {
      if (abandoned_) break;
      RunBlock(block);
    }
    return std::move(report_);
  }

  // What bodies call, from their own stacks.
  Place thread_index() const { return {current_, 0, 0}; }
  Place block_index() const { return {block_, 0, 0}; }
  Place block_size() const { return {job_.block, 1, 1}; }
  Place grid_size() const { return {job_.grid, 1, 1}; }
  void Wait(const void* site) {
    threads_[current_].site = site;
    Leave(Thread::State::kBarrier);
  }
  uint64_t Exchange(uint32_t mask, uint64_t value, uint32_t distance, const void* site) {
    Thread& thread = threads_[current_];
    thread.mask = mask;
    thread.value = value;
    thread.distance = distance;
    thread.site = site;
    Leave(Thread::State::kShuffle);
    return thread.value;
  }
  float Add(float* address, float value) {
    ++report_.atomics;
    if (draws_.Below(2) == 0) {
      ready_.push_back(current_);
      Leave(Thread::State::kReady);
    }
    Touch(address, sizeof(float), /*write=*/true, /*atomic=*/true);
    const float old = *address;
    *address = old + value;
    return old;
  }
  void Touch(const void* place, size_t size, bool write, bool atomic);
  // The thread never goes on, nor does any other.
  [[noreturn]] void Abandon(const std::string& finding) {
    Tell(finding);
    abandoned_ = true;
    Leave(Thread::State::kDone);
    NF_CHECK(false);  // Nobody comes back here.
    __builtin_unreachable();
  }
  void Enter() {
    job_.body(job_.arguments.data());
    Leave(Thread::State::kDone);
  }

 private:
  void RunBlock(uint32_t block);
  void RunReady();
  bool PassShuffles();
  bool PassShuffle(uint32_t first);
  bool PassBarrier();
  void Leave(Thread::State state) {
    threads_[current_].state = state;
    swapcontext(&threads_[current_].context, &scheduler_);
  }
  void Tell(const std::string& finding) {
    if (report_.findings.size() < kMostFindings) {
      report_.findings.push_back(job_.name + ": " + finding);
    }
  }

  const Job& job_;
  Draws draws_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> ready_;
  std::vector<std::optional<Shadow>> shadows_;  // Of regions that are written.
  Shadow shared_;
  ucontext_t scheduler_{};
  uint32_t block_ = 0;
  uint32_t current_ = 0;
  uint64_t epoch_ = 0;
  bool abandoned_ = false;
  Report report_;
};

Machine* g_machine = nullptr;  // The one that runs; kernels' bodies reach it by free functions.

void EnterBody() { g_machine->Enter(); }

void Machine::RunBlock(uint32_t block) {
  block_ = block;
  epoch_ = 0;
  std::fill(const_cast<char*>(__start_nf_shared), const_cast<char*>(__stop_nf_shared),
            static_cast<char>(kGarbage));
  ready_.clear();
  for (uint32_t i = 0; i < job_.block; ++i) {
    Thread& thread = threads_[i];
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = kStackBytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, EnterBody, 0);
    thread.state = Thread::State::kReady;
    ready_.push_back(i);
  }
  do {
    RunReady();
  } while (!abandoned_ && (PassShuffles() || PassBarrier()));
}

void Machine::RunReady() {
  while (!ready_.empty() && !abandoned_) {
    std::swap(ready_[draws_.Below(static_cast<uint32_t>(ready_.size()))], ready_.back());
    current_ = ready_.back();
    ready_.pop_back();
    swapcontext(&scheduler_, &threads_[current_].context);
  }
}

bool Machine::PassShuffles() {
  bool passed = false;
  for (uint32_t first = 0; first < job_.block; first += kLanesOfWarp) passed |= PassShuffle(first);
  return passed;
}

// All lanes of a mask must wait at the same shuffle.
bool Machine::PassShuffle(uint32_t first) {
  const auto waits = [&](uint32_t lane) {
    return first + lane < job_.block && threads_[first + lane].state == Thread::State::kShuffle;
  };
  uint32_t leader = 0;
  while (leader < kLanesOfWarp && !waits(leader)) ++leader;
  if (leader == kLanesOfWarp) return false;
  const Thread& asked = threads_[first + leader];
  uint64_t values[kLanesOfWarp] = {};
  for (uint32_t lane = 0; lane < kLanesOfWarp; ++lane) {
    if ((asked.mask >> lane & 1) == 0) continue;
    if (!waits(lane) || threads_[first + lane].site != asked.site ||
        threads_[first + lane].mask != asked.mask) {
      Tell("lane " + std::to_string(lane) + " of a shuffle's mask does not come to it");
      abandoned_ = true;
      return false;
    }
    values[lane] = threads_[first + lane].value;
  }
  ++report_.shuffles;
  const uint32_t mask = asked.mask;
  for (uint32_t lane = 0; lane < kLanesOfWarp; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Thread& thread = threads_[first + lane];
    const uint32_t from = lane ^ thread.distance;
    if (from >= kLanesOfWarp || (mask >> from & 1) == 0) {
      Tell("a shuffle asks a lane outside of its mask");
      abandoned_ = true;
      return false;
    }
    thread.value = values[from];
    thread.state = Thread::State::kReady;
    ready_.push_back(first + lane);
  }
  return true;
}

bool Machine::PassBarrier() {
  uint32_t waiting = 0, elsewhere = 0;
  const void* site = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state != Thread::State::kBarrier) continue;
    if (waiting++ == 0) site = thread.site;
    if (thread.site != site) ++elsewhere;
  }
  if (waiting == 0) return false;
  if (waiting < job_.block) {
    Tell("a barrier that " + std::to_string(waiting) + " of " + std::to_string(job_.block) +
         " threads reach");
    abandoned_ = true;
    return false;
  }
  if (elsewhere > 0) {
    Tell("threads of a block wait at two barriers");
    abandoned_ = true;
    return false;
  }
  ++report_.barriers;
  ++epoch_;
  for (uint32_t i = 0; i < job_.block; ++i) {
    threads_[i].state = Thread::State::kReady;
    ready_.push_back(i);
  }
  return true;
}

void Machine::Touch(const void* place, size_t size, bool write, bool atomic) {
  const auto address = reinterpret_cast<uintptr_t>(place);
  if (Within(address, size, threads_[current_].stack.get(), kStackBytes)) return;
  const auto who = [&] {
    return "thread " + std::to_string(current_) + " of block " + std::to_string(block_) +
           (write ? " writes" : " reads");
  };
  const auto check = [&](Shadow& shadow, const void* begin, const std::string& where) {
    const size_t offset = address - reinterpret_cast<uintptr_t>(begin);
    ++report_.accesses;
    for (size_t i = 0; i < size; ++i) {
      const Access access{block_, current_, epoch_, atomic};
      const auto wrong = write ? shadow.Write(offset + i, access) : shadow.Read(offset + i, access);
      if (wrong) {
        Tell(where + " byte " + std::to_string(offset + i) + ": " + *wrong);
        return;
      }
    }
  };
  if (Within(address, size, __start_nf_shared,
             static_cast<size_t>(__stop_nf_shared - __start_nf_shared))) {
    return check(shared_, __start_nf_shared, "shared memory");
  }
  for (size_t i = 0; i < job_.regions.size(); ++i) {
    const Region& region = job_.regions[i];
    if (!Within(address, size, region.begin, region.bytes)) continue;
    if (shadows_[i]) return check(*shadows_[i], region.begin, "region " + std::to_string(i));
    ++report_.accesses;
    if (!write) return;
    Abandon(who() + " region " + std::to_string(i) + ", which is only read");
  }
  const bool constant = Within(address, size, __start_nf_constant,
                               static_cast<size_t>(__stop_nf_constant - __start_nf_constant)) ||
                        Within(address, size, job_.arguments.data(), job_.arguments.size());
  if (constant && !write) return;
  Abandon(who() + " " + std::to_string(size) + " bytes outside of everything it was given");
}

}  // namespace

Report Run(const Job& job) {
  static Mutex mutex;
  const MutexLock lock(mutex);
  Machine machine(job);
  g_machine = &machine;
  Report report = machine.Run();
  g_machine = nullptr;
  return report;
}

Place ThreadIndex() { return g_machine->thread_index(); }
Place BlockIndex() { return g_machine->block_index(); }
Place BlockSize() { return g_machine->block_size(); }
Place GridSize() { return g_machine->grid_size(); }
void Barrier() { g_machine->Wait(__builtin_return_address(0)); }
unsigned long long ShuffleXor(unsigned mask, unsigned long long value, unsigned distance) {
  return g_machine->Exchange(mask, value, distance, __builtin_return_address(0));
}
float AtomicAdd(float* address, float value) { return g_machine->Add(address, value); }

absl::Status RehearsalLauncher::Launch(const KernelLaunch& launch) {
  const Report report = Run({.name = std::string(FactsOf(launch.kernel).name),
                             .body = BodyOf(launch.kernel),
                             .grid = launch.grid,
                             .block = launch.block,
                             .arguments = launch.arguments,
                             .regions = launch.regions,
                             .seed = seed_ + launches_++});
  if (report.findings.empty()) return absl::OkStatus();
  std::string text;
  for (const std::string& finding : report.findings) text += (text.empty() ? "" : "; ") + finding;
  return MakeError(absl::StatusCode::kInternal, text);
}

// What the compiler calls in sources that include shim.h, before each load and store.
void TouchFromBody(const void* address, size_t size, bool write) {
  if (g_machine != nullptr) g_machine->Touch(address, size, write, /*atomic=*/false);
}
void IndexOutside() { g_machine->Abandon("an index outside of an array"); }

}  // namespace noisefloor::cuda::rehearsal

// NOLINTBEGIN: names are the compiler's.
namespace {
using noisefloor::cuda::rehearsal::IndexOutside;
using noisefloor::cuda::rehearsal::TouchFromBody;
}  // namespace
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __ubsan_handle_out_of_bounds(void*, void*) { IndexOutside(); }
#define NF_TOUCH(bytes)                                                                      \
  void __tsan_read##bytes(void* address) { TouchFromBody(address, bytes, false); }           \
  void __tsan_write##bytes(void* address) { TouchFromBody(address, bytes, true); }           \
  void __tsan_unaligned_read##bytes(void* address) { TouchFromBody(address, bytes, false); } \
  void __tsan_unaligned_write##bytes(void* address) { TouchFromBody(address, bytes, true); }
NF_TOUCH(1)
NF_TOUCH(2)
NF_TOUCH(4)
NF_TOUCH(8)
NF_TOUCH(16)
void __tsan_read_range(void* address, size_t size) { TouchFromBody(address, size, false); }
void __tsan_write_range(void* address, size_t size) { TouchFromBody(address, size, true); }
}
// NOLINTEND
