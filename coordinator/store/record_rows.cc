#include "coordinator/store/record_rows.h"

#include <cmath>

namespace noisefloor {

namespace {

// Leases that are remembered: more than a fleet has slots, and a few hundred kilobytes.
constexpr size_t kMostLeases = 10000;
constexpr double kMostSteps = 1e15;  // Below what a double counts one by one.

constexpr const char* kRecordSql =
    "INSERT INTO record (lease, batch, item, step, metric, value, epoch) VALUES "
    "(?, ?, ?, ?, ?, ?, ?) ON CONFLICT (lease, batch, item) DO NOTHING";
constexpr const char* kFindStepsSql = "SELECT steps_per_epoch FROM lease WHERE lease = ?";
constexpr const char* kSetStepsSql = "UPDATE lease SET steps_per_epoch = ? WHERE lease = ?";

double EpochAt(int64_t step, int64_t steps_per_epoch) {
  return static_cast<double>(step) / static_cast<double>(steps_per_epoch);
}

}  // namespace

std::optional<int64_t> StepsPerEpoch(const Record& record) {
  if (record.step <= 0 || !(record.epoch > 0)) return std::nullopt;
  const double steps = std::round(static_cast<double>(record.step) / record.epoch);
  if (!(steps >= 1 && steps <= kMostSteps)) return std::nullopt;
  const auto whole = static_cast<int64_t>(steps);
  if (EpochAt(record.step, whole) != record.epoch) return std::nullopt;
  return whole;
}

RecordRows::RecordRows(SQLite::Database& database)
    : row_(database, kRecordSql), find_(database, kFindStepsSql), set_(database, kSetStepsSql) {}

// Statements are reset first: one that failed the last time still holds its row.
void RecordRows::Keep(LeaseId lease, uint64_t sequence, const std::vector<Record>& records,
                      const std::function<int64_t(const std::string&)>& number) {
  const std::optional<int64_t> steps = StepsOf(lease, records);
  row_.tryReset();
  row_.bind(1, static_cast<int64_t>(lease.value));
  row_.bind(2, static_cast<int64_t>(sequence));
  int64_t item = 0;
  for (const Record& record : records) {
    row_.bind(3, item++);
    row_.bind(4, record.step);
    row_.bind(5, number(record.metric));
    row_.bind(6, record.value);  // A nan is kept as NULL.
    if (steps && EpochAt(record.step, *steps) == record.epoch) {
      row_.bind(7);
    } else {
      row_.bind(7, std::isfinite(record.epoch) ? record.epoch : 0.0);
    }
    row_.exec();
    row_.tryReset();
  }
}

void RecordRows::Forget() { leases_.clear(); }

void RecordRows::Begin(LeaseId lease) { Know(lease, std::nullopt); }

RecordRows::Steps::iterator RecordRows::Know(LeaseId lease, std::optional<int64_t> steps) {
  if (leases_.size() >= kMostLeases) leases_.clear();
  return leases_.insert_or_assign(lease, steps).first;
}

std::optional<int64_t> RecordRows::StepsOf(LeaseId lease, const std::vector<Record>& records) {
  auto known = leases_.find(lease);
  if (known == leases_.end()) known = Know(lease, Kept(lease));
  for (auto record = records.begin(); !known->second && record != records.end(); ++record) {
    known->second = StepsPerEpoch(*record);
    if (!known->second) continue;
    set_.tryReset();
    set_.bind(1, *known->second);
    set_.bind(2, static_cast<int64_t>(lease.value));
    set_.exec();
    set_.tryReset();
  }
  return known->second;
}

std::optional<int64_t> RecordRows::Kept(LeaseId lease) {
  find_.tryReset();
  find_.bind(1, static_cast<int64_t>(lease.value));
  std::optional<int64_t> steps;
  if (find_.executeStep() && !find_.getColumn(0).isNull()) steps = find_.getColumn(0).getInt64();
  find_.tryReset();
  return steps;
}

}  // namespace noisefloor
