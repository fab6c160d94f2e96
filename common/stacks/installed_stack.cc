#include "common/stacks/installed_stack.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostOfList = 10000;

bool AreEqual(const std::string& a, const std::string& b) {
  const auto hash_of_a = Sha256File(a);
  const auto hash_of_b = Sha256File(b);
  return hash_of_a.ok() && hash_of_b.ok() && *hash_of_a == *hash_of_b;
}

}  // namespace

std::string StacksFolder(const std::string& cache) {
  if (!cache.empty()) return cache + "/stacks";
  const char* home = std::getenv("HOME");
  return fmt::format("{}/.cache/noisefloor/stacks", home == nullptr ? "" : home);
}

std::string TrainerBeside(const std::string& program_folder, std::string_view stack) {
  const std::string base = program_folder + "/noisefloor-trainer";
  return stack == DefaultStack() ? base : fmt::format("{}-{}", base, stack);
}

bool HasLibTorch(const std::string& folder, const KnownStack& stack) {
  if (!PathExists(folder + "/torch/lib/libtorch_cpu.so")) return false;
  const auto list = ReadFile(folder + "/.libtorch", kMostOfList);
  // deploy/setup writes them in one line.
  return list.ok() && list->starts_with("torch==" + stack.libtorch);
}

absl::Status PlaceTrainer(const std::string& program_folder, const std::string& folder,
                          const KnownStack& stack) {
  if (!HasLibTorch(folder, stack)) {
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("stack {}: its LibTorch is not in {}; `noisefloor stacks install "
                                 "{}` gets it",
                                 stack.name, folder, stack.name));
  }
  const std::string program = TrainerBeside(program_folder, stack.name);
  if (!PathExists(program)) {
    return MakeError(absl::StatusCode::kNotFound,
                     fmt::format("stack {}: there is no trainer {}: this noisefloor was built "
                                 "without that stack",
                                 stack.name, program));
  }
  const std::string placed = PlacedTrainer(folder);
  if (AreEqual(program, placed)) return absl::OkStatus();
  NF_RETURN_IF_ERROR(CreateDirectories(folder + "/libexec"));
  // Beside it, then renamed: one that runs goes on.
  const std::string fresh = fmt::format("{}.new-{}", placed, getpid());  // Others may do the same.
  std::error_code error;
  fs::copy_file(program, fresh, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(fresh, placed, error);
  if (!error) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kPermissionDenied,
      fmt::format("stack {}: cannot write {}: {}", stack.name, placed, error.message()));
}

std::string PlacedTrainer(const std::string& folder) {
  return folder + "/libexec/noisefloor-trainer";
}

}  // namespace noisefloor
