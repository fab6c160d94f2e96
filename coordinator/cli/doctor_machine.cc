#include "coordinator/cli/doctor_machine.h"

#include <elf.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/files/directory.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

constexpr char kOurs[] = "noisefloor";

std::string Megabytes(uint64_t bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool IsCore(const std::string& path) {
  std::array<char, EI_NIDENT + 2> start{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(start.data(), start.size())) return false;
  uint16_t type = 0;
  std::memcpy(&type, start.data() + EI_NIDENT, sizeof type);
  return std::memcmp(start.data(), ELFMAG, SELFMAG) == 0 && type == ET_CORE;
}

// Regular files of a folder for which `is` holds.
template <typename Is>
void AddFiles(const std::string& folder, const Is& is, std::vector<CrashFile>& files) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code gone;
    const std::string path = it->path().string();
    if (!it->is_regular_file(gone) || it->is_symlink(gone) || !is(path)) continue;
    files.push_back({path, it->file_size(gone)});
  }
}

// The folder in which the system's collector, or the pattern itself, puts cores of all programs.
std::string CollectorFolder(const std::string& pattern) {
  if (pattern.find("systemd-coredump") != std::string::npos) return "/var/lib/systemd/coredump";
  if (pattern.find("apport") != std::string::npos) return "/var/crash";
  return pattern.starts_with('/') ? fs::path(pattern).parent_path().string() : "";
}

std::string WhatBecomes(const CoreRule& rule) {
  if (rule.pattern.starts_with('|')) {
    const std::string collector = rule.pattern.substr(1, rule.pattern.find(' ') - 1);
    return "a crash goes to " + collector;
  }
  if (!rule.may_be_large) return "a crash leaves no core: `ulimit -c` is 0";
  if (rule.pattern.starts_with('/')) return "a crash leaves its core as " + rule.pattern;
  return fmt::format("a crash leaves its core as {} where the program runs", rule.pattern);
}

// Numbers of the sockets that listen on `port`, of one table of the kernel.
void AddListeners(const std::string& table, uint16_t port, std::set<std::string>& sockets) {
  constexpr std::string_view kListens = "0A";
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // The columns' names.
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout, socket;
    words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
        socket;
    uint16_t found = 0;
    const size_t colon = local.rfind(':');
    if (colon == std::string::npos || state != kListens) continue;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), found, 16);
    if (found == port) sockets.insert("socket:[" + socket + "]");
  }
}

bool HoldsOneOf(const std::string& process_folder, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator it(process_folder + "/fd", error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code gone;
    if (sockets.contains(fs::read_symlink(it->path(), gone).string())) return true;
  }
  return false;
}

}  // namespace

CoreRule ReadCoreRule() {
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_CORE, &limit) == 0;
  return {FirstLine("/proc/sys/kernel/core_pattern"), !known || limit.rlim_cur > 0};
}

std::vector<CrashFile> FindCrashFiles(const std::vector<std::string>& folders,
                                      const CoreRule& rule) {
  std::vector<CrashFile> files;
  for (const std::string& folder : folders) {
    AddFiles(folder, IsCore, files);
    std::error_code error;
    for (fs::directory_iterator it(folder + "/spool", error);
         !error && it != fs::directory_iterator(); it.increment(error)) {
      AddFiles(it->path().string() + "/work", IsCore, files);
    }
  }
  const std::string collector = CollectorFolder(rule.pattern);
  const bool looked_at = std::ranges::find(folders, collector) != folders.end();
  if (!collector.empty() && !looked_at) {
    AddFiles(
        collector,
        [](const std::string& path) {
          return fs::path(path).filename().string().find(kOurs) != std::string::npos;
        },
        files);
  }
  return files;
}

Finding JudgeCrashes(const CoreRule& rule, const std::vector<CrashFile>& files) {
  if (files.empty()) return {"crashes", Level::kOk, "none is left here; " + WhatBecomes(rule), ""};
  uint64_t bytes = 0;
  std::string names;
  for (size_t i = 0; i < files.size(); ++i) {
    bytes += files[i].bytes;
    if (i < kMostNamed) names += (i == 0 ? "" : ", ") + files[i].path;
  }
  if (files.size() > kMostNamed) names += fmt::format(" and {} more", files.size() - kMostNamed);
  return {"crashes", Level::kWarning,
          fmt::format("{} ({}) of programs that crashed: {}", Counted(files.size(), "file"),
                      Megabytes(bytes), names),
          "`gdb PROGRAM FILE` says where; nothing removes them but you"};
}

