#include "coordinator/fleet/pool.h"

#include <algorithm>
#include <string_view>

namespace noisefloor::fleet {

namespace {

constexpr size_t kMostName = 40;
constexpr size_t kMostText = 16384;
constexpr uint32_t kMostWorkers = 10000;
constexpr double kMostHours = 1e9;

bool IsPoolName(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && name.front() != '-' && name.back() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

size_t TextBytes(const PoolWish& wish) {
  size_t bytes = 0;
  for (const std::string* text :
       {&wish.hardware, &wish.prologue, &wish.program, &wish.access, &wish.logs}) {
    bytes += text->size();
  }
  for (const std::string& word : wish.cluster) bytes += word.size();
  for (const std::string& word : wish.worker) bytes += word.size();
  return bytes;
}

uint32_t CountIn(std::string_view digits) {
  uint32_t count = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9' || count > kMostWorkers) return 1;
    count = count * 10 + static_cast<uint32_t>(c - '0');
  }
  return std::max(count, 1u);
}

// "a100:2" -> 2, "a100" -> 1, "2" -> 2, "" -> 1.
uint32_t CountBehindType(std::string_view text) {
  const size_t colon = text.rfind(':');
  return CountIn(colon == std::string_view::npos ? text : text.substr(colon + 1));
}

// Of "gpu:a100:2,nvme:100" those of the GPUs; `kind`: what an entry begins with, or nothing.
uint32_t GpusIn(std::string_view list, std::string_view kind) {
  uint32_t count = 0;
  while (!list.empty()) {
    std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    if (!kind.empty()) {
      if (entry != kind && !entry.starts_with(std::string(kind) + ":")) continue;
      entry.remove_prefix(std::min(kind.size() + 1, entry.size()));
    }
    count += CountBehindType(entry);
  }
  return count;
}

// The value of "--option=value", or of "--option" "value" at `i`; of "-G2", where the option is one
// letter.
std::string_view ValueOf(const std::vector<std::string>& words, size_t i, std::string_view option) {
  const std::string_view word = words[i];
  if (word == option) return i + 1 < words.size() ? std::string_view(words[i + 1]) : "";
  if (!word.starts_with(option)) return "";
  if (option.size() == 2) return word.substr(2);
  return word[option.size()] == '=' ? word.substr(option.size() + 1) : "";
}

}  // namespace

absl::Status Check(const PoolWish& wish) {
  if (!IsPoolName(wish.name)) {
    return InvalidInput("name: expected lower-case letters, digits and '-', at most 40, got \"" +
                        wish.name + "\"");
  }
  if (wish.most == 0 || wish.most > kMostWorkers) {
    return InvalidInput("max: expected 1 to 10000, got " + std::to_string(wish.most));
  }
  if (wish.least > wish.most) {
    return InvalidInput("min: expected at most max, which is " + std::to_string(wish.most) +
                        ", got " + std::to_string(wish.least));
  }
  if (wish.backlog == 0) return InvalidInput("backlog: expected 1 or more, got 0");
  if (wish.idle < absl::Seconds(1)) return InvalidInput("idle: expected a second or more");
  if (wish.time_limit < absl::ZeroDuration() || wish.drain_before < absl::ZeroDuration() ||
      !(wish.gpu_hours >= 0 && wish.gpu_hours <= kMostHours)) {
    return InvalidInput("time limit, drain before, GPU hours: expected 0 or more, and an end");
  }
  if (wish.time_limit > absl::ZeroDuration() && wish.drain_before >= wish.time_limit) {
    return InvalidInput("drain before: expected less than the time limit");
  }
  if (wish.program.empty() || wish.logs.empty()) {
    return InvalidInput("expected the path of noisefloor-worker and a folder of logs");
  }
  if (TextBytes(wish) > kMostText) return InvalidInput("its texts are longer than 16 KiB together");
  return absl::OkStatus();
}

uint32_t GpusOf(const PoolWish& wish) {
  for (size_t i = 0; i < wish.cluster.size(); ++i) {
    uint32_t count = GpusIn(ValueOf(wish.cluster, i, "--gres"), "gpu");
    for (const std::string_view option : {"--gpus", "--gpus-per-node", "--gpus-per-task", "-G"}) {
      count = std::max(count, GpusIn(ValueOf(wish.cluster, i, option), ""));
    }
    if (count > 0) return count;
  }
  return 1;
}

std::string JobPrefix(const PoolRecord& pool) {
  return "nf-" + pool.wish.name + "-" + pool.tag + "-";
}

std::string JobName(const PoolRecord& pool, const LaunchRecord& launch) {
  return JobPrefix(pool) + launch.nonce;
}

std::string WorkerName(const PoolRecord& pool, const LaunchRecord& launch) {
  return pool.wish.name + "-" + launch.nonce + "-" + std::to_string(launch.index);
}

}  // namespace noisefloor::fleet
