// What fake workers and clients say: the messages of the real ones, with values that nothing
// computed.
#pragma once

#include <cstdint>
#include <string>

#include "noisefloor/v1/coordinator_api.pb.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor::bench {

// The class, unless a row says another, and the stack that every fake worker offers.
inline constexpr char kHardware[] = "cpu-intel-avx2";
inline constexpr char kStack[] = "torch-2.11-cu130";

// One device, `slots` slots of one core.
v1::SessionRequest Registration(const std::string& name, uint64_t identity, uint32_t slots,
                                const std::string& hardware);

// A life as the worker tells it: a hello, batches of records, an end with four hashes, three
// metrics, the accuracies of ten classes and an environment.
v1::SessionRequest Started(uint64_t lease, const std::string& data);
v1::SessionRequest Records(uint64_t lease, uint64_t sequence, int records);
v1::SessionRequest Finished(uint64_t lease, uint64_t batches, const std::string& data);

// The identity of the data that the specification of a lease names; of one that names none, that of
// data which all fake workers have read.
std::string DataOf(const std::string& specification);

// `cells` points of the learning rate, `members` in all (a multiple of `cells`).
v1::Sweep SweepOf(const std::string& name, uint32_t cells, uint32_t members,
                  const std::string& hardware);

}  // namespace noisefloor::bench
