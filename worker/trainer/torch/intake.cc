#include "worker/trainer/torch/intake.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/base/seed.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/training.h"
#include "worker/devices/cpu.h"
#include "worker/trainer/torch/facts/hardware.h"
#include "worker/trainer/torch/step/stop.h"

namespace noisefloor::trainer {

namespace {
constexpr size_t kMostRequestBytes = 4 << 20;

// As it was written before there were settings that it leaves at their defaults.
std::string JsonOf02(const Specification& specification) {
  Training training = TrainingOf(specification);
  std::erase_if(training.settings, [](const Setting& setting) {
    return SettingsOf02()->Find(setting.first) == nullptr &&
           OwnSchema()->Find(setting.first)->otherwise == setting.second;
  });
  return TrainingToJson(training);
}

// What this program makes of the specification must be what its hash was taken of.
absl::Status CheckHash(const TrainerRequest& request) {
  const std::string& said = request.specification_sha256;
  if (said.empty() || Sha256Hex(SpecificationToJson(request.specification)) == said ||
      Sha256Hex(JsonOf02(request.specification)) == said) {
    return absl::OkStatus();
  }
  return InvalidInput("specification: it does not have the hash that came with it");
}

// LibTorch obeys the class's variables without a look at the processor, and dies of them.
absl::Status CheckCpu(const std::string& hardware_class) {
  const std::string lacking = LackingSet(ReadCpuFacts(), hardware_class);
  if (lacking.empty()) return absl::OkStatus();
  return InvalidInput("hardware_class: " + hardware_class + ": this processor has no " + lacking);
}

}  // namespace

absl::StatusOr<TrainerRequest> ReadRequest(int file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (text.find('\n') == std::string::npos) {
    if (!WaitUnlessStopped(file)) {
      return MakeError(absl::StatusCode::kCancelled, "asked to stop while waiting");
    }
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return InvalidInput(std::string("reading the request: ") + std::strerror(errno));
    if (n == 0) break;
    text.append(buffer.data(), static_cast<size_t>(n));
    if (text.size() > kMostRequestBytes) {
      return InvalidInput("the request is larger than " + std::to_string(kMostRequestBytes) +
                          " bytes");
    }
  }
  if (text.empty()) return InvalidInput("no request on standard input; see --help");
  NF_ASSIGN_OR_RETURN(TrainerRequest request, RequestFromJson(text.substr(0, text.find('\n'))));
  NF_RETURN_IF_ERROR(CheckHash(request));
  return request;
}

absl::StatusOr<TrainerRequest> RequestOf(const Options& options) {
  NF_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(options.specification_file, kMostRequestBytes));
  auto specification = SpecificationFromJson(text);
  if (!specification.ok()) return Annotate(specification.status(), options.specification_file);
  const absl::Status made = CreateDirectories(options.work_directory);
  if (!made.ok()) return MakeError(absl::StatusCode::kUnavailable, Message(made));
  TrainerRequest request;
  request.member = "s0c0r0";
  request.specification = *std::move(specification);
  request.data_root = options.data_root;
  request.work_directory = options.work_directory;
  request.write_evaluation_set = options.write_evaluation_set;
  request.weights = options.weights;
  return request;
}

Specification ExampleSpecification() {
  Specification specification;
  for (const NoiseSource source : kAllNoiseSources) {
    SourceSpec& spec = specification.Source(source);
    spec.state = IsOffUnlessAsked(source) ? SourceState::kOff : SourceState::kFixed;
    spec.seed = DeriveSeed(/*sweep_seed=*/0, source, spec.lane);
  }
  specification.train.optimizer.momentum = 0.9;
  return specification;
}

absl::Status BecomeClass(const Specification& specification, char** argv) {
  NF_ASSIGN_OR_RETURN(const HardwareClass hardware, HardwareOf(specification));
  NF_RETURN_IF_ERROR(CheckCpu(specification.hardware_class));
  bool changed = false;
  for (const auto& [name, wanted] : hardware.variables) {
    const char* value = std::getenv(name.c_str());
    if (value != nullptr && wanted == value) continue;
    setenv(name.c_str(), wanted.c_str(), /*replace=*/1);
    changed = true;
  }
  if (!changed) return absl::OkStatus();
  execv("/proc/self/exe", argv);
  return MakeError(
      absl::StatusCode::kInternal,
      std::string("starting anew with the class's variables: ") + std::strerror(errno));
}

}  // namespace noisefloor::trainer
