// A program that speaks the trainer protocol without training, for tests: results made from the
// seeds (worker/daemon/noop_trainer.h), behaviour chosen by the setting sources.poke.parameter.
//
//   ""             trains, writes predictions and weights, done
//   ms:N           the same, N milliseconds per epoch
//   gate:FIFO      the same, but waits before the second half until FIFO is opened for writing
//   wait           trains until it is told to stop, then ends as interrupted
//   hang           ignores SIGTERM and never ends
//   escape         joins its parent's process group, where signals to its own miss it; never ends
//   mute           never says hello and never ends
//   diverge        ends as diverged, with a loss that is not a number
//   oom            fails as out of memory
//   exit_oom       exits with that code without a word
//   silent         exits with 0 without an outcome
//   abort          aborts after its hello
//   wrong_exit     says done and exits with 15
//   huge           writes an event of 5 MiB
//   garbage        writes a line that is no event
//   bytes          writes a line that is no UTF-8
//   sequence       skips a record batch
//   no_hello       writes records first
//   after          writes an event after its outcome
//   swap           puts a link to /proc in the place of its work folder
//   fifo           reports an artifact that is a pipe
//   detach:FIFO    leaves a process behind, in a session of its own and without environment
//   linger         says done, ignores SIGTERM and never ends
//   partial        ends in the middle of a line
//   outside        reports an artifact outside of its folder
//   link           reports an artifact that is a link to elsewhere
//   sha            reports an artifact with another hash
//   missing        reports an artifact that is not there
//   child:FIFO     leaves a process of its own behind, which holds FIFO open for writing
//   chatter        writes 20 MiB of output
//   identity       reports another data set than asked for
//
// NOISEFLOOR_FAKE_FACTS is how many facts it tells of a GPU besides cuDNN's version.
// NOISEFLOOR_FAKE_STACK names its stack (default: fake), NOISEFLOOR_FAKE_KERNELS the compute
// capabilities of GPUs that it has kernels for. On a GPU it fails as lost_device when the driver
// gives it no memory before an epoch.
//
// With NOISEFLOOR_FAKE_INFERS it says that it evaluates weights; its log names those of its
// request.
//
// With NOISEFLOOR_FAKE_FORKS it serves forks, by the real trainer's code. Its value says how:
//
//   serve          as it should
//   thread         with a second thread
//   mute           never is ready
//   ends           ends before it is ready
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "common/base/philox.h"
#include "common/files/atomic_file.h"
#include "common/files/npy.h"
#include "common/files/safetensors.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"
#include "worker/daemon/noop_trainer.h"
#include "worker/trainer/torch/fork_server.h"

namespace noisefloor {
namespace {

constexpr int64_t kTestExamples = 100;
constexpr int64_t kClasses = 10;
constexpr char kForks[] = "NOISEFLOOR_FAKE_FORKS";
constexpr char kInfers[] = "NOISEFLOOR_FAKE_INFERS";

std::string Stack() {
  const char* name = std::getenv("NOISEFLOOR_FAKE_STACK");
  return name == nullptr ? "fake" : name;
}

volatile sig_atomic_t g_stop = 0;
void OnTerm(int) { g_stop = 1; }

int Describe() {
  std::cout << R"({"protocol":1,"stack":")" << Stack()
            << R"(","build":"fake-build","environment":{},)"
            << (std::getenv(kForks) == nullptr ? "" : R"("serves_forks":1,)")
            << (std::getenv(kInfers) == nullptr ? "" : R"("infers":1,)")
            << R"("probes":1,"fingerprint":"fake-fingerprint"})" << std::endl;
  return 0;
}

// The CUDA driver, as far as it is asked: tests/support/fake_gpus has it.
class Cuda {
 public:
  Cuda() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {}

  // What the call says is wrong; "" = nothing.
  template <typename... Arguments>
  std::string Call(const char* name, Arguments... arguments) const {
    if (library_ == nullptr) return "there is no libcuda.so.1";
    const auto call = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    if (call == nullptr) return std::string("there is no ") + name;
    const int result = call(arguments...);
    if (result == 0) return "";
    const char* text = "";
    reinterpret_cast<int (*)(int, const char**)>(dlsym(library_, "cuGetErrorString"))(result,
                                                                                      &text);
    return std::string("CUDA: ") + name + ": " + text;
  }
  // Whether a batch finds its memory on the first device.
  std::string TryMemory() const {
    unsigned long long memory = 0;
    return Call("cuMemAlloc_v2", &memory, size_t{1} << 30);
  }

