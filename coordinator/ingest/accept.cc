// Record batches: to keep, to acknowledge again, to ask for, or never to be kept.
#include "coordinator/ingest/accept.h"

#include <cmath>

namespace noisefloor::ingest {

namespace {

using Kind = BatchVerdict::Kind;

// What is wrong with a record that no cleaning mends; empty: nothing.
std::string Fault(const Record& record) {
  if (record.metric.empty()) return "expected the name of a metric, got an empty text";
  if (record.step < 0 || record.step > kMaxStep) {
    return "expected a step from 0 on, got " + std::to_string(record.step);
  }
  if (!std::isfinite(record.epoch)) {
    return "expected a finite epoch, got " + NumberToText(record.epoch);
  }
  return "";
}

std::string Place(const RecordBatch& batch) {
  return "record batch " + std::to_string(batch.sequence);
}

}  // namespace

BatchVerdict JudgeBatch(RecordBatch& batch, uint64_t stored) {
  if (batch.sequence == 0) return {Kind::kBroken, "record batch 0: batches are numbered from 1"};
  if (batch.sequence <= stored) return {Kind::kRepeat, ""};
  if (batch.sequence > stored + 1) return {Kind::kGap, ""};
  if (!batch.fault.empty()) return {Kind::kBroken, Place(batch) + ": " + batch.fault};
  if (batch.records.empty() || batch.records.size() > kMaxRecordsInBatch) {
    return {Kind::kBroken, Place(batch) + ": expected 1 to " + std::to_string(kMaxRecordsInBatch) +
                               " records, got " + std::to_string(batch.records.size())};
  }
  for (size_t i = 0; i < batch.records.size(); ++i) {
    Record& record = batch.records[i];
    record.metric = ToStorableText(record.metric, kMaxNameBytes);
    if (const std::string fault = Fault(record); !fault.empty()) {
      return {Kind::kBroken, Place(batch) + ", record " + std::to_string(i) + ": " + fault};
    }
  }
  return {Kind::kKeep, ""};
}

}  // namespace noisefloor::ingest
