// What Kubernetes would refuse is refused before anything is printed.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>

#include "fmt/format.h"

#include "common/base/names.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/manifest/kubernetes.h"
#include "coordinator/manifest/worker_words.h"

namespace noisefloor {

namespace {

constexpr uint32_t kMostWorkers = 1000;  // That one coordinator has.
constexpr size_t kLongestName = 40;      // Room for numbers behind it in the 63 of a label.
constexpr size_t kLongestLabel = 63;
constexpr size_t kLongestDomain = 253;
constexpr int64_t kMostGrace = 3600;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view kAlnum =
    "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

absl::Status Wrong(std::string_view option, std::string_view value, std::string_view expected) {
  return InvalidInput(fmt::format("{}={}: expected {}", option, value, expected));
}

// Begins and ends with one of `ends`, and has besides these only some of `middle`.
bool IsMadeOf(std::string_view text, std::string_view ends, std::string_view middle, size_t most) {
  if (text.empty() || text.size() > most) return false;
  const auto in = [](std::string_view set, char c) {
    return set.find(c) != std::string_view::npos;
  };
  return in(ends, text.front()) && in(ends, text.back()) &&
         std::ranges::all_of(text, [&](char c) { return in(ends, c) || in(middle, c); });
}

bool IsDnsLabel(std::string_view text) { return IsMadeOf(text, kLower, "-", kLongestLabel); }

// Labels with dots between them.
bool IsDomain(std::string_view text) {
  if (text.size() > kLongestDomain) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!IsDnsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsLabelValue(std::string_view text) {
  return text.empty() || IsMadeOf(text, kAlnum, "-_.", kLongestLabel);
}

// "nvidia.com/gpu.product", "zone".
bool IsLabelName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos && !IsDomain(text.substr(0, slash))) return false;
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  return IsMadeOf(name, kAlnum, "-_.", kLongestLabel);
}

struct Unit {
  std::string_view name;
  double size = 1;
};

// Of a number above 0 and one of the units; 0: it is none.
double Quantity(std::string_view text, std::span<const Unit> units) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, end);
  const std::string_view name = end == std::string_view::npos ? "" : text.substr(end);
  const bool whole = IsMadeOf(number, "0123456789", ".", 15) && std::ranges::count(number, '.') < 2;
  const auto unit = std::ranges::find(units, name, &Unit::name);
  double value = 0;
  if (!whole || unit == units.end()) return 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value * unit->size;
}

absl::Status CheckAmounts(const KubernetesWish& wish) {
  constexpr std::array<Unit, 2> kCpuUnits = {{{"", 1}, {"m", 1e-3}}};
  constexpr double kKi = 1024;
  constexpr std::array<Unit, 9> kByteUnits = {{{"", 1},
                                               {"k", 1e3},
                                               {"M", 1e6},
                                               {"G", 1e9},
                                               {"T", 1e12},
                                               {"Ki", kKi},
                                               {"Mi", kKi * kKi},
                                               {"Gi", kKi * kKi * kKi},
                                               {"Ti", kKi * kKi * kKi * kKi}}};
  constexpr double kLeastBytes = kKi * kKi;  // Less has lost its unit.
  if (Quantity(wish.cpus, kCpuUnits) == 0) {
    return Wrong("--cpus", wish.cpus, "a number of processors such as 4 or 500m");
  }
  for (const auto& [option, value] :
       {std::pair("--memory", wish.memory), std::pair("--scratch", wish.scratch)}) {
    if (Quantity(value, kByteUnits) >= kLeastBytes) continue;
    return Wrong(option, value, "an amount such as 16Gi, at least 1Mi");
  }
  if (wish.gpus > 64) return Wrong("--gpus", std::to_string(wish.gpus), "0 to 64");
  if (wish.gpus == 0 && !wish.gpu_product.empty()) {
    return Wrong("--gpus", "0", "1 or more with --gpu");
  }
  if (wish.gpus == 0 && IsGpuClass(wish.hardware)) {
    return Wrong("--gpus", "0", "1 or more with --class=" + wish.hardware);
  }
  if (wish.gpus_per_slot > 1 && (wish.gpus == 0 || wish.gpus % wish.gpus_per_slot != 0)) {
    return Wrong(
        "--gpus", std::to_string(wish.gpus),
        fmt::format("{} for each slot with --class={}", wish.gpus_per_slot, wish.hardware));
  }
  if (wish.workers == 0 || wish.workers > kMostWorkers) {
    return Wrong("--max", std::to_string(wish.workers), "1 to 1000");
  }
  return absl::OkStatus();
}

