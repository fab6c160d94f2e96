#include "tests/tidy/include_table.h"

#include <algorithm>
#include <functional>
#include <set>

namespace noisefloor::tidy {

namespace {

// What counts as a library: a header whose first folder or name is one of these.
const std::vector<std::string> kLibraries = {
    "absl/",      "grpc",        "google/",   "noisefloor/v1/", "nlohmann/", "fmt/",     "spdlog/",
    "SQLiteCpp/", "sqlite3",     "yaml-cpp/", "CLI/",           "boost/",    "openssl/", "zlib.h",
    "curl/",      "archive",     "jpeglib.h", "png.h",          "torch/",    "ATen/",    "c10/",
    "httplib.h",  "prometheus/", "thread",    "mutex",          "gtest/",    "gmock/",   "Eigen/"};

const std::vector<std::string> kOurs = {"common/", "coordinator/", "worker/", "tests/"};

// All that a core folder may have of the standard library: nothing that reads, writes, waits, draws
// or knows the time, and no container without an order.
const std::set<std::string, std::less<>> kCoreHeaders = {
    "algorithm", "array",   "bit",     "cctype",  "charconv",    "cmath",      "compare",
    "concepts",  "cstddef", "cstdint", "cstring", "deque",       "functional", "initializer_list",
    "iterator",  "limits",  "map",     "memory",  "numbers",     "numeric",    "optional",
    "ranges",    "set",     "span",    "string",  "string_view", "tuple",      "type_traits",
    "utility",   "variant", "vector"};

// Nor these, of what its folders and libraries would otherwise give it.
const std::vector<std::string> kNeverInCore = {"absl/random/",          "absl/synchronization/",
                                               "absl/time/clock.h",     "common/base/clock.h",
                                               "common/base/mailbox.h", "common/base/mutex.h"};

bool StartsWithAny(std::string_view header, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(prefixes, [&](const std::string& p) { return header.starts_with(p); });
}

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

}  // namespace

const std::vector<FolderRule>& AllRules() {
  using Kind = FolderRule::Kind;
  static const std::vector<FolderRule> rules = {
      {"common/base", {}, {"absl/", "mutex"}},
      {"common/files", {"common/base/"}, {"absl/", "fmt/", "openssl/", "zlib.h", "nlohmann/"}},
      {"common/cache", {"common/base/", "common/files/"}, {"absl/", "fmt/"}},
      {"common/log", {"common/base/"}, {"absl/", "spdlog/", "fmt/"}},
      {"common/options", {"common/base/"}, {"CLI/", "fmt/"}},
      {"common/stacks", {"common/base/", "common/files/"}, {"absl/", "fmt/", "nlohmann/"}},
      {"common/rpc",
       {"common/access/access_file.h", "common/base/", "common/files/directory.h",
        "common/trainer_protocol/json.h", "common/trainer_protocol/schema.h"},
       {"absl/", "grpc", "google/", "noisefloor/v1/", "fmt/", "openssl/", "thread", "mutex"}},
      {"common/trainer_protocol",
       {"common/base/", "common/files/sha256.h"},
       {"absl/", "nlohmann/", "fmt/"}},

      {"common/access", {"common/base/", "common/files/"}, {"absl/", "fmt/"}},

      {"coordinator/access",
       {"common/base/", "common/files/sha256.h"},
       {"absl/", "fmt/", "openssl/"},
       Kind::kCore},
      {"coordinator/fleet", {"common/base/"}, {"absl/"}, Kind::kCore},
      {"coordinator/slurm",
       {"common/base/", "common/files/", "coordinator/fleet/"},
       {"absl/", "fmt/"}},
      {"coordinator/manifest",
       {"common/base/", "common/trainer_protocol/hardware_class.h", "coordinator/access/token.h",
        "coordinator/slurm/script.h"},
       {"absl/", "fmt/", "nlohmann/"}},
      {"coordinator/certificates",
       {"common/base/", "common/files/", "common/rpc/address.h"},
       {"absl/", "fmt/", "openssl/"}},
      {"coordinator/sweep",
       {"common/base/", "common/trainer_protocol/"},
       {"absl/", "fmt/"},
       Kind::kCore},
      {"coordinator/scheduler",
       {"common/base/", "common/trainer_protocol/", "coordinator/access/", "coordinator/fleet/",
        "coordinator/sweep/", "coordinator/ingest/"},
       {"absl/", "fmt/"},
       Kind::kCore},
      {"coordinator/ingest",
       {"common/base/", "common/trainer_protocol/"},
       {"absl/", "fmt/"},
       Kind::kCore},
      {"coordinator/analysis",
       {"common/base/"},
       {"absl/", "boost/", "Eigen/", "fmt/"},
       Kind::kCore},
      {"coordinator/report",
       {"common/base/", "common/trainer_protocol/", "coordinator/analysis/"},
       {"absl/", "nlohmann/", "fmt/", "boost/"},
       Kind::kCore},
      {"coordinator/inputs",
       {"common/base/", "common/files/", "common/trainer_protocol/", "coordinator/analysis/",
        "coordinator/report/"},
       {"absl/", "nlohmann/", "fmt/"}},
      {"coordinator/store",
       {"common/base/", "common/files/", "common/trainer_protocol/", "coordinator/access/",
        "coordinator/fleet/", "coordinator/sweep/", "coordinator/scheduler/"},
       {"absl/", "SQLiteCpp/", "sqlite3", "fmt/", "nlohmann/", "thread"}},
      {"coordinator/figures", {"common/base/"}, {"mutex"}},
      {"coordinator/http", {"common/base/"}, {"absl/", "boost/", "fmt/", "thread"}},
      {"coordinator/metrics",
       {"common/base/", "common/trainer_protocol/", "coordinator/figures/", "coordinator/http/",
        "coordinator/scheduler/"},
       {"absl/", "fmt/", "prometheus/"}},
      {"coordinator/live",
       {"common/base/", "common/files/", "common/rpc/", "coordinator/http/",
        "coordinator/web/page_bundle.h"},
       {"absl/", "fmt/", "google/", "grpc", "nlohmann/", "noisefloor/v1/"}},
      {"coordinator/loop",
       {"common/base/", "common/log/", "coordinator/figures/", "coordinator/scheduler/",
        "coordinator/store/"},
       {"absl/", "fmt/", "thread"}},
      {"coordinator/query",
       {"common/base/", "common/files/", "common/trainer_protocol/", "coordinator/store/",
        "coordinator/analysis/", "coordinator/report/", "coordinator/inputs/", "coordinator/sweep/",
        "coordinator/ingest/", "coordinator/scheduler/member_selection.h"},
       {"absl/", "fmt/", "nlohmann/", "SQLiteCpp/", "thread"}},
      {"coordinator/sweep_file", {"common/"}, {"absl/", "fmt/", "noisefloor/v1/", "yaml-cpp/"}},
      {"coordinator/rpc",
       {"common/", "coordinator/access/", "coordinator/figures/", "coordinator/sweep/",
        "coordinator/sweep_file/", "coordinator/scheduler/", "coordinator/ingest/",
        "coordinator/fleet/", "coordinator/loop/", "coordinator/pools/", "coordinator/query/",
        "coordinator/store/blob_pins.h", "coordinator/store/blob_store.h",
        "coordinator/store/derived_files.h", "coordinator/store/stack_rows.h"},
       {"absl/", "fmt/", "grpc", "google/", "noisefloor/v1/", "thread"}},
      {"coordinator/pools",
       {"common/base/", "common/files/", "common/log/", "common/trainer_protocol/",
        "coordinator/fleet/", "coordinator/loop/", "coordinator/scheduler/", "coordinator/slurm/"},
       {"absl/", "fmt/", "thread", "future"}},
      {"coordinator/until",
       {"common/base/", "common/files/sha256.h", "common/log/", "coordinator/loop/",
        "coordinator/query/", "coordinator/scheduler/", "coordinator/sweep/"},
       {"absl/", "fmt/", "thread", "future"}},
      {"coordinator/web", {"common/base/"}, {"absl/"}},
      {"coordinator",
       {"common/access/",
        "common/base/",
        "common/files/",
        "common/log/",
        "common/rpc/",
        "coordinator/access/",
        "coordinator/certificates/",
        "coordinator/figures/",
        "coordinator/fleet/",
        "coordinator/http/",
        "coordinator/live/",
        "coordinator/loop/",
        "coordinator/metrics/",
        "coordinator/pools/",
        "coordinator/query/",
        "coordinator/rpc/",
        "coordinator/slurm/",
        "coordinator/store/",
        "coordinator/until/",
        "coordinator/web/"},
       {"absl/", "grpc"}},
      {"coordinator/cli",
       {"common/", "coordinator/analysis/interval.h", "coordinator/certificates/",
        "coordinator/coordinator.h", "coordinator/inputs/", "coordinator/manifest/",
        "coordinator/report/", "coordinator/web/page_bundle.h", "coordinator/store/backup.h",
        "coordinator/store/own_sql.h", "coordinator/store/restore.h",
        "coordinator/store/take_over.h", "coordinator/store/term_holder.h",
        "coordinator/sweep_file/", "worker/devices/", "worker/trainer/data/dataset.h"},
       {"absl/", "fmt/", "grpc", "google/", "noisefloor/v1/", "nlohmann/", "CLI/", "curl/",
        "archive", "thread"}},

      {"worker/slots",
       {"common/base/", "common/trainer_protocol/"},
       {"absl/", "fmt/"},
       Kind::kCore},
      {"worker/devices", {"common/"}, {"absl/", "fmt/", "nlohmann/", "thread"}},
      {"worker/daemon",
       {"common/", "worker/slots/", "worker/devices/"},
       {"absl/", "fmt/", "grpc", "google/", "noisefloor/v1/", "nlohmann/", "CLI/", "thread"}},
      {"worker/trainer/noise",
       {"common/base/", "common/trainer_protocol/"},
       {"absl/", "fmt/"},
       Kind::kCore},
      {"worker/trainer/data",
       {"common/base/", "common/cache/", "common/files/", "common/trainer_protocol/",
        "worker/trainer/"},
       {"absl/", "fmt/", "thread"}},
      {"worker/trainer/images",
       {"common/base/", "common/cache/", "common/files/", "worker/trainer/data/"},
       {"absl/", "fmt/", "nlohmann/", "archive", "jpeglib.h", "png.h", "thread"}},
      {"worker/trainer/checkpoint",
       {"common/base/", "common/files/", "common/trainer_protocol/"},
       {"absl/", "fmt/"}},
      {"worker/trainer/fused", {}, {}},
      {"worker/trainer/cuda",
       {"common/base/", "common/files/tensor.h", "common/trainer_protocol/",
        "worker/trainer/cuda/kernels/arguments.h", "worker/trainer/data/augment.h",
        "worker/trainer/noise/"},
       {"absl/"}},
      {"worker/trainer/cuda/kernels", {}, {}},
      {"worker/trainer/torch/model",
       {"common/base/", "common/files/", "common/trainer_protocol/", "worker/trainer/cuda/",
        "worker/trainer/data/", "worker/trainer/fused/", "worker/trainer/noise/"},
       {"absl/", "nlohmann/", "torch/", "ATen/", "c10/"}},
      {"worker/trainer/torch/optim",
       {"common/base/", "common/trainer_protocol/", "worker/trainer/cuda/", "worker/trainer/noise/",
        "worker/trainer/torch/model/"},
       {"absl/", "ATen/", "c10/"}},
      {"worker/trainer/torch/facts",
       {"common/base/", "common/files/", "common/trainer_protocol/", "worker/devices/nvml.h"},
       {"absl/", "nlohmann/", "torch/", "ATen/", "c10/", "thread"}},
      {"worker/trainer/torch/step",
       {"common/base/", "common/files/", "common/trainer_protocol/", "worker/trainer/checkpoint/",
        "worker/trainer/cuda/", "worker/trainer/data/", "worker/trainer/noise/",
        "worker/trainer/torch/facts/", "worker/trainer/torch/model/",
        "worker/trainer/torch/optim/"},
       {"absl/", "nlohmann/", "torch/", "ATen/", "c10/", "thread"}},
      {"worker/trainer/torch",
       {"common/base/", "common/files/", "common/options/", "common/trainer_protocol/",
        "worker/devices/cpu.h", "worker/trainer/"},
       {"absl/", "nlohmann/", "CLI/", "torch/", "ATen/", "c10/", "thread"}},

      {"deploy/cmake", {}, {"fmt/"}},
  };
  return rules;
}

const FolderRule* RuleOf(std::string_view path) {
  const auto rule = std::ranges::find(AllRules(), FolderOf(path), &FolderRule::folder);
  return rule == AllRules().end() ? nullptr : &*rule;
}

bool MayInclude(const FolderRule& rule, std::string_view header) {
  const bool core = rule.kind == FolderRule::Kind::kCore;
  if (core && StartsWithAny(header, kNeverInCore)) return false;
  if (FolderOf(header) == rule.folder) return true;
  if (StartsWithAny(header, kOurs)) return StartsWithAny(header, rule.ours);
  if (StartsWithAny(header, kLibraries)) return StartsWithAny(header, rule.libraries);
  return !core || kCoreHeaders.contains(header);
}

}  // namespace noisefloor::tidy
