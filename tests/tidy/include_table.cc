#include "tests/tidy/include_table.h"

#include <algorithm>

namespace noisefloor::tidy {

namespace {

// What counts as a library: a header whose first folder or name is one of these.
const std::vector<std::string> kLibraries = {
    "absl/",    "grpc",       "google/", "noisefloor/v1/", "nlohmann/", "fmt/",
    "spdlog/",  "SQLiteCpp/", "sqlite3", "yaml-cpp/",      "CLI/",      "boost/",
    "openssl/", "zlib.h",     "curl/",   "archive",        "torch/",    "ATen/",
    "c10/",     "httplib.h",  "thread",  "mutex",          "gtest/",    "gmock/"};

const std::vector<std::string> kOurs = {"common/", "coordinator/", "worker/", "tests/"};

const std::vector<std::string> kProtoLibraries = {"grpc", "google/", "noisefloor/v1/", "absl/",
                                                  "fmt/"};

bool StartsWithAny(std::string_view header, const std::vector<std::string>& prefixes) {
  return std::ranges::any_of(prefixes, [&](const std::string& p) { return header.starts_with(p); });
}

const std::vector<FolderRule>& Rules() {
  static const std::vector<FolderRule> rules = {
      {"common/base", {}, {"absl/", "mutex"}},
      {"common/files", {"common/base/"}, {"absl/", "fmt/", "openssl/", "zlib.h", "nlohmann/"}},
      {"common/log", {"common/base/"}, {"absl/", "spdlog/", "fmt/"}},
      {"common/rpc",
       {"common/base/"},
       {"absl/", "grpc", "google/", "noisefloor/v1/", "fmt/", "thread", "mutex"}},
      {"common/trainer_protocol", {"common/base/"}, {"absl/", "nlohmann/", "fmt/"}},

      {"coordinator/sweep", {"common/base/", "common/trainer_protocol/"}, {"absl/", "fmt/"}},
      {"coordinator/scheduler",
       {"common/base/", "common/trainer_protocol/", "coordinator/sweep/", "coordinator/ingest/"},
       {"absl/", "fmt/"}},
      {"coordinator/ingest",
       {"common/base/", "common/trainer_protocol/", "coordinator/scheduler/"},
       {"absl/", "fmt/"}},
      {"coordinator/analysis", {"common/base/"}, {"absl/", "boost/", "fmt/"}},
      {"coordinator/report",
       {"common/base/", "common/trainer_protocol/", "coordinator/analysis/"},
       {"absl/", "nlohmann/", "fmt/", "boost/"}},
      {"coordinator/store",
       {"common/base/", "common/files/", "common/trainer_protocol/", "coordinator/sweep/",
        "coordinator/scheduler/", "coordinator/ingest/"},
       {"absl/", "SQLiteCpp/", "sqlite3", "fmt/", "nlohmann/", "thread"}},
      {"coordinator/loop",
       {"common/", "coordinator/sweep/", "coordinator/scheduler/", "coordinator/ingest/",
        "coordinator/store/"},
       {"absl/", "fmt/", "thread"}},
      {"coordinator/query",
       {"common/", "coordinator/store/", "coordinator/analysis/", "coordinator/report/",
        "coordinator/sweep/", "coordinator/ingest/", "coordinator/web/page_bundle.h"},
       {"absl/", "fmt/", "nlohmann/", "SQLiteCpp/", "google/", "noisefloor/v1/", "thread"}},
      {"coordinator/rpc",
       {"common/", "coordinator/sweep/", "coordinator/scheduler/", "coordinator/ingest/",
        "coordinator/loop/", "coordinator/query/", "coordinator/store/blob_store.h"},
       {"absl/", "fmt/", "grpc", "google/", "noisefloor/v1/", "thread"}},
      {"coordinator/web", {"common/base/"}, {"absl/"}},
      {"coordinator/cli",
       {"common/", "coordinator/coordinator.h", "worker/devices/", "worker/daemon/process.h",
        "worker/trainer/data/dataset.h"},
       {"absl/", "fmt/", "grpc", "google/", "noisefloor/v1/", "nlohmann/", "CLI/", "yaml-cpp/",
        "curl/", "archive", "thread"}},

      {"worker/slots", {"common/base/", "common/trainer_protocol/"}, {"absl/", "fmt/"}},
      {"worker/devices", {"common/"}, {"absl/", "fmt/", "nlohmann/", "thread"}},
      {"worker/daemon",
       {"common/", "worker/slots/", "worker/devices/"},
       {"absl/", "fmt/", "grpc", "google/", "noisefloor/v1/", "nlohmann/", "CLI/", "thread"}},
      {"worker/trainer/noise",
       {"common/base/", "common/trainer_protocol/", "worker/trainer/"},
       {"absl/", "fmt/"}},
      {"worker/trainer/data",
       {"common/base/", "common/files/", "common/trainer_protocol/", "worker/trainer/"},
       {"absl/", "fmt/", "thread"}},
      {"worker/trainer/torch",
       {"common/base/", "common/files/", "common/trainer_protocol/", "worker/trainer/"},
       {"absl/", "nlohmann/", "CLI/", "torch/", "ATen/", "c10/", "thread"}},
  };
  return rules;
}

}  // namespace

const FolderRule* RuleOf(std::string_view path) {
  const FolderRule* deepest = nullptr;
  for (const FolderRule& rule : Rules()) {
    const bool holds = path.starts_with(rule.folder + "/");
    if (holds && (!deepest || rule.folder.size() > deepest->folder.size())) deepest = &rule;
  }
  return deepest;
}

bool MayInclude(const FolderRule& rule, std::string_view header) {
  if (header.starts_with(rule.folder + "/")) return true;
  if (StartsWithAny(header, kOurs)) return StartsWithAny(header, rule.ours);
  if (StartsWithAny(header, kLibraries)) return StartsWithAny(header, rule.libraries);
  return true;
}

}  // namespace noisefloor::tidy
