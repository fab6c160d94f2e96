#include "coordinator/manifest/systemd.h"

#include <algorithm>
#include <cctype>

#include "fmt/format.h"

#include "common/base/check.h"
#include "common/base/names.h"
#include "coordinator/manifest/worker_words.h"

namespace noisefloor {

namespace {

// As the unit has it, which is enough for the worker's own grace.
constexpr int64_t kUnitDrainSeconds = 300;
constexpr int64_t kLastWordsSeconds = 40;
constexpr size_t kLongestName = 40;

// Once, and it is there: the unit is ours.
void Replace(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  NF_CHECK(at != std::string::npos);
  text.replace(at, from.size(), to);
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string Options(const SystemdWish& wish) {
  std::vector<std::string> words;
  if (wish.idle_seconds > 0) words.push_back(fmt::format("--idle-timeout={}", wish.idle_seconds));
  if (wish.grace_seconds > 0) words.push_back(fmt::format("--grace={}", wish.grace_seconds));
  for (const std::string& word : ClassWords(wish.hardware, wish.gpus_per_slot)) {
    words.push_back(word);
  }
  words.insert(words.end(), wish.worker_options.begin(), wish.worker_options.end());
  std::string text;
  for (const std::string& word : words) text += " " + UnitWord(word);
  return text;
}

// Who may read the access file: the unit says it.
std::string GroupOf(std::string_view unit) {
  constexpr std::string_view kLine = "\nSupplementaryGroups=";
  const size_t at = unit.find(kLine);
  NF_CHECK(at != std::string_view::npos);
  const std::string_view rest = unit.substr(at + kLine.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

std::string Head(const SystemdWish& wish) {
  const std::string unit = fmt::format("noisefloor-worker-{}.service", wish.name);
  const std::string file = CommentWord(wish.access.empty() ? "worker.access" : wish.access);
  const std::string group = GroupOf(WorkerUnit());
  return fmt::format(
      "# Worker HOST-{} of noisefloor. On its machine, as root, with {} brought there:\n"
      "#   groupadd --system --force {}\n"
      "#   install -D -g {} -m 0640 worker.access /etc/noisefloor/worker.access\n"
      "#   install -m 0644 FILE /etc/systemd/system/{}\n"
      "#   systemctl daemon-reload\n"
      "#   systemctl enable --now {}\n",
      wish.name, file, group, group, unit, unit);
}

}  // namespace

std::string UnitWord(std::string_view text, bool variables) {
  const bool simple = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./=:,+@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (simple) return std::string(text);
  std::string word = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') word += '\\';
    if (c == '%' || (variables && c == '$')) word += c;
    word += c;
  }
  return word + "\"";
}

absl::Status Check(const SystemdWish& wish) {
  NF_RETURN_IF_ERROR(CheckWorkersName(wish.name, kLongestName));
  if (!wish.hardware.empty() && !IsName(wish.hardware)) {
    return InvalidInput(fmt::format("--class={}: expected {}", wish.hardware, kNameRule));
  }
  NF_RETURN_IF_ERROR(CheckText("--program", wish.program));
  NF_RETURN_IF_ERROR(
      CheckVariables(wish.variables, {"NOISEFLOOR_ACCESS", "HOME", "NOISEFLOOR_DRAIN_SECONDS"}));
  std::vector<std::string> ours = {"--name",          "--host",         "--state",
                                   "--drain-timeout", "--idle-timeout", "--grace"};
  if (!wish.hardware.empty()) ours.insert(ours.end(), {"--classes", "--declare"});
  if (wish.gpus_per_slot > 1) ours.emplace_back("--gpus-per-slot");
  return CheckWorkerOptions(wish.worker_options, ours);
}

std::string SystemdUnit(const SystemdWish& wish) {
  std::string text(WorkerUnit());
  ReplaceAll(text, "%i", wish.name);  // First: what is put in may have one of its own.
  Replace(text, "ExecStart=noisefloor-worker ", "ExecStart=" + UnitWord(wish.program) + " ");
  Replace(text, " $NOISEFLOOR_WORKER_OPTIONS", Options(wish));
  if (wish.grace_seconds > 0) {
    Replace(text, "TimeoutStopSec=360s",
            fmt::format("TimeoutStopSec={}s",
                        kUnitDrainSeconds + 2 * wish.grace_seconds + kLastWordsSeconds));
  }
  std::string more;
  for (const auto& [name, value] : wish.variables) {
    more += "Environment=" + UnitWord(name + "=" + value, /*variables=*/false) + "\n";
  }
  Replace(text, "DynamicUser=yes\n", more + "DynamicUser=yes\n");
  return Head(wish) + text;
}

}  // namespace noisefloor
