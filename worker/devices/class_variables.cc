#include "worker/devices/class_variables.h"

#include "fmt/format.h"

#include "common/base/check.h"

namespace noisefloor {

namespace {

std::string ToLine(std::string_view name, const ClassRequest& request) {
  const absl::StatusOr<Variables> variables = VariablesOf(request);
  NF_CHECK(variables.ok());
  std::string line(name);
  for (const auto& [key, value] : *variables) line += fmt::format(" {}={}", key, value);
  return line + "\n";
}

}  // namespace

absl::StatusOr<Variables> VariablesOf(const ClassRequest& request) {
  NF_ASSIGN_OR_RETURN(HardwareClass hardware,
                      ParseHardwareClass(request.hardware_class, request.kernels_fixed));
  if (!hardware.gpu) return std::move(hardware.variables);
  if (request.gpu_uuid.empty()) {
    return InvalidInput(
        fmt::format("hardware class '{}': this slot has no GPU", request.hardware_class));
  }
  hardware.variables["CUDA_VISIBLE_DEVICES"] = request.gpu_uuid;
  return std::move(hardware.variables);
}

std::string VariablesTable() {
  std::string table;
  for (const std::string& name : AllCpuClasses()) table += ToLine(name, {.hardware_class = name});
  for (const bool fixed : {true, false}) {
    table += ToLine(fixed ? "nvidia fixed" : "nvidia free",
                    {.hardware_class = "nvidia-any", .gpu_uuid = "UUID", .kernels_fixed = fixed});
  }
  return table;
}

}  // namespace noisefloor
