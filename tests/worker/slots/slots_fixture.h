// Slots as their tests see them: messages in, actions out in words.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "worker/slots/slots.h"

namespace noisefloor::slots {

inline const TrainerKey kAvx2{"torch", "cpu-amd-avx2", ""};
inline const TrainerKey kSse{"torch", "cpu-amd-sse", ""};

// A worker whose coordinator beats every second and whose leases live for ten.
class SlotsTest : public testing::Test {
 protected:
  explicit SlotsTest(SlotsOptions options = {.slot_count = 1, .grace = absl::Seconds(3)})
      : slots_(options) {}

  std::vector<std::string> Do(const Message& message) {
    std::vector<std::string> lines;
    for (const Action& action : slots_.Step(message, now_)) lines.push_back(Describe(action));
    return lines;
  }
  std::vector<std::string> Wait(int seconds) {
    now_ += absl::Seconds(seconds);
    return Do(Tick{});
  }
  std::vector<std::string> Connect() { return Do(Connected{absl::Seconds(1), absl::Seconds(10)}); }
  std::vector<std::string> Start(uint64_t lease, const TrainerKey& key = kAvx2, uint32_t slot = 0) {
    return Do(StartMember{LeaseId{lease}, slot, key});
  }

  Slots slots_;
  absl::Duration now_ = absl::Seconds(1000);
};

class TwoSlotsTest : public SlotsTest {
 protected:
  TwoSlotsTest() : SlotsTest({.slot_count = 2, .grace = absl::Seconds(3)}) {}
};

}  // namespace noisefloor::slots
