#include "coordinator/manifest/kubernetes.h"

#include <algorithm>

#include "fmt/format.h"

#include "coordinator/manifest/worker_words.h"
#include "coordinator/manifest/yaml.h"

namespace noisefloor {

namespace {

using Json = nlohmann::ordered_json;

// In the container. Everything else of its file system cannot be written to.
constexpr const char* kState = "/var/lib/noisefloor";
constexpr const char* kAccess = "/etc/noisefloor/access";
constexpr const char* kData = "/data";
constexpr const char* kCheckpoints = "/checkpoints";
constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kPoolLabel = "noisefloor-pool";

// Beside what trainers may take: for uploads, and for the end of the process itself.
constexpr int64_t kLastWordsSeconds = 15;
// A worker that crashed or found no coordinator begins again so often, later each time.
constexpr int kTries = 6;
constexpr int kStoppedCode = 75;        // Of a worker that SIGTERM ended.
constexpr int64_t kPullSeconds = 1800;  // A pod's time begins before its image is there.
constexpr int64_t kForgottenAfterSeconds = 24 * 3600;  // `kubectl logs` finds what ended till then.
constexpr int kSecretMode = 0440;                      // Its group is the pod's.

// Kubernetes puts variables in place of $(NAME) in arguments; $$ stands for one $.
std::string Literal(const std::string& text) {
  std::string literal;
  for (const char c : text) {
    literal += c;
    if (c == '$') literal += c;
  }
  return literal;
}

// A trainer is asked to end a second after SIGTERM and killed after its grace; what it said then
// has as long again to arrive (worker/slots).
int64_t SecondsToEnd(const KubernetesWish& wish) {
  return kDrainSeconds + 2 * wish.grace_seconds + kLastWordsSeconds;
}

Json Arguments(const KubernetesWish& wish) {
  Json words = {"--name=$(POD_NAME)", "--host=$(NODE_NAME)",
                fmt::format("--state={}/state", kState)};
  for (const std::string& word : LeavingWords(wish.idle_seconds)) words.push_back(word);
  words.push_back(fmt::format("--grace={}", wish.grace_seconds));
  words.push_back(fmt::format("--stopped-code={}", kStoppedCode));
  if (wish.time_seconds > 0) {
    words.push_back(fmt::format("--leave-after={}", wish.time_seconds - wish.drain_before_seconds));
    words.push_back(fmt::format("--lifetime={}", wish.time_seconds));
  }
  for (const std::string& word : ClassWords(wish.hardware, wish.gpus_per_slot)) {
    words.push_back(Literal(word));
  }
  if (!wish.data_claim.empty()) words.push_back(fmt::format("--data-root={}", kData));
  if (!wish.checkpoints_claim.empty()) {
    words.push_back(fmt::format("--checkpoints={}", kCheckpoints));
  }
  for (const std::string& option : wish.worker_options) words.push_back(Literal(option));
  return words;
}

Json FieldOf(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

Json Environment(const KubernetesWish& wish) {
  Json all = Json::array();
  all.push_back(FieldOf("POD_NAME", "metadata.name"));
  all.push_back(FieldOf("NODE_NAME", "spec.nodeName"));
  all.push_back({{"name", "NOISEFLOOR_ACCESS"}, {"value", kAccess}});
  // Of libraries that write there; all else cannot be written to.
  all.push_back({{"name", "HOME"}, {"value", "/tmp"}});
  for (const auto& [name, value] : wish.variables) {
    all.push_back({{"name", name}, {"value", Literal(value)}});
  }
  return all;
}

std::vector<ClaimMount> MountsOf(const KubernetesWish& wish) {
  std::vector<ClaimMount> all;
  if (!wish.data_claim.empty()) all.push_back({wish.data_claim, kData, true});
  if (!wish.checkpoints_claim.empty()) {
    all.push_back({wish.checkpoints_claim, kCheckpoints, false});
  }
  all.insert(all.end(), wish.mounts.begin(), wish.mounts.end());
  return all;
}

Json Volumes(const KubernetesWish& wish) {
  Json all = Json::array();
  all.push_back(
      {{"name", "access"},
       {"secret",
        {{"secretName", wish.secret},
         {"defaultMode", kSecretMode},
         {"items", Json::array({Json{{"key", "worker.access"}, {"path", "worker.access"}}})}}}});
  all.push_back({{"name", "state"}, {"emptyDir", {{"sizeLimit", wish.scratch}}}});
  all.push_back({{"name", "tmp"}, {"emptyDir", {{"sizeLimit", wish.scratch}}}});
  // Processes of one training hand over batches there; what it takes counts as memory.
  all.push_back({{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}});
  size_t number = 0;
  for (const ClaimMount& mount : MountsOf(wish)) {
    Json claim = {{"claimName", mount.claim}};
    if (mount.read_only) claim["readOnly"] = true;
    all.push_back({{"name", fmt::format("claim-{}", number++)}, {"persistentVolumeClaim", claim}});
  }
  return all;
}

Json VolumeMounts(const KubernetesWish& wish) {
  const auto mount = [](const std::string& name, const std::string& path, bool read_only) {
    Json one = {{"name", name}, {"mountPath", path}};
    if (read_only) one["readOnly"] = true;
    return one;
  };
  Json all = {mount("access", kAccess, true), mount("state", kState, false),
              mount("tmp", "/tmp", false), mount("shm", "/dev/shm", false)};
  size_t number = 0;
  for (const ClaimMount& claim : MountsOf(wish)) {
    all.push_back(mount(fmt::format("claim-{}", number++), claim.path, claim.read_only));
  }
  return all;
}

Json Resources(const KubernetesWish& wish) {
  Json amounts = {{"cpu", wish.cpus}, {"memory", wish.memory}};
  if (wish.gpus > 0) amounts[kGpu] = wish.gpus;
  return {{"requests", amounts}, {"limits", amounts}};
}

Json Container(const KubernetesWish& wish) {
  return {{"name", "worker"},
          {"image", wish.image},
          {"command", Json::array({wish.program})},
          {"args", Arguments(wish)},
          {"env", Environment(wish)},
          {"resources", Resources(wish)},
          {"securityContext",
           {{"allowPrivilegeEscalation", false},
            {"readOnlyRootFilesystem", true},
            {"capabilities", {{"drop", Json::array({"ALL"})}}}}},
          {"volumeMounts", VolumeMounts(wish)}};
}

Json NodeSelector(const KubernetesWish& wish) {
  Json labels = Json::object();
  if (!wish.gpu_product.empty()) labels["nvidia.com/gpu.product"] = wish.gpu_product;
  for (const auto& [name, value] : wish.nodes) labels[name] = value;
  return labels;
}

Json Pod(const KubernetesWish& wish) {
  Json pod = {{"restartPolicy", "Never"},
              {"automountServiceAccountToken", false},
              {"enableServiceLinks", false},
              {"terminationGracePeriodSeconds", SecondsToEnd(wish)},
              {"securityContext",
               {{"runAsNonRoot", true},
                {"runAsUser", wish.user},
                {"runAsGroup", wish.user},
                {"fsGroup", wish.user},
                {"fsGroupChangePolicy", "OnRootMismatch"},
                {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
  // The worker counts from its own start, and leaves by itself.
  if (wish.time_seconds > 0) pod["activeDeadlineSeconds"] = wish.time_seconds + kPullSeconds;
  if (const Json labels = NodeSelector(wish); !labels.empty()) pod["nodeSelector"] = labels;
  if (wish.gpus > 0) {
    pod["tolerations"] =
        Json::array({Json{{"key", kGpu}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  }
  if (!wish.pull_secret.empty()) {
    pod["imagePullSecrets"] = Json::array({Json{{"name", wish.pull_secret}}});
  }
  pod["containers"] = Json::array({Container(wish)});
  pod["volumes"] = Volumes(wish);
  return pod;
}

// What others did to a worker does not count; what will go wrong again is not tried again. Exit
// codes of noisefloor-worker: 1 refused, 2 usage. A pod that is taken ends with kStoppedCode: with
// 0 the Job would be complete, as since Kubernetes 1.27 a deleted pod has succeeded by its own
// code.
Json FailurePolicy() {
  const Json taken = {
      {"action", "Ignore"},
      {"onPodConditions", Json::array({Json{{"type", "DisruptionTarget"}, {"status", "True"}}})}};
  // Before 1.29 the schema wants both kinds of conditions in each rule, and the server only one.
  const Json hopeless = {
      {"action", "FailJob"},
      {"onExitCodes", {{"containerName", "worker"}, {"operator", "In"}, {"values", {1, 2}}}},
      {"onPodConditions", Json::array()}};
  return {{"rules", Json::array({taken, hopeless})}};
}

Json Labels(const KubernetesWish& wish) {
  return {{"app.kubernetes.io/name", "noisefloor-worker"}, {kPoolLabel, wish.name}};
}

Json JobOf(const KubernetesWish& wish, uint32_t number) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", fmt::format("{}-{}", wish.name, number)},
            {"namespace", wish.space},
            {"labels", Labels(wish)}}},
          {"spec",
           {{"completions", 1},
            {"parallelism", 1},
            {"backoffLimit", kTries},
            {"podFailurePolicy", FailurePolicy()},
            {"ttlSecondsAfterFinished", kForgottenAfterSeconds},
            {"template", {{"metadata", {{"labels", Labels(wish)}}}, {"spec", Pod(wish)}}}}}};
}

std::string Head(const KubernetesWish& wish) {
  const std::string space = "--namespace=" + wish.space;
  const std::string file = CommentWord(wish.access.empty() ? "worker.access" : wish.access);
  std::string text = fmt::format(
      "# {} {} of noisefloor, a Job for each: every one comes, fails and leaves by itself.\n"
      "# For Kubernetes 1.26 or newer. Before, where the access file of workers is:\n"
      "#   kubectl create secret generic {} {} --from-file=worker.access={}\n"
      "# Then, and again when they have left:\n"
      "#   kubectl replace --force --filename=FILE\n"
      "# What they do, and the end of them:\n"
      "#   kubectl get pods {} --selector={}={} --output=wide\n"
      "#   kubectl delete jobs {} --selector={}={}\n",
      wish.workers, wish.workers == 1 ? "worker" : "workers", wish.secret, space, file, space,
      kPoolLabel, wish.name, space, kPoolLabel, wish.name);
  return text;
}

}  // namespace

Json KubernetesJobs(const KubernetesWish& wish) {
  Json jobs = Json::array();
  for (uint32_t number = 0; number < wish.workers; ++number) jobs.push_back(JobOf(wish, number));
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(jobs)}};
}

std::string KubernetesManifest(const KubernetesWish& wish) {
  std::string text = Head(wish);
  const Json jobs = KubernetesJobs(wish);
  for (const Json& job : jobs["items"]) text += "---\n" + ToYaml(job);
  return text;
}

}  // namespace noisefloor
