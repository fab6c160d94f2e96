#include "coordinator/cli/doctor_checks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/clock.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

constexpr int kSyncs = 20;
constexpr uint64_t kFewFiles = 4096;      // 1,000 workers, each a stream and an upload or two.
constexpr double kLittleRoom = 0.1;       // Of the disk: a warning,
constexpr uint64_t kNoRoom = 1ull << 30;  // bytes: a problem.
constexpr absl::Duration kSlowSync = absl::Milliseconds(30);
constexpr absl::Duration kStuckSync = absl::Milliseconds(500);
constexpr absl::Duration kClocksApart = absl::Seconds(2);
constexpr absl::Duration kExpiresSoon = absl::Hours(24 * 30);

std::string SizeText(uint64_t bytes) {
  return bytes >= 1000000000 ? fmt::format("{:.1f} GB", bytes / 1e9)
                             : fmt::format("{:.1f} MB", bytes / 1e6);
}

std::string Day(absl::Time time) { return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone()); }

// The first few.
std::string Named(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNamed);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

Finding JudgeExpiry(std::string check, std::string what, absl::Time expires, absl::Time now,
                    std::string help) {
  const std::string text =
      fmt::format("{} {} on {}", what, expires <= now ? "ended" : "ends", Day(expires));
  if (expires <= now) return {std::move(check), Level::kProblem, text, std::move(help)};
  if (expires - now < kExpiresSoon)
    return {std::move(check), Level::kWarning, text, std::move(help)};
  return {std::move(check), Level::kOk, text, ""};
}

// ": python3 (12), noisefloor-trai (13)"
std::string UsersText(const std::vector<GpuUser>& users) {
  std::vector<std::string> named;
  for (const GpuUser& user : users) {
    named.push_back(
        fmt::format("{} ({})", user.name.empty() ? "another" : user.name, user.process));
  }
  return named.empty() ? "" : ": " + Named(named);
}

// Our trainers are no others; who is not named may be.
bool IsUsedByOthers(const GpuHealth& gpu) {
  if (gpu.users.empty()) return gpu.free_bytes < gpu.memory_bytes / 2;
  return std::ranges::any_of(
      gpu.users, [](const GpuUser& user) { return !user.name.starts_with("noisefloor"); });
}

}  // namespace

std::string_view Name(Level level) {
  switch (level) {
    case Level::kOk: return "ok";
    case Level::kWarning: return "warning";
    case Level::kProblem: return "problem";
  }
  return "";
}

Finding JudgeRoom(uint64_t free_bytes, uint64_t all_bytes) {
  const double share = all_bytes == 0 ? 0 : static_cast<double>(free_bytes) / all_bytes;
  const std::string text = fmt::format("{} free of {} ({:.0f} %)", SizeText(free_bytes),
                                       SizeText(all_bytes), 100 * share);
  const std::string help =
      "make room: `noisefloor gc --dry-run` says what could go; without room nothing is leased";
  if (free_bytes < kNoRoom) return {"room", Level::kProblem, text, help};
  if (share < kLittleRoom) return {"room", Level::kWarning, text, help};
  return {"room", Level::kOk, text, ""};
}

Finding JudgeUse(const v1::GetStorageResponse& storage) {
  std::string text = "database " + SizeText(storage.database_bytes());
  for (const v1::StorageShare& share : storage.artifacts()) {
    text += fmt::format(", {} {}", share.kind(), SizeText(share.bytes()));
  }
  text += fmt::format(", of no member {}", SizeText(storage.unused().bytes()));
  if (!storage.storage_problem().empty()) {
    return {"storage", Level::kProblem, storage.storage_problem() + "; " + text,
            "nothing is leased until it can be kept: make room or mend the disk"};
  }
  if (storage.unused().files() > 0) {
    return {"storage", Level::kWarning, text, "`noisefloor gc` removes what no member has"};
  }
  return {"storage", Level::kOk, text, ""};
}

