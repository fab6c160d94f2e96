#include "worker/trainer/torch/facts/surroundings.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace noisefloor::trainer {

namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kKibibytes = 1024;  // Of a mebibyte.
constexpr double kMilli = 1e-3;

// The number behind "NAME ...:" of a file such as /proc/meminfo.
std::optional<double> NumberOf(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  const size_t colon = line.find(':');
  const size_t first = line.find_first_not_of(" \t", colon == line.npos ? line.size() : colon + 1);
  if (first == line.npos) return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(line.data() + first, line.data() + line.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<double> MeanOf(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  double sum = 0;
  int64_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const std::optional<double> value = NumberOf(line, name);
    if (!value) continue;
    sum += *value;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

std::optional<double> FirstNumber(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// How often the hardware slowed a core for its heat, since the system started; -1: not said.
int64_t TimesThrottled(const std::string& processors) {
  int64_t sum = -1;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(processors, error)) {
    const auto count = FirstNumber(entry.path() / "thermal_throttle/core_throttle_count");
    if (count) sum = std::max<int64_t>(sum, 0) + static_cast<int64_t>(*count);
  }
  return sum;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double OwnSeconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return Seconds(used.ru_utime) + Seconds(used.ru_stime);
}

}  // namespace

void Surroundings::Range::Add(double value) {
  least = count == 0 ? value : std::min(least, value);
  most = count == 0 ? value : std::max(most, value);
  sum += value;
  ++count;
}

Surroundings::Surroundings(const Clock& clock, const std::string& gpu_uuid, SystemFolders folders,
                           const std::string& nvml)
    : clock_(clock),
      folders_(std::move(folders)),
      gpu_(gpu_uuid, nvml),
      throttled_before_(TimesThrottled(folders_.processors)),
      last_(clock.Steady()),
      times_(ReadTimes()) {
  Look();
}

void Surroundings::LookIfDue() {
  const absl::Duration now = clock_.Steady();
  if (now - last_ < kEvery) return;
  last_ = now;
  Look();
}

void Surroundings::Look() {
  ++looks_;
  LookAtProcessors();
  LookAtGpu();
}

// The columns of proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
Surroundings::Times Surroundings::ReadTimes() const {
  enum { kIdle = 3, kWait = 4, kSteal = 7, kColumns = 8 };
  std::ifstream file(folders_.proc + "/stat");
  std::string word;
  file >> word;
  Times times = {.own = OwnSeconds()};
  const auto tick = 1 / static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int column = 0; column < kColumns; ++column) {
    double ticks = 0;
    if (!(file >> ticks)) break;
    times.all += tick * ticks;
    if (column == kSteal) times.stolen = tick * ticks;
    if (column != kIdle && column != kWait && column != kSteal) times.busy += tick * ticks;
  }
  return times;
}

void Surroundings::LookAtProcessors() {
  if (const auto load = FirstNumber(folders_.proc + "/loadavg")) load_.Add(*load);
  if (const auto mhz = MeanOf(folders_.proc + "/cpuinfo", "cpu MHz")) mhz_.Add(*mhz);
  if (const auto kibibytes = MeanOf(folders_.proc + "/meminfo", "MemAvailable")) {
    available_.Add(*kibibytes / kKibibytes);
  }
  const Times before = std::exchange(times_, ReadTimes());
  const double all = times_.all - before.all;
  if (all <= 0) return;  // Less than a tick since the last look.
  const double others = times_.busy - before.busy - (times_.own - before.own);
  others_.Add(std::clamp(others / all, 0.0, 1.0));
  stolen_.Add(std::clamp((times_.stolen - before.stolen) / all, 0.0, 1.0));
}

void Surroundings::LookAtGpu() {
  const std::optional<GpuState> state = gpu_.State();
  if (!state) return;
  state_ = *state;
  if (state->pace) {
    sm_mhz_.Add(state->pace->sm_mhz);
    memory_mhz_.Add(state->pace->memory_mhz);
    reasons_ |= state->pace->reasons;
    throttled_looks_ += state->pace->throttled();
  }
  if (state->milliwatts) watts_.Add(kMilli * *state->milliwatts);
  if (state->celsius) celsius_.Add(*state->celsius);
  if (state->free_bytes) free_.Add(static_cast<double>(*state->free_bytes) / kMebibyte);
  processes_.Add(state->processes);
}

void Surroundings::Put(Json& into, const char* key, const Range& range) {
  if (range.count == 0) return;
  into[key] = {{"least", range.least},
               {"mean", range.sum / static_cast<double>(range.count)},
               {"most", range.most}};
}

Json Surroundings::ProcessorsJson() const {
  Json json = Json::object();
  Put(json, "load", load_);
  Put(json, "mhz", mhz_);
  Put(json, "available_mib", available_);
  Put(json, "others_share", others_);
  Put(json, "stolen_share", stolen_);
  if (throttled_before_ >= 0) {
    json["throttled"] = TimesThrottled(folders_.processors) - throttled_before_;
  }
  return json;
}

Json Surroundings::GpuJson() const {
  if (processes_.count == 0) return nullptr;
  Json json = {{"looks", processes_.count}, {"errors", state_.errors}, {"mig", state_.is_part}};
  Put(json, "sm_mhz", sm_mhz_);
  Put(json, "memory_mhz", memory_mhz_);
  Put(json, "watts", watts_);
  Put(json, "celsius", celsius_);
  Put(json, "free_mib", free_);
  Put(json, "processes", processes_);
  if (sm_mhz_.count > 0) {
    json["throttled_looks"] = throttled_looks_;
    json["throttle_reasons"] = reasons_;
  }
  if (state_.most_milliwatts) json["most_watts"] = kMilli * *state_.most_milliwatts;
  return json;
}

Json Surroundings::Finish() {
  Look();
  Json json = {{"looks", looks_}, {"processors", ProcessorsJson()}};
  Json gpu = GpuJson();
  if (!gpu.is_null()) json["gpu"] = std::move(gpu);
  return json;
}

}  // namespace noisefloor::trainer
