#include "coordinator/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/ascii.h"
#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/base/printable.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/terminal_text.h"

namespace noisefloor::cli {

namespace {

constexpr int kPlaces = 20;
constexpr int kMostAlike = 3;  // Lines alike that are printed; the end counts them all.
constexpr double kLeastPaceSeconds = 3;

uint32_t Ended(const v1::SweepSummary& sweep) {
  return sweep.done() + sweep.diverged() + sweep.failed();
}

// What a sweep that goes well says of each member: "s1c0r0 attempt 1 on box", "s1c0r0 done on box".
bool IsRoutine(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || !ParseMemberId(line.substr(0, space))) return false;
  const std::string_view rest = line.substr(space);
  const bool other_build = rest.find(", with another trainer build") != std::string_view::npos;
  return rest.starts_with(" done on ") || (rest.starts_with(" attempt ") && !other_build);
}

// The line without its numbers, which tell members and times apart.
std::string Kind(std::string_view line) {
  std::string kind;
  std::ranges::copy_if(line, std::back_inserter(kind),
                       [](unsigned char c) { return !absl::ascii_isdigit(c); });
  return kind;
}

std::string RunningText(const std::vector<std::string>& running) {
  std::string text;
  for (size_t i = 0; i < running.size() && i < 3; ++i) text += (i ? ", " : "") + running[i];
  if (running.size() > 3) text += fmt::format(" and {} more", running.size() - 3);
  return text;
}

}  // namespace

std::string Bar(double share) {
  const int full = std::clamp(static_cast<int>(share * kPlaces), 0, kPlaces);
  return "[" + std::string(full, '#') + std::string(kPlaces - full, '.') + "]";
}

void Progress::Show(const v1::SweepSummary& sweep, const std::vector<std::string>& lines,
                    const std::vector<std::string>& running, absl::Duration now) {
  PrintLines(lines);
  const double share = ShareDone(sweep);
  const int twentieths = static_cast<int>(share * kPlaces);
  const std::string remaining = Remaining(sweep, now);
  std::string text = fmt::format("{}/{} members  {:3.0f} %", Ended(sweep), MemberCount(sweep),
                                 std::floor(100 * share));
  if (!remaining.empty()) text += "  " + remaining + " left";
  if (sweep.failed() > 0) text += fmt::format("  {} failed", sweep.failed());
  if (sweep.cancelled() > 0) text += fmt::format("  {} cancelled", sweep.cancelled());
  if (!running.empty()) text += "  " + RunningText(running);
  if (settings_.terminal) {
    text = Bar(share) + " " + text;
    if (text.size() >= static_cast<size_t>(settings_.width)) text.resize(settings_.width - 1);
    out_ << Style::kClearLine << text << std::flush;
    drawn_ = true;
  } else if (twentieths > plain_twentieths_) {
    plain_twentieths_ = twentieths;
    out_ << text << "\n" << std::flush;
  }
}

void Progress::PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (settings_.all_lines) {
      Note(out_, line);
    } else if (!IsRoutine(line)) {
      const int alike = ++repeated_[Kind(line)];
      if (alike > kMostAlike) continue;
      Note(out_, line);
      if (alike == kMostAlike) Note(out_, "more lines like this one are left out");
    }
  }
}

void Progress::Note(std::ostream& out, const std::string& line) {
  if (drawn_) out_ << Style::kClearLine << std::flush;
  drawn_ = false;
  out << PrintableLine(line) << "\n" << std::flush;
}

std::string Progress::Remaining(const v1::SweepSummary& sweep, absl::Duration now) {
  if (!at_first_) at_first_ = sweep.progress();
  if (!first_progress_) {
    if (sweep.progress() <= *at_first_) return "";
    first_progress_ = sweep.progress();
    first_time_ = now;
  }
  const double gained = sweep.progress() - *first_progress_;
  const double elapsed = absl::ToDoubleSeconds(now - first_time_);
  if (HasEnded(sweep) || gained <= 0 || elapsed < kLeastPaceSeconds) return "";
  const double left = MemberCount(sweep) - sweep.cancelled() - sweep.progress();
  return "about " + DurationText(elapsed * std::max(left, 0.0) / gained);
}

void Progress::Finish() {
  if (drawn_ && settings_.all_lines) {
    out_ << Style::kClearLine << std::flush;
  } else if (drawn_) {
    out_ << "\n";
  }
  drawn_ = false;
}

}  // namespace noisefloor::cli