Finding JudgeSync(absl::Duration median) {
  const std::string text =
      fmt::format("a synced write takes {:.1f} ms", absl::ToDoubleMilliseconds(median));
  const std::string help =
      "every change waits for one: put the data directory on a local, quick disk";
  if (median > kStuckSync) return {"disk", Level::kProblem, text, help};
  if (median > kSlowSync) return {"disk", Level::kWarning, text, help};
  return {"disk", Level::kOk, text, ""};
}

Finding JudgeClock(absl::Duration offset, absl::Duration known_to) {
  const double seconds = absl::ToDoubleSeconds(offset);
  const std::string text = fmt::format("the coordinator's is {:.2f} s {} this machine's",
                                       std::abs(seconds), seconds < 0 ? "behind" : "before");
  if (absl::AbsDuration(offset) - known_to <= kClocksApart) return {"clock", Level::kOk, text, ""};
  return {"clock", Level::kWarning, text,
          "set both clocks (NTP): times in reports and the expiry of tokens go by them"};
}

Finding JudgeFileLimit(uint64_t soft) {
  const std::string text = fmt::format("{} open files at most", soft);
  if (soft >= kFewFiles) return {"files", Level::kOk, text, ""};
  return {"files", Level::kWarning, text,
          fmt::format("1,000 workers need {}: `ulimit -n {}` before serve, or LimitNOFILE=",
                      kFewFiles, kFewFiles)};
}

Finding JudgeWorkers(const v1::ListWorkersResponse& workers, absl::Time now) {
  std::vector<std::string> away;
  std::vector<std::string> withheld;
  size_t connected = 0;
  for (const v1::WorkerSummary& worker : workers.workers()) {
    connected += worker.connected();
    if (!worker.connected() && worker.running_size() > 0) away.push_back(worker.name());
    if (worker.connected() &&
        (worker.inventory().withheld_size() > 0 || worker.paused_size() > 0)) {
      withheld.push_back(worker.name());
    }
  }
  const std::string text = fmt::format("{} connected of {}", connected, workers.workers_size());
  if (!away.empty()) {
    return {"workers", Level::kWarning, text + "; away with members: " + Named(away),
            "their members go to others when the leases end; look at those machines"};
  }
  if (!withheld.empty()) {
    return {"workers", Level::kWarning, text + "; not all devices in use: " + Named(withheld),
            "`noisefloor explain WORKER` says why"};
  }
  if (connected == 0) {
    return {"workers", Level::kWarning, text, "nothing trains: start noisefloor-worker"};
  }
  return {"workers", Level::kOk, text, ""};
}

Finding JudgeVersions(const std::string& program, const std::string& coordinator,
                      const v1::ListWorkersResponse& workers) {
  std::set<std::string> versions = {program, coordinator};
  std::vector<std::string> others;
  for (const v1::WorkerSummary& worker : workers.workers()) {
    if (!worker.connected() || worker.version() == coordinator) continue;
    others.push_back(fmt::format("{} {}", worker.name(), worker.version()));
  }
  const std::string text =
      program == coordinator ? "coordinator and this program " + coordinator
                             : fmt::format("coordinator {}, this program {}", coordinator, program);
  if (program == coordinator && others.empty()) return {"versions", Level::kOk, text, ""};
  return {"versions", Level::kWarning,
          others.empty() ? text : text + "; workers of another: " + Named(others),
          "install the coordinator's version there when their members have ended"};
}

Finding JudgeToken(const v1::WhoAmIResponse& who, absl::Time now) {
  if (!who.proved()) {
    return {"access", Level::kOk, "no tokens: everybody on this machine may do everything", ""};
  }
  const std::string what = fmt::format("the token of {}", who.identity());
  if (who.expires_unix_seconds() == 0) return {"access", Level::kOk, what + " does not end", ""};
  return JudgeExpiry("access", what, absl::FromUnixSeconds(who.expires_unix_seconds()), now,
                     "have an admin make another: `noisefloor access add`");
}

