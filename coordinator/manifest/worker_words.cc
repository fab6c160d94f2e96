#include "coordinator/manifest/worker_words.h"

#include <algorithm>
#include <cctype>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "coordinator/access/token.h"
#include "coordinator/slurm/script.h"

namespace noisefloor {

namespace {

// As in pools of Slurm: so long a worker looks for a coordinator that is not there.
constexpr int64_t kGiveUpSeconds = 30 * 60;

bool IsVariable(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::string_view NameOf(std::string_view option) { return option.substr(0, option.find('=')); }

}  // namespace

std::vector<std::string> LeavingWords(int64_t idle_seconds) {
  std::vector<std::string> words = {"--state-temporary",
                                    fmt::format("--drain-timeout={}", kDrainSeconds),
                                    fmt::format("--give-up-after={}", kGiveUpSeconds)};
  if (idle_seconds > 0) words.push_back(fmt::format("--idle-timeout={}", idle_seconds));
  return words;
}

std::vector<std::string> ClassWords(const std::string& hardware, uint32_t gpus_per_slot) {
  if (hardware.empty()) return {};
  std::vector<std::string> words = {"--classes=" + hardware};
  if (gpus_per_slot > 1) words.push_back(fmt::format("--gpus-per-slot={}", gpus_per_slot));
  return words;
}

absl::Status CheckWorkerOptions(const std::vector<std::string>& options,
                                const std::vector<std::string>& ours) {
  for (const std::string& option : options) {
    NF_RETURN_IF_ERROR(CheckText("--worker", option));
    if (!option.starts_with("--") || option.size() < 3) {
      return InvalidInput(fmt::format(
          "--worker={}: expected an option of noisefloor-worker, as --worker=--slots=2", option));
    }
    if (std::ranges::find(ours, NameOf(option)) == ours.end()) continue;
    return InvalidInput(fmt::format("--worker={}: {} is said already", option, NameOf(option)));
  }
  return absl::OkStatus();
}

absl::Status CheckWorkersName(std::string_view name, size_t longest) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  const bool good = !name.empty() && name.size() <= longest && !name.ends_with('-') &&
                    kLetters.find(name.front()) != std::string_view::npos &&
                    name.find_first_not_of(kAllowed) == std::string_view::npos;
  if (good) return absl::OkStatus();
  return InvalidInput(fmt::format(
      "name: expected lower-case letters, digits and '-', a letter first, at most {}, got \"{}\"",
      longest, PrintableLine(name)));
}

absl::Status CheckVariables(const std::vector<std::pair<std::string, std::string>>& variables,
                            const std::vector<std::string>& ours) {
  std::vector<std::string> taken = ours;
  for (const auto& [name, value] : variables) {
    NF_RETURN_IF_ERROR(CheckText("--env", name + "=" + value));
    if (!IsVariable(name)) {
      return InvalidInput(fmt::format("--env={}={}: expected NAME=VALUE", name, value));
    }
    if (std::ranges::find(taken, name) != taken.end()) {
      return InvalidInput(fmt::format("--env={}={}: {} is said already", name, value, name));
    }
    taken.push_back(name);
  }
  return absl::OkStatus();
}

absl::Status CheckText(std::string_view option, std::string_view text) {
  if (text.find(access::kTokenPrefix) != std::string_view::npos) {
    return InvalidInput(fmt::format(
        "{}: holds a token; expected it in the access file alone, which is mounted", option));
  }
  if (PrintableLine(text) == text) return absl::OkStatus();
  return InvalidInput(
      fmt::format("{}={}: expected UTF-8 on one line", option, PrintableLine(text)));
}

std::string CommentWord(const std::string& text) {
  const bool simple = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./~").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return simple && !text.empty() ? text : ShellQuoted(PrintableLine(text));
}

}  // namespace noisefloor
