// What Scheduler::Copy costs, in allocations: it is made before each call of a person, on the
// thread that decides everything, and must not grow with what has ended.
#include <cstdlib>
#include <new>

#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace {
size_t allocations = 0;
size_t allocated_bytes = 0;
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  allocated_bytes += size;
  void* const found = std::malloc(size == 0 ? 1 : size);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, size_t) noexcept { std::free(pointer); }

namespace noisefloor::test {
namespace {

using scheduler::Effects;
using scheduler::Scheduler;
using scheduler::SendStart;

struct Cost {
  size_t allocations = 0;
  size_t bytes = 0;
};

Cost CostOfCopy(const Scheduler& scheduler) {
  const Cost before = {allocations, allocated_bytes};
  const Scheduler copy = scheduler.Copy();
  return {allocations - before.allocations, allocated_bytes - before.bytes};
}

// One worker that ends so many members of the sweep.
Scheduler After(uint32_t lives) {
  Scheduler scheduler{scheduler::Options{}};
  (void)scheduler.Step(Join(1, 8, "unit"), kT0);
  Effects effects = scheduler.Step(Submit(MakeSweep({"control"}, 30000)), kT0);
  std::vector<LeaseId> running;
  for (uint32_t life = 0; life < lives; ++life) {
    for (const auto& start : Of<SendStart>(effects)) running.push_back(start.lease);
    effects = scheduler.Step(Finish(1, running[life].value), kT0);
  }
  return scheduler;
}

TEST(Copy, TakesNoMoreObjectsWhenManyMembersHaveEnded) {
  const Cost few = CostOfCopy(After(100));
  const Cost many = CostOfCopy(After(20100));
  EXPECT_GT(few.allocations, 10u);
  // One for each 1,024 leases that ended with a result.
  EXPECT_LE(many.allocations, few.allocations + 25);
}

TEST(Copy, SharesTheSpecificationsOfLeases) {
  const auto with_slots = [](uint32_t slots) {
    Scheduler scheduler{scheduler::Options{}};
    (void)scheduler.Step(Join(1, slots, "unit"), kT0);
    (void)scheduler.Step(Submit(MakeSweep({"control"}, 2000)), kT0);
    EXPECT_EQ(scheduler.Running().size(), slots);
    return scheduler;
  };
  const Cost few = CostOfCopy(with_slots(10));
  const Cost many = CostOfCopy(with_slots(410));
  // A specification alone has more than a kilobyte.
  EXPECT_LE(many.bytes, few.bytes + 400 * size_t{700});
  EXPECT_LE(many.allocations, few.allocations + 400 * size_t{5});
}

}  // namespace
}  // namespace noisefloor::test