 private:
  void* const library_;
};

// Compute capabilities that this stack has kernels for.
bool HasKernelsFor(const std::string& capability) {
  const char* text = std::getenv("NOISEFLOOR_FAKE_KERNELS");
  std::istringstream known(text == nullptr ? "7.5 8.0 9.0" : text);
  for (std::string one; known >> one;) {
    if (one == capability) return true;
  }
  return false;
}

// Why the GPUs that are seen cannot be trained on; "" = they can.
std::string TryGpus(const Cuda& cuda, Json& devices) {
  int count = 0;
  std::string fault = cuda.Call("cuInit", 0u);
  if (fault.empty()) fault = cuda.Call("cuDeviceGetCount", &count);
  for (int device = 0; fault.empty() && device < count; ++device) {
    std::array<char, 100> name{};
    size_t bytes = 0;
    int major = 0, minor = 0;
    (void)cuda.Call("cuDeviceGetName", name.data(), 99, device);
    (void)cuda.Call("cuDeviceTotalMem_v2", &bytes, device);
    (void)cuda.Call("cuDeviceGetAttribute", &major, 75, device);
    (void)cuda.Call("cuDeviceGetAttribute", &minor, 76, device);
    devices.push_back({{"name", name.data()}, {"memory_bytes", bytes}});
    const std::string capability = std::to_string(major) + "." + std::to_string(minor);
    if (!HasKernelsFor(capability))
      fault = "it has no kernels for compute capability " + capability;
  }
  return fault.empty() ? cuda.TryMemory() : fault;
}

// Works on every processor, and on GPUs as the script of tests/support/fake_gpus has them.
int Probe(const std::string& hardware_class) {
  Json answer = {{"probes", 1}, {"devices", Json::array()}, {"facts", Json::object()}};
  std::string reason;
  if (IsGpuClass(hardware_class)) {
    reason = TryGpus(Cuda(), answer["devices"]);
    answer["facts"] = {{"cudnn", 91000}};
    const char* more = std::getenv("NOISEFLOOR_FAKE_FACTS");
    for (int i = 0; more != nullptr && i < std::atoi(more); ++i) {
      answer["facts"]["fact " + std::to_string(i)] = i;
    }
  }
  answer["reason"] = reason;
  answer["works"] = reason.empty();
  std::cout << answer.dump() << std::endl;
  return 0;
}

class FakeTrainer {
 public:
  FakeTrainer(TrainerRequest request, int events)
      : request_(std::move(request)),
        spec_(request_.specification),
        behaviour_(spec_.sources.poke_parameter),
        events_(events) {}