Finding JudgeCertificate(absl::Time expires, absl::Time now) {
  return JudgeExpiry("certificate", "the coordinator's certificate", expires, now,
                     "`noisefloor access renew` makes another, without a restart");
}

std::vector<Finding> JudgeGpus(const GpuReport& report) {
  if (!report.installed) return {{"gpus", Level::kOk, "no NVIDIA driver on this machine", ""}};
  if (!report.problem.empty()) {
    return {{"gpus", Level::kProblem, report.problem,
             "load the driver that fits its library: nvidia-smi says the same"}};
  }
  std::vector<Finding> findings = {
      {"gpus", Level::kOk,
       fmt::format("driver {}, {}", report.driver, Counted(report.gpus.size(), "GPU")), ""}};
  for (const GpuHealth& gpu : report.gpus) {
    const std::string name = gpu.unit.empty() ? "a GPU" : gpu.unit;
    if (!gpu.problem.empty()) {
      findings.push_back({"gpu", Level::kProblem, name + ": " + gpu.problem,
                          "reset it or take it out; workers do not offer it"});
      continue;
    }
    const std::string text = fmt::format("{} ({}): {} free of {}, {}{}", name, gpu.model,
                                         SizeText(gpu.free_bytes), SizeText(gpu.memory_bytes),
                                         Counted(gpu.processes, "process"), UsersText(gpu.users));
    if (!gpu.fault.empty() || gpu.uncorrected_errors > 0) {
      findings.push_back(
          {"gpu", Level::kProblem,
           text + "; " +
               (gpu.fault.empty() ? "memory errors that could not be corrected" : gpu.fault),
           "reset it; workers do not offer it until then"});
    } else if (IsUsedByOthers(gpu)) {
      findings.push_back({"gpu", Level::kWarning, text,
                          "somebody else uses it: trainings may run out of memory and be slower"});
    } else {
      findings.push_back({"gpu", Level::kOk, text, ""});
    }
  }
  return findings;
}

Finding CheckSync(const std::string& home) {
  std::string path = home + "/doctor-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    return {"disk", Level::kProblem,
            fmt::format("{}: cannot write: {}", home, std::strerror(errno)),
            "give this user the right to write there, or mend the disk"};
  }
  unlink(path.c_str());
  const SystemClock clock;
  std::vector<absl::Duration> times;
  const std::string block(4096, 'x');
  bool written = true;
  for (int i = 0; i < kSyncs && written; ++i) {
    const absl::Duration begun = clock.Steady();
    written = write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()) &&
              fdatasync(file) == 0;
    times.push_back(clock.Steady() - begun);
  }
  const int error = errno;
  close(file);
  if (!written) {
    return {"disk", Level::kProblem,
            fmt::format("{}: cannot write: {}", home, std::strerror(error)),
            "make room, or mend the disk"};
  }
  std::ranges::sort(times);
  return JudgeSync(times[times.size() / 2]);
}

Finding CheckPermissions(const std::string& home) {
  struct stat about {};
  if (stat(home.c_str(), &about) != 0) {
    return {"home", Level::kProblem, fmt::format("{}: {}", home, std::strerror(errno)),
            "name the data directory with --home"};
  }
  const std::string text = fmt::format("{}: {:03o}", home, about.st_mode & 0777u);
  if ((about.st_mode & S_IWOTH) != 0) {
    return {"home", Level::kProblem, text + ", everybody on this machine may change it",
            "chmod o-w " + home};
  }
  return {"home", Level::kOk, text, ""};
}

Finding CheckRoom(const std::string& home) {
  struct statvfs disk {};
  if (statvfs(home.c_str(), &disk) != 0) {
    return {"room", Level::kProblem, fmt::format("{}: {}", home, std::strerror(errno)),
            "name the data directory with --home"};
  }
  return JudgeRoom(uint64_t{disk.f_bavail} * disk.f_frsize,
                   uint64_t{disk.f_blocks} * disk.f_frsize);
}

}  // namespace noisefloor::cli