absl::Status CheckTimes(const KubernetesWish& wish) {
  if (wish.grace_seconds < 1 || wish.grace_seconds > kMostGrace) {
    return Wrong("--grace", std::to_string(wish.grace_seconds) + "s", "1s to 1h");
  }
  if (wish.time_seconds > 0 && wish.drain_before_seconds >= wish.time_seconds) {
    return Wrong("--drain-before", std::to_string(wish.drain_before_seconds) + "s",
                 "less than --time");
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const KubernetesWish& wish) {
  constexpr std::string_view kDomain = "lower-case letters, digits, '-' and '.'";
  NF_RETURN_IF_ERROR(CheckWorkersName(wish.name, kLongestName));
  if (!IsDnsLabel(wish.space)) {
    return Wrong("--namespace", wish.space, "lower-case letters, digits and '-'");
  }
  if (!IsDomain(wish.secret)) return Wrong("--access-secret", wish.secret, kDomain);
  for (const auto& [option, value] :
       {std::pair("--pull-secret", wish.pull_secret), std::pair("--data-claim", wish.data_claim),
        std::pair("--checkpoints-claim", wish.checkpoints_claim)}) {
    if (!value.empty() && !IsDomain(value)) return Wrong(option, value, kDomain);
  }
  if (!wish.hardware.empty() && !IsName(wish.hardware)) {
    return Wrong("--class", wish.hardware, kNameRule);
  }
  if (wish.user < 1 || wish.user > 2147483647) {
    return Wrong("--user", std::to_string(wish.user), "a user's number, not root's");
  }
  return absl::OkStatus();
}

absl::Status CheckImage(const KubernetesWish& wish) {
  const auto has_blanks = [](std::string_view text) {
    return text.find(' ') != std::string_view::npos;
  };
  NF_RETURN_IF_ERROR(CheckText("--image", wish.image));
  if (wish.image.empty() || has_blanks(wish.image)) {
    return Wrong("--image", wish.image, "an image with noisefloor-worker, as REGISTRY/NAME:TAG");
  }
  if (wish.program.empty()) return Wrong("--program", "", "noisefloor-worker in the image");
  return CheckText("--program", wish.program);
}

absl::Status CheckNodes(const KubernetesWish& wish) {
  if (!IsLabelValue(wish.gpu_product)) {
    return Wrong("--gpu", wish.gpu_product,
                 "what the label nvidia.com/gpu.product says, as NVIDIA-A100-SXM4-40GB");
  }
  std::set<std::string> names = {"nvidia.com/gpu.product"};
  if (wish.gpu_product.empty()) names.clear();
  for (const auto& [name, value] : wish.nodes) {
    const std::string pair = name + "=" + value;
    if (!IsLabelName(name) || !IsLabelValue(value)) {
      return Wrong("--node-selector", pair, "a label of nodes, as topology.kubernetes.io/zone=a");
    }
    if (!names.insert(name).second) {
      return Wrong("--node-selector", pair, "one value for " + name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMounts(const KubernetesWish& wish) {
  std::set<std::string> taken = {"/var/lib/noisefloor", "/etc/noisefloor/access", "/tmp",
                                 "/dev/shm"};
  if (!wish.data_claim.empty()) taken.insert("/data");
  if (!wish.checkpoints_claim.empty()) taken.insert("/checkpoints");
  for (const ClaimMount& mount : wish.mounts) {
    const std::string text = mount.claim + ":" + mount.path;
    NF_RETURN_IF_ERROR(CheckText("--volume", text));
    const bool absolute =
        mount.path.size() > 1 && mount.path.starts_with('/') && !mount.path.ends_with('/') &&
        mount.path.find_first_of(":") == std::string::npos &&
        mount.path.find("/../") == std::string::npos && !mount.path.ends_with("/..") &&
        mount.path.find("//") == std::string::npos;
    if (!IsDomain(mount.claim) || !absolute) {
      return Wrong("--volume", text, "CLAIM:/PATH or CLAIM:/PATH:ro");
    }
    if (!taken.insert(mount.path).second) {
      return Wrong("--volume", text, "a path at which nothing else is mounted");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const KubernetesWish& wish) {
  std::vector<std::string> ours = {
      "--name",          "--host",          "--state",        "--state-temporary",
      "--drain-timeout", "--give-up-after", "--idle-timeout", "--grace",
      "--leave-after",   "--lifetime",      "--coordinator",  "--stopped-code"};
  if (!wish.hardware.empty()) ours.insert(ours.end(), {"--classes", "--declare"});
  if (wish.gpus_per_slot > 1) ours.emplace_back("--gpus-per-slot");
  if (!wish.data_claim.empty()) ours.emplace_back("--data-root");
  if (!wish.checkpoints_claim.empty()) ours.emplace_back("--checkpoints");
  return CheckWorkerOptions(wish.worker_options, ours);
}

}  // namespace

absl::Status Check(const KubernetesWish& wish) {
  NF_RETURN_IF_ERROR(CheckNames(wish));
  NF_RETURN_IF_ERROR(CheckImage(wish));
  NF_RETURN_IF_ERROR(CheckAmounts(wish));
  NF_RETURN_IF_ERROR(CheckTimes(wish));
  NF_RETURN_IF_ERROR(CheckNodes(wish));
  NF_RETURN_IF_ERROR(CheckMounts(wish));
  NF_RETURN_IF_ERROR(CheckVariables(wish.variables, {"POD_NAME", "NODE_NAME", "NOISEFLOOR_ACCESS",
                                                     "NOISEFLOOR_COORDINATOR", "HOME"}));
  return CheckOptions(wish);
}

}  // namespace noisefloor