  int Run() {
    if (behaviour_ == "exit_oom") return ExitCodeOf(CauseClass::kOutOfMemory);
    if (behaviour_ == "reads") Emit(ProgressEvent{});
    while (behaviour_ == "mute" || behaviour_ == "reads") pause();
    if (behaviour_ != "no_hello") Hello();
    Misbehave();
    const int64_t epochs = spec_.train.epochs;
    for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
      if (epoch > epochs / 2) WaitAtGate();
      Pause();
      if (g_stop != 0) return Fail(CauseClass::kInterrupted, "told to stop");
      std::cout << "epoch " << epoch << std::endl;
      const std::string lost = IsGpuClass(spec_.hardware_class) ? Cuda().TryMemory() : "";
      if (!lost.empty()) return Fail(CauseClass::kLostDevice, lost);
      RecordsEvent records = NoopRecords(spec_, epoch);
      if (behaviour_ == "sequence" && epoch == epochs) ++records.sequence;
      Emit(records);
      Emit(ProgressEvent{NoopStepCount(spec_) * epoch / epochs, NoopStepCount(spec_)});
    }
    return End();
  }

 private:
  void Emit(const TrainerEvent& event) { Line(EventToJson(event)); }
  void Line(const std::string& line) { Raw(line + "\n"); }
  void Raw(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(events_, text.data(), text.size());
      if (written < 0) std::exit(1);
      text.remove_prefix(static_cast<size_t>(written));
    }
  }

  void Hello() {
    // The log first: who has heard the hello may look into it.
    std::cout << "trains " << request_.member << " attempt " << request_.attempt << "\n"
              << "data root " << request_.data_root << "\n";
    if (!request_.weights.empty()) {
      std::cout << "weights " << request_.weights << " "
                << Sha256File(request_.weights).value_or("not there") << "\n";
    }
    std::cout << std::flush;
    HelloEvent hello;
    hello.stack = Stack();
    hello.build = "fake-build";
    const char* capability = std::getenv("ATEN_CPU_CAPABILITY");
    hello.environment = std::string(R"({"trainer":"fake","capability":")") +
                        (capability == nullptr ? "" : capability) + "\"}";
    hello.data_identity = behaviour_ == "identity" ? Sha256Hex("another") : NoopDataIdentity(spec_);
    hello.resumes = behaviour_ == "resumes";
    Emit(hello);
  }

  // What goes wrong before the training.
  void Misbehave() {
    if (behaviour_ == "escape") {
      if (setpgid(0, getpgid(getppid())) != 0) std::abort();
      while (true) pause();
    }
    if (behaviour_ == "hang") {
      signal(SIGTERM, SIG_IGN);
      while (true) pause();
    }
    if (behaviour_ == "wait") {
      while (g_stop == 0) poll(nullptr, 0, 20);
    }
    if (behaviour_ == "abort") std::abort();
    if (behaviour_ == "silent") std::exit(0);
    if (behaviour_ == "garbage") Line("{\"event\": \"good news\"}");
    if (behaviour_ == "bytes") Line("{\"event\": \"\xff\"}");
    if (behaviour_ == "huge") Line(std::string(5 << 20, 'x'));
    if (behaviour_ == "chatter") {
      const std::string line(1023, '.');
      for (int i = 0; i < 20 << 10; ++i) std::cout << line << '\n';
    }
    if (behaviour_.rfind("detach:", 0) == 0) Detach(behaviour_.substr(7));
    if (behaviour_.rfind("child:", 0) == 0 && fork() == 0) {
      signal(SIGTERM, SIG_IGN);
      (void)!open(behaviour_.substr(6).c_str(), O_WRONLY);
      while (true) pause();
    }
  }

  // Holds the pipe open for writing until it is ended. Its parent goes at once.
  static void Detach(const std::string& fifo) {
    const int held = open(fifo.c_str(), O_RDWR);
    if (fork() == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      dup2(held, STDOUT_FILENO);
      char program[] = "/bin/sleep";
      char forever[] = "infinity";
      char* arguments[] = {program, forever, nullptr};
      char* nothing[] = {nullptr};
      execve(program, arguments, nothing);
      _exit(1);
    }
    close(held);
  }

  void WaitAtGate() {
    if (behaviour_.rfind("gate:", 0) != 0) return;
    const int gate = open(behaviour_.substr(5).c_str(), O_RDONLY);
    if (gate >= 0) close(gate);
  }

  void Pause() {
    if (behaviour_.rfind("ms:", 0) == 0) poll(nullptr, 0, std::atoi(behaviour_.c_str() + 3));
  }

  int Fail(CauseClass cause, const std::string& message) {
    Outcome outcome;
    outcome.cause = cause;
    outcome.message = message;
    Emit(outcome);
    return ExitCodeOf(cause);
  }

  int End() {
    if (behaviour_ == "oom") return Fail(CauseClass::kOutOfMemory, "no memory for a batch");
    if (!WriteFiles().ok()) return Fail(CauseClass::kBug, "cannot write its files");
    Outcome outcome = NoopOutcome(spec_, request_.member);
    outcome.environment = R"({"trainer":"fake"})";
    outcome.train_seconds = 0.01;
    if (behaviour_ == "diverge") {
      outcome.kind = Outcome::Kind::kDiverged;
      outcome.metrics["loss"] = std::numeric_limits<double>::quiet_NaN();
    }
    if (behaviour_ == "partial") {
      Raw(EventToJson(outcome).substr(0, 20));
      return 0;
    }
    Emit(outcome);
    if (behaviour_ == "after") Emit(ProgressEvent{1, 1});
    if (behaviour_ == "linger") {
      signal(SIGTERM, SIG_IGN);
      while (true) pause();
    }
    return behaviour_ == "wrong_exit" ? 15 : 0;
  }

  std::vector<float> Draws(const std::string& key, int64_t count) const {
    const PhiloxStream stream(StreamOf(key), 1);
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = UniformFloat(stream.Word(i));
    return values;
  }

  absl::Status WriteFiles() {
    const std::string key = NoopOutcome(spec_, request_.member).hashes["weights"];
    const std::vector<float> logits = Draws(key, kTestExamples * kClasses);
    NF_RETURN_IF_ERROR(
        WriteNpy<float>(PathOf("predictions.npy"), {kTestExamples, kClasses}, logits));
    const std::vector<float> weights = Draws("w" + key, 64);
    NF_RETURN_IF_ERROR(WriteSafetensors(PathOf("weights.safetensors"),
                                        {MakeTensorView<float>("dense.weight", {8, 8}, weights)}));
    NF_RETURN_IF_ERROR(Report("predictions", "predictions.npy"));
    NF_RETURN_IF_ERROR(Report("weights", "weights.safetensors"));
    NF_RETURN_IF_ERROR(WriteEvaluationSet());
    return ReportWrong();
  }

  absl::Status WriteEvaluationSet() {
    if (!request_.write_evaluation_set) return absl::OkStatus();
    const std::vector<uint8_t> images(static_cast<size_t>(kTestExamples) * 28 * 28, 128);
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < kTestExamples; ++i) labels.push_back(i % kClasses);
    NF_RETURN_IF_ERROR(
        WriteNpy<uint8_t>(PathOf("evaluation_images.npy"), {kTestExamples, 1, 28, 28}, images));
    NF_RETURN_IF_ERROR(WriteNpy<int64_t>(PathOf("evaluation_labels.npy"), {kTestExamples}, labels));
    NF_RETURN_IF_ERROR(Report("evaluation_images", "evaluation_images.npy"));
    return Report("evaluation_labels", "evaluation_labels.npy");
  }

  absl::Status ReportWrong() {
    Artifact wrong{"extra", "predictions.npy", Sha256Hex(""), 0};
    if (behaviour_ == "missing") wrong.path = "nothing.npy";
    if (behaviour_ == "outside") wrong.path = "../member";
    if (behaviour_ == "sha") wrong.size = std::filesystem::file_size(PathOf(wrong.path));
    if (behaviour_ == "link") {
      wrong.path = "link";
      std::filesystem::create_symlink("/proc/cpuinfo", PathOf("link"));
    }
    if (behaviour_ == "fifo") {
      wrong.path = "fifo";
      mkfifo(PathOf("fifo").c_str(), 0600);
    }
    const bool is_wrong = behaviour_ == "missing" || behaviour_ == "outside" ||
                          behaviour_ == "sha" || behaviour_ == "link" || behaviour_ == "fifo";
    if (is_wrong) Emit(wrong);
    if (behaviour_ == "swap") {
      std::filesystem::rename(request_.work_directory, request_.work_directory + "-away");
      std::filesystem::create_directory_symlink("/proc", request_.work_directory);
    }
    return absl::OkStatus();
  }

  std::string PathOf(const std::string& name) const { return request_.work_directory + "/" + name; }

  absl::Status Report(const std::string& kind, const std::string& path) {
    NF_ASSIGN_OR_RETURN(const std::string sha256, Sha256File(PathOf(path)));
    Emit(Artifact{kind, path, sha256, std::filesystem::file_size(PathOf(path))});
    return absl::OkStatus();
  }

  const TrainerRequest request_;
  const Specification& spec_;
  const std::string behaviour_;
  const int events_;
};

// Returns in the processes that are forked.
void ServeAsTold() {
  const std::string how = std::getenv(kForks);
  if (how == "ends") std::exit(3);
  while (how == "mute") pause();
  if (how == "thread") std::thread([] { pause(); }).detach();
  const auto is_member = trainer::ServeForks(STDIN_FILENO);
  if (!is_member.ok() || !*is_member) _exit(is_member.ok() ? 0 : 1);
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--describe") return Describe();
  if (mode == "--probe") return Probe(argc > 2 ? argv[2] : "");
  if (mode == "--serve-forks") ServeAsTold();
  struct sigaction action = {};
  action.sa_handler = OnTerm;
  sigaction(SIGTERM, &action, nullptr);
  const char* events = std::getenv("NOISEFLOOR_EVENTS");
  std::string line;
  if (events == nullptr || !std::getline(std::cin, line)) return 2;
  auto request = RequestFromJson(line);
  if (!request.ok()) {
    std::cerr << request.status() << std::endl;
    return ExitCodeOf(CauseClass::kBadSpecification);
  }
  return FakeTrainer(*std::move(request), std::atoi(events)).Run();
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) { return noisefloor::Main(argc, argv); }
