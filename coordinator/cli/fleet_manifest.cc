#include "coordinator/cli/fleet_manifest.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/format.h"

#include "common/access/access_file.h"
#include "common/rpc/address.h"
#include "common/trainer_protocol/hardware_class.h"
#include "coordinator/cli/duration.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

constexpr uint32_t kCoresPerGpu = 4;
constexpr uint32_t kGibPerGpu = 16;

absl::StatusOr<std::pair<std::string, std::string>> PairOf(std::string_view option,
                                                           const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidInput(fmt::format("{}={}: expected NAME=VALUE", option, text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

absl::StatusOr<ClaimMount> MountOf(const std::string& text) {
  ClaimMount mount;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return InvalidInput(fmt::format("--volume={}: expected CLAIM:/PATH or CLAIM:/PATH:ro", text));
  }
  mount.claim = text.substr(0, colon);
  mount.path = text.substr(colon + 1);
  mount.read_only = mount.path.ends_with(":ro");
  if (mount.read_only) mount.path.erase(mount.path.size() - 3);
  return mount;
}

// Workers elsewhere would look for the coordinator on their own machine.
void NoteLoopback(Context& context, const std::string& path) {
  if (path.empty()) {
    context.err << fmt::format("note: there is no access file here for workers: {} first\n",
                               context.Hint("access init"));
    return;
  }
  const auto file = ReadAccessFile(path);
  const auto address = file.ok() ? ParseAddress(file->coordinator) : file.status();
  if (!address.ok() || !IsLoopback(*address)) return;
  context.err << fmt::format("note: {} names {}, which only this machine reaches\n", path,
                             file->coordinator);
}

}  // namespace

std::string WorkerAccessFile(const Context& context, const std::string& given) {
  if (!given.empty()) return fs::absolute(given).string();
  for (const std::string& place : {context.access_places.named, context.access_places.usual}) {
    if (place.empty()) continue;
    const auto file = FindAccessFile(place, AccessUser::kWorker);
    if (file.ok()) return fs::absolute(*file).string();
  }
  return "";
}

void FleetManifest::Describe(CLI::App& fleet) {
  app_ = fleet.add_subcommand(
      "manifest",
      "Print what starts workers elsewhere: Jobs of Kubernetes, a unit of systemd; change nothing");
  app_->add_option("name", wish_.name, "of the workers together")->required()->type_name("NAME");
  kubernetes_option_ =
      app_->add_flag("--kubernetes", kubernetes_, "Jobs for kubectl, a worker in each");
  app_->add_flag("--systemd", systemd_, "a unit for a plain machine")->excludes(kubernetes_option_);
  DescribeWorkers();
  DescribeKubernetes();
  DescribeClaims();
}

void FleetManifest::DescribeWorkers() {
  app_->add_option("--idle", idle_,
                   "how long a worker waits for a member before it leaves; 0s: it stays (default: "
                   "5m of Kubernetes, 0s of systemd)")
      ->type_name("TIME");
  app_->add_option("--grace", grace_,
                   "how long a trainer has to keep its checkpoint once it is asked to end "
                   "(default: 30s of Kubernetes, 10s of systemd)")
      ->type_name("TIME");
  app_->add_option("--class", wish_.hardware,
                   "hardware class that its workers must have (default: what they find)")
      ->type_name("CLASS");
  app_->add_option("--worker", wish_.worker_options,
                   "an option of noisefloor-worker, as --worker=--slots=2; may be repeated")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  app_->add_option("--env", variables_, "a variable of its environment; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app_->add_option("--program", wish_.program,
                   "noisefloor-worker where it runs (default: the one on the PATH there)")
      ->type_name("PATH");
  app_->add_option("--access", access_,
                   "access file of workers, here (default: worker.access where workers look for "
                   "it)")
      ->type_name("FILE");
}

void FleetManifest::DescribeKubernetes() {
  const auto add = [this](const char* name, auto& value, const char* help, const char* type) {
    return app_->add_option(name, value, help)->type_name(type)->needs(kubernetes_option_);
  };
  add("--max", wish_.workers, "workers at one time (default 1)", "N");
  add("--time", time_, "time limit of a worker, from when a node has it (default: none)", "TIME");
  add("--drain-before", drain_before_,
      "how long before it a worker begins nothing new (default 2m)", "TIME");
  add("--image", wish_.image, "image with noisefloor-worker in it", "IMAGE");
  add("--gpu", wish_.gpu_product, "what nvidia.com/gpu.product says of a node", "PRODUCT");
  add("--gpus", gpus_, "GPUs of each worker (default: 1 with --gpu, else 0)", "N")
      ->check(CLI::Range(0, 64));
  add("--cpus", wish_.cpus, "processors of each (default: 4, for each GPU)", "QUANTITY");
  add("--memory", wish_.memory, "memory of each (default: 16Gi, for each GPU)", "QUANTITY");
  add("--scratch", wish_.scratch, "of a node's disk, for its state and for /tmp (default: 32Gi)",
      "QUANTITY");
  add("--namespace", wish_.space, "where the Jobs go (default: default)", "NAME");
  add("--node-selector", nodes_, "a label that nodes must have; may be repeated", "KEY=VALUE")
      ->allow_extra_args(false);
  add("--user", wish_.user, "number of the user that it runs as (default 10001)", "UID");
  add("--access-secret", wish_.secret,
      "Secret whose key worker.access is the access file (default: noisefloor-worker)", "NAME");
  add("--pull-secret", wish_.pull_secret, "Secret of the image's registry", "NAME");
}

void FleetManifest::DescribeClaims() {
  const auto add = [this](const char* name, auto& value, const char* help, const char* type) {
    return app_->add_option(name, value, help)->type_name(type)->needs(kubernetes_option_);
  };
  add("--data-claim", wish_.data_claim, "PersistentVolumeClaim with data sets, mounted at /data",
      "CLAIM");
  add("--checkpoints-claim", wish_.checkpoints_claim,
      "one that all workers write to, for members that go on elsewhere", "CLAIM");
  add("--volume", volumes_, "another one, and where it is mounted; may be repeated",
      "CLAIM:/PATH[:ro]")
      ->allow_extra_args(false);
}

absl::Status FleetManifest::ReadTimes(KubernetesWish& wish) const {
  if (!idle_.empty()) {
    NF_ASSIGN_OR_RETURN(wish.idle_seconds, SecondsOf("--idle", idle_));
  }
  if (!grace_.empty()) {
    NF_ASSIGN_OR_RETURN(wish.grace_seconds, SecondsOf("--grace", grace_));
  }
  NF_ASSIGN_OR_RETURN(wish.drain_before_seconds, SecondsOf("--drain-before", drain_before_));
  if (time_.empty()) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(wish.time_seconds, SecondsOf("--time", time_));
  if (wish.time_seconds > 0) return absl::OkStatus();
  return InvalidInput(fmt::format("--time={}: expected more than that", time_));
}

absl::Status FleetManifest::ReadPairs(KubernetesWish& wish) const {
  for (const std::string& node : nodes_) {
    NF_ASSIGN_OR_RETURN(auto pair, PairOf("--node-selector", node));
    wish.nodes.push_back(std::move(pair));
  }
  for (const std::string& variable : variables_) {
    NF_ASSIGN_OR_RETURN(auto pair, PairOf("--env", variable));
    wish.variables.push_back(std::move(pair));
  }
  for (const std::string& volume : volumes_) {
    NF_ASSIGN_OR_RETURN(ClaimMount mount, MountOf(volume));
    wish.mounts.push_back(std::move(mount));
  }
  return absl::OkStatus();
}

absl::StatusOr<KubernetesWish> FleetManifest::Wish(const Context& context) const {
  KubernetesWish wish = wish_;
  wish.idle_seconds = 300;
  NF_RETURN_IF_ERROR(ReadTimes(wish));
  NF_RETURN_IF_ERROR(ReadPairs(wish));
  wish.gpus = static_cast<uint32_t>(gpus_ >= 0 ? gpus_ : (wish.gpu_product.empty() ? 0 : 1));
  wish.gpus_per_slot = GpusPerSlot(wish.hardware);
  const uint32_t parts = std::max(1u, wish.gpus);
  if (wish.cpus.empty()) wish.cpus = std::to_string(kCoresPerGpu * parts);
  if (wish.memory.empty()) wish.memory = fmt::format("{}Gi", kGibPerGpu * parts);
  if (wish.scratch.empty()) wish.scratch = "32Gi";
  if (wish.program.empty()) wish.program = "noisefloor-worker";
  if (wish.secret.empty()) wish.secret = "noisefloor-worker";
  wish.access = WorkerAccessFile(context, access_);
  NF_RETURN_IF_ERROR(Check(wish));
  return wish;
}

absl::StatusOr<int> FleetManifest::PrintKubernetes(Context& context) const {
  NF_ASSIGN_OR_RETURN(const KubernetesWish wish, Wish(context));
  NoteLoopback(context, wish.access);
  if (context.Json()) {
    context.out << KubernetesJobs(wish).dump(2) << "\n";
  } else {
    context.out << KubernetesManifest(wish);
  }
  return kDone;
}

absl::StatusOr<SystemdWish> FleetManifest::UnitWish(const Context& context) const {
  KubernetesWish read = wish_;
  read.grace_seconds = 0;
  NF_RETURN_IF_ERROR(ReadTimes(read));
  NF_RETURN_IF_ERROR(ReadPairs(read));
  SystemdWish wish = {.name = read.name,
                      .program = read.program.empty() ? "noisefloor-worker" : read.program,
                      .access = WorkerAccessFile(context, access_),
                      .hardware = read.hardware,
                      .gpus_per_slot = GpusPerSlot(read.hardware),
                      .idle_seconds = read.idle_seconds,
                      .grace_seconds = read.grace_seconds,
                      .worker_options = read.worker_options,
                      .variables = read.variables};
  NF_RETURN_IF_ERROR(Check(wish));
  return wish;
}

absl::StatusOr<int> FleetManifest::PrintSystemd(Context& context) const {
  NF_ASSIGN_OR_RETURN(const SystemdWish wish, UnitWish(context));
  NoteLoopback(context, wish.access);
  if (context.Json()) {
    PrintJson(context.out, {{"unit", "noisefloor-worker-" + wish.name + ".service"},
                            {"text", SystemdUnit(wish)}});
  } else {
    context.out << SystemdUnit(wish);
  }
  return kDone;
}

absl::StatusOr<int> FleetManifest::Print(Context& context) const {
  if (kubernetes_) return PrintKubernetes(context);
  if (systemd_) return PrintSystemd(context);
  return InvalidInput("fleet manifest: expected --kubernetes or --systemd");
}

}  // namespace noisefloor::cli
