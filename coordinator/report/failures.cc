#include "coordinator/report/failures.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

constexpr size_t kMostReasons = 20;

struct Reason {
  std::string text;
  std::vector<std::string> members;
};

// Of equal size, the reason of the first member first.
std::vector<Reason> ReasonsOf(const StudyInput& input) {
  std::vector<Reason> reasons;
  std::map<std::string, size_t> places;
  for (const MemberInput& member : input.members) {
    const std::string failure = FailureOf(member);
    if (failure.empty()) continue;
    const auto [place, added] = places.emplace(failure, reasons.size());
    if (added) reasons.push_back({failure, {}});
    reasons[place->second].members.push_back(member.id);
  }
  std::ranges::stable_sort(reasons, [](const Reason& a, const Reason& b) {
    return a.members.size() > b.members.size();
  });
  return reasons;
}

std::string Subject(const Reason& reason) {
  const size_t more = reason.members.size() - 1;
  return more == 0 ? reason.members[0] : fmt::format("{} and {} more", reason.members[0], more);
}

}  // namespace

std::string FailureOf(const MemberInput& member) {
  if (member.state != MemberState::kFailed) return "";
  const std::string cause = member.failure_cause.empty() ? "unknown" : member.failure_cause;
  return member.failure_message.empty() ? cause : cause + ": " + member.failure_message;
}

void AddFailures(const StudyInput& input, std::vector<Warning>& warnings) {
  const std::vector<Reason> reasons = ReasonsOf(input);
  for (size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    warnings.push_back({"warning", Subject(reasons[i]), "Failed, " + reasons[i].text});
  }
  if (reasons.size() <= kMostReasons) return;
  warnings.push_back(
      {"warning", "sweep",
       fmt::format("{} of failures are not shown; the members have them.",
                   Counted(static_cast<int64_t>(reasons.size() - kMostReasons), "more reason"))});
}

}  // namespace noisefloor::report
