#include "tests/worker/trainer/cuda/ptx_scan.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

namespace noisefloor::cuda {

namespace {

// The operation of a line with its modifiers, without a guard; "" when it is none.
std::string OperationOf(const std::string& line) {
  static const std::regex instruction(R"(^\s*(@!?%\w+\s+)?([a-z][a-z0-9_]*(\.[\w:]+)+)\s)");
  std::smatch match;
  return std::regex_search(line, match, instruction) ? match[2].str() : "";
}

bool IsAtomic(const std::string& operation) {
  return operation.starts_with("atom.") || operation.starts_with("red.");
}

std::optional<std::string> WrongWith(const std::string& operation) {
  static const std::regex is_float(R"(\.(f32|f64|f32x2)$)");
  static const std::regex rounds(R"(\.(rn|rz|rm|rp)\.)");
  static const std::regex half(R"(\.(f16|bf16|f16x2|bf16x2|tf32|e4m3|e5m2)\b)");
  const bool of_floats = std::regex_search(operation, is_float);
  const auto begins = [&](const char* name) { return operation.starts_with(name); };
  if (begins("fma.")) return "contraction";
  if (of_floats && begins("mad.")) return "contraction";
  if (of_floats && (begins("add.") || begins("sub.") || begins("mul.")) &&
      !std::regex_search(operation, rounds)) {
    return "the assembler may contract it";
  }
  if (operation.find(".ftz") != std::string::npos) return "flush to zero";
  if (operation.find(".approx") != std::string::npos) return "an approximation";
  if (begins("div.full")) return "an approximation";
  if (std::regex_search(operation, half)) return "less than single precision";
  return std::nullopt;
}

}  // namespace

PtxScan ScanPtx(std::string_view text, const std::function<bool(std::string_view)>& may_be_noisy) {
  static const std::regex entry(R"(\.entry\s+(\w+))");
  static const std::regex function(R"(\.func\b)");
  PtxScan scan;
  std::string kernel = "(none)";
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) {
      kernel = match[1].str();
      scan.kernels.push_back(kernel);
    } else if (std::regex_search(line, function)) {
      kernel = "(function)";
    }
    const std::string operation = OperationOf(line);
    if (operation.empty()) continue;
    if (const auto wrong = WrongWith(operation)) {
      scan.findings.push_back(kernel + ": " + operation + ": " + *wrong);
    }
    if (!IsAtomic(operation)) continue;
    if (std::ranges::find(scan.atomics, kernel) == scan.atomics.end()) {
      scan.atomics.push_back(kernel);
    }
    if (!may_be_noisy(kernel)) {
      scan.findings.push_back(kernel + ": " + operation +
                              ": an atomic in a kernel that is not noisy");
    }
  }
  return scan;
}

}  // namespace noisefloor::cuda
