#include "coordinator/metrics/metrics.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "common/trainer_protocol/json.h"
#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace noisefloor::metrics {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;

MetricFamily& Add(Families& families, const char* name, const char* help, MetricType type) {
  return families.emplace_back(MetricFamily{name, help, type, {}});
}

void Put(MetricFamily& family, double value, Labels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void AddCounter(Families& families, const char* name, const char* help, uint64_t value) {
  Put(Add(families, name, help, MetricType::Counter), static_cast<double>(value));
}

void AddGauge(Families& families, const char* name, const char* help, double value) {
  Put(Add(families, name, help, MetricType::Gauge), value);
}

// Buckets are read one after the other: the count is theirs, so that they agree.
void Put(MetricFamily& family, const figures::Histogram& histogram, Labels labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    below += histogram.count(i);
    metric.histogram.bucket.push_back({below, histogram.bound(i)});
  }
  metric.histogram.sample_count = below + histogram.count(histogram.size());
  metric.histogram.sample_sum = histogram.sum();
  family.metric.push_back(std::move(metric));
}

void AddMembers(Families& families, const scheduler::ClassCounts& counts) {
  MetricFamily& members =
      Add(families, "noisefloor_members",
          "Members by state and hardware class; those that wait are the queue.", MetricType::Gauge);
  for (const auto& [hardware, by_state] : counts) {
    for (size_t i = 0; i < by_state.size(); ++i) {
      const MemberState state = kAllMemberStates[i];
      Put(members, static_cast<double>(by_state[i]),
          {{"hardware", hardware.empty() ? "any" : hardware}, {"state", std::string(Name(state))}});
    }
  }
}

void AddLeases(Families& families, const figures::LoopFigures& loop) {
  AddCounter(families, "noisefloor_heartbeats_total",
             "Heartbeats of workers; each renews all leases that it names.", loop.heartbeats);
  AddCounter(families, "noisefloor_leases_granted_total", "Leases that workers got.",
             loop.leases_granted);
  AddCounter(families, "noisefloor_leases_expired_total",
             "Leases that ended because no sign of life came.", loop.leases_expired);
  MetricFamily& ended =
      Add(families, "noisefloor_leases_ended_total",
          "Leases that ended, by cause; none: with an accepted result.", MetricType::Counter);
  for (uint8_t i = 0; i <= static_cast<uint8_t>(CauseClass::kLostWorker); ++i) {
    Put(ended, static_cast<double>(loop.leases_ended[i]),
        {{"cause", std::string(Name(static_cast<CauseClass>(i)))}});
  }
  MetricFamily& results = Add(families, "noisefloor_results_total",
                              "Accepted results of members, by outcome.", MetricType::Counter);
  Put(results, static_cast<double>(loop.members_done), {{"outcome", "done"}});
  Put(results, static_cast<double>(loop.members_diverged), {{"outcome", "diverged"}});
  AddCounter(families, "noisefloor_records_total", "Measured values that were kept.", loop.records);
}

void AddStore(Families& families, const Sources& sources) {
  Put(Add(families, "noisefloor_commit_seconds", "Time of a transaction, with its sync.",
          MetricType::Histogram),
      sources.loop.commit_seconds);
  Put(Add(families, "noisefloor_commit_writes", "Writes of a transaction.", MetricType::Histogram),
      sources.loop.commit_writes);
  Put(Add(families, "noisefloor_loop_piece_seconds",
          "Time of what the loop does between two looks at what has arrived.",
          MetricType::Histogram),
      sources.loop.piece_seconds);
  AddGauge(families, "noisefloor_loop_longest_piece_seconds", "The longest of them so far.",
           sources.loop.longest_piece_seconds);
  AddGauge(families, "noisefloor_mailbox_depth", "What waits for the loop at this moment.",
           static_cast<double>(sources.mailbox_depth()));
  std::error_code none;
  const uintmax_t wal = std::filesystem::file_size(sources.wal_path, none);
  AddGauge(families, "noisefloor_wal_bytes", "Size of the database's log.",
           none ? 0 : static_cast<double>(wal));
  AddGauge(families, "noisefloor_storage_writable", "1 while what is decided can be kept.",
           sources.can_keep() ? 1 : 0);
  AddCounter(families, "noisefloor_uploads_total", "Files of attempts that came whole.",
             sources.uploads.files);
  AddCounter(families, "noisefloor_upload_bytes_total", "Bytes of files of attempts that came.",
             sources.uploads.bytes);
}

// As gRPC writes them.
const char* CodeName(int code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  return code >= 0 && code < static_cast<int>(std::size(kNames)) ? kNames[code] : "UNKNOWN";
}

void AddCalls(Families& families, const figures::CallFigures& calls) {
  MetricFamily& seconds =
      Add(families, "noisefloor_call_seconds",
          "Time of calls by method and code; of a stream as long as it was open.",
          MetricType::Histogram);
  calls.Each([&](const std::string& method, int code, const figures::Histogram& took) {
    Put(seconds, took, {{"code", CodeName(code)}, {"method", method}});
  });
}

void AddProcess(Families& families, const std::string& version) {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident = 0;
  file >> pages >> resident;
  AddGauge(families, "process_resident_memory_bytes", "Resident memory of the process.",
           resident * static_cast<double>(sysconf(_SC_PAGESIZE)));
  Put(Add(families, "noisefloor_build_info", "1; the version of the program is its label.",
          MetricType::Gauge),
      1, {{"version", version}});
}

}  // namespace

std::string Text(const Sources& sources) {
  Families families;
  families.reserve(32);
  AddMembers(families, sources.members());
  AddGauge(families, "noisefloor_workers_connected", "Workers with an open session.",
           static_cast<double>(sources.workers_connected()));
  AddLeases(families, sources.loop);
  AddStore(families, sources);
  AddCalls(families, sources.calls);
  AddProcess(families, sources.version);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace noisefloor::metrics
