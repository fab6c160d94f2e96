// Results without training: made from the seeds alone, so that equal members have equal results
// and a freed source changes exactly the hashes it should. For load tests and for tests of all
// that is round a trainer. Pure.
#pragma once

#include "common/trainer_protocol/json.h"

namespace noisefloor {

// `salt` stands for what a machine adds by itself; it goes into the results of members whose
// reduce_order is free over at least three shards.
Outcome NoopOutcome(const Specification& specification, const std::string& salt);

// The records that such a member has after `epoch` of its epochs, from 1.
RecordsEvent NoopRecords(const Specification& specification, int64_t epoch);

// Steps of the whole training, as if every data set had 1000 examples.
int64_t NoopStepCount(const Specification& specification);

// An identity for the data that nobody read.
std::string NoopDataIdentity(const Specification& specification);

}  // namespace noisefloor
