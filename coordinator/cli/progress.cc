#include "coordinator/cli/progress.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

constexpr int kPlaces = 20;
constexpr std::string_view kClearLine = "\r\033[K";

double Share(const v1::SweepSummary& sweep) {
  const uint32_t members = MemberCount(sweep);
  if (members == 0 || HasEnded(sweep)) return 1;
  return std::clamp(sweep.progress() / members, 0.0, 1.0);
}

uint32_t Ended(const v1::SweepSummary& sweep) {
  return sweep.done() + sweep.diverged() + sweep.failed() + sweep.cancelled();
}

bool IsTrouble(const std::string& line) {
  return line.find(" failed") != std::string::npos || line.find(" diverged") != std::string::npos ||
         line.find(" lost") != std::string::npos;
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
  const double share = Share(sweep);
  const int twentieths = static_cast<int>(share * kPlaces);
  const std::string remaining = Remaining(sweep, now);
  std::string text = fmt::format("{}/{} members  {:3.0f} %", Ended(sweep), MemberCount(sweep),
                                 std::floor(100 * share));
  if (!remaining.empty()) text += "  " + remaining + " left";
  if (sweep.failed() > 0) text += fmt::format("  {} failed", sweep.failed());
  if (!running.empty()) text += "  " + RunningText(running);
  if (settings_.terminal) {
    text = Bar(share) + " " + text;
    if (text.size() >= static_cast<size_t>(settings_.width)) text.resize(settings_.width - 1);
    out_ << kClearLine << text << std::flush;
    drawn_ = true;
  } else if (twentieths > plain_twentieths_) {
    plain_twentieths_ = twentieths;
    out_ << text << "\n" << std::flush;
  }
}

void Progress::PrintLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (!settings_.all_lines && !IsTrouble(line)) continue;
    Finish();
    out_ << line << "\n";
  }
}

std::string Progress::Remaining(const v1::SweepSummary& sweep, absl::Duration now) {
  if (!first_progress_) {
    first_progress_ = sweep.progress();
    first_time_ = now;
  }
  const double gained = sweep.progress() - *first_progress_;
  const double elapsed = absl::ToDoubleSeconds(now - first_time_);
  if (HasEnded(sweep) || gained <= 0 || elapsed < 1) return "";
  return "about " + DurationText(elapsed * (MemberCount(sweep) - sweep.progress()) / gained);
}

void Progress::Finish() {
  if (drawn_) out_ << (settings_.all_lines ? kClearLine : std::string_view("\n"));
  drawn_ = false;
}

}  // namespace noisefloor::cli
