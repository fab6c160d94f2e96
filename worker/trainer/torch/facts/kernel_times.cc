#include "worker/trainer/torch/facts/kernel_times.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

namespace noisefloor::trainer {

namespace {

constexpr double kNanoseconds = 1e-9;
constexpr double kMilliseconds = 1e-3;

using Sums = std::map<std::string, KernelTime, std::less<>>;

void Add(Sums& sums, const std::string& name, double seconds) {
  KernelTime& sum = sums[name];
  sum.name = name;
  ++sum.launches;
  sum.seconds += seconds;
}

std::vector<KernelTime> LongestFirst(Sums sums) {
  std::vector<KernelTime> times;
  for (auto& [name, sum] : sums) times.push_back(std::move(sum));
  std::ranges::stable_sort(times, std::ranges::greater(), &KernelTime::seconds);
  return times;
}

// A call that has begun and may have others within it.
struct Open {
  const Call* call;
  uint64_t within_ns = 0;  // Of the calls directly within it.
};

void Close(std::vector<Open>& open, Sums& sums) {
  const auto [call, within] = open.back();
  open.pop_back();
  const uint64_t whole = call->end_ns - call->start_ns;
  Add(sums, call->name, static_cast<double>(whole - std::min(whole, within)) * kNanoseconds);
  if (!open.empty()) open.back().within_ns += whole;
}

}  // namespace

std::vector<KernelTime> OwnTimes(std::vector<Call> calls) {
  std::ranges::stable_sort(calls, [](const Call& a, const Call& b) {
    return std::tie(a.thread, a.start_ns, b.end_ns) < std::tie(b.thread, b.start_ns, a.end_ns);
  });
  Sums sums;
  std::vector<Open> open;
  for (const Call& call : calls) {
    while (!open.empty() &&
           (open.back().call->thread != call.thread || open.back().call->end_ns <= call.start_ns)) {
      Close(open, sums);
    }
    open.push_back({&call});
  }
  while (!open.empty()) Close(open, sums);
  return LongestFirst(std::move(sums));
}

std::vector<KernelTime> ParsePrimitives(std::string_view output) {
  constexpr std::string_view kRun = ",exec,cpu,";
  Sums sums;
  std::istringstream lines{std::string(output)};
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(kRun);
    if (at == std::string::npos) continue;
    std::istringstream fields(line.substr(at + kRun.size()));
    std::string primitive;
    std::string implementation;
    std::string direction;
    if (!std::getline(fields, primitive, ',') || !std::getline(fields, implementation, ',') ||
        !std::getline(fields, direction, ',')) {
      continue;
    }
    const std::string last = line.substr(line.rfind(',') + 1);
    double milliseconds = 0;
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), milliseconds);
    if (error != std::errc() || end != last.data() + last.size()) continue;
    Add(sums, primitive + " " + implementation + " " + direction, milliseconds * kMilliseconds);
  }
  return LongestFirst(std::move(sums));
}

}  // namespace noisefloor::trainer