std::optional<PortHolder> FindPortHolder(uint16_t port) {
  std::set<std::string> sockets;
  AddListeners("/proc/net/tcp", port, sockets);
  AddListeners("/proc/net/tcp6", port, sockets);
  if (sockets.empty()) return std::nullopt;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    int process = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (wrong != std::errc() || end != name.data() + name.size()) continue;
    if (!HoldsOneOf(entry.path().string(), sockets)) continue;
    return PortHolder{process, FirstLine(entry.path().string() + "/comm")};
  }
  return PortHolder{};
}

Finding JudgePort(const std::string& address, const std::optional<PortHolder>& holder) {
  if (!holder) return {"port", Level::kOk, address + " is free for `noisefloor serve`", ""};
  const std::string who = holder->process == 0
                              ? "a process of another user"
                              : fmt::format("{}, process {}", holder->name, holder->process);
  return {"port", Level::kWarning, fmt::format("{} is taken by {}", address, who),
          "end it, or name another address: `noisefloor serve --listen=HOST:PORT`"};
}

Finding JudgeDrivers(const v1::ListWorkersResponse& workers) {
  std::map<std::string, std::map<std::string, std::string>> drivers;  // By model: whose.
  for (const v1::WorkerSummary& worker : workers.workers()) {
    if (!worker.connected()) continue;
    for (const v1::Device& device : worker.inventory().devices()) {
      if (device.driver().empty()) continue;
      drivers[device.model()].try_emplace(device.driver(), worker.name());
    }
  }
  if (drivers.empty()) return {"drivers", Level::kOk, "no connected worker has a GPU", ""};
  std::vector<std::string> mixed, all;
  for (const auto& [model, of_model] : drivers) {
    std::vector<std::string> named;
    for (const auto& [driver, worker] : of_model) {
      named.push_back(fmt::format("{} ({})", driver, worker));
    }
    (of_model.size() > 1 ? mixed : all)
        .push_back(fmt::format("{}: {}", model, fmt::join(named, ", ")));
  }
  if (mixed.empty()) return {"drivers", Level::kOk, fmt::format("{}", fmt::join(all, "; ")), ""};
  return {"drivers", Level::kWarning, fmt::format("{}", fmt::join(mixed, "; ")),
          "a driver is part of what makes a result: cells that began with one wait for the same; "
          "install one version everywhere"};
}

namespace {

DiskShare All(const CachedUse& use) {
  return {use.old.count + use.young.count + use.in_use.count,
          use.old.bytes + use.young.bytes + use.in_use.bytes};
}

}  // namespace

Finding JudgeCaches(const absl::StatusOr<CacheUse>& use) {
  if (!use.ok()) {
    return {"caches", Level::kWarning, Message(use.status()), "mend the disk, or the rights there"};
  }
  const DiskShare sets = All(use->sets);
  const DiskShare trees = All(use->trees);
  std::string text = fmt::format("{} ({})", Counted(sets.count, "data set"), Megabytes(sets.bytes));
  if (trees.count > 0) {
    text += fmt::format(", {} ({})", Counted(trees.count, "fetched tree"), Megabytes(trees.bytes));
  }
  const DiskShare& results = use->attempts_waiting;
  const uint64_t unfinished = use->attempts_old.bytes + use->attempts_young.bytes;
  if (unfinished > 0) text += ", unfinished attempts " + Megabytes(unfinished);
  if (results.count > 0) {
    return {"caches", Level::kWarning,
            fmt::format("{}; {} ({}) of a worker that does not run", text,
                        Counted(results.count, "result"), Megabytes(results.bytes)),
            "start that worker, so that they are delivered"};
  }
  if (use->sets.old.count + use->trees.old.count + use->attempts_old.count == 0) {
    return {"caches", Level::kOk, text, ""};
  }
  return {
      "caches", Level::kOk,
      fmt::format("{}; unused for 30 days: {}", text,
                  Megabytes(use->sets.old.bytes + use->trees.old.bytes + use->attempts_old.bytes)),
      "`noisefloor gc --caches` removes that"};
}

}  // namespace noisefloor::cli
