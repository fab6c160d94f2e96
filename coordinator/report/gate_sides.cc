#include "coordinator/report/gate_sides.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"

#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

using Cells = std::vector<const CellFacts*>;

Cells Wanted(const Gathered& side, const GateOptions& options, const SideFilter& filter) {
  Cells wanted;
  for (const CellFacts& cell : side.cells) {
    const CellInput& input = *cell.input;
    const bool is_wanted = (options.plan.empty() || input.plan == options.plan) &&
                           (filter.hardware.empty() || input.hardware == filter.hardware) &&
                           (filter.stack.empty() || input.stack == filter.stack);
    if (is_wanted) wanted.push_back(&cell);
  }
  return wanted;
}

bool HasSeveral(const Cells& cells, std::string CellInput::*field) {
  std::set<std::string> values;
  // A cell that nobody has begun has no stack.
  for (const CellFacts* cell : cells) {
    if (!(cell->input->*field).empty()) values.insert(cell->input->*field);
  }
  return values.size() > 1;
}

int64_t ExamplesOf(const SetFacts& set) {
  return set.answers ? set.answers->examples() : static_cast<int64_t>(set.input->labels.size());
}

const SetFacts& TestedOn(const GateSide& side) { return side.gathered->sets[side.cells[0]->set]; }

bool HasOneSet(const GateSide& side) {
  return std::ranges::all_of(
      side.cells, [&](const CellFacts* cell) { return cell->set == side.cells[0]->set; });
}

bool AreAlike(const SetFacts& a, const SetFacts& b) {
  if (a.input->identity != b.input->identity || a.input->attributes != b.input->attributes) {
    return false;
  }
  const bool both_labelled = !a.input->labels.empty() && !b.input->labels.empty();
  if (both_labelled && a.input->labels != b.input->labels) return false;
  // Without an identity only the labels can tell.
  if (a.input->identity.empty() && !both_labelled) return false;
  return !a.answers || !b.answers || ExamplesOf(a) == ExamplesOf(b);
}

}  // namespace

ContrastSide GateSide::ForContrasts() const {
  ContrastSide side(*gathered);
  for (const CellFacts* cell : cells) side.Add(*cell);
  return side;
}

std::map<DrawId, const MemberInput*> GateSide::Done() const {
  std::map<DrawId, const MemberInput*> done;
  for (const CellFacts* cell : cells) {
    for (const size_t m : cell->done) {
      const MemberInput* member = gathered->members[m].input;
      done[{cell->input->block, member->replicate}] = member;
    }
  }
  return done;
}

MemberCounts GateSide::Counts() const {
  std::vector<size_t> members;
  for (const CellFacts* cell : cells) {
    members.insert(members.end(), cell->members.begin(), cell->members.end());
  }
  return CountMembers(*gathered, members);
}

bool GateSide::SharesDraws() const {
  return std::ranges::any_of(cells, [](const CellFacts* cell) { return !cell->shared.empty(); });
}

bool GateSide::IsUnderTrained() const {
  return std::ranges::any_of(cells, [](const CellFacts* cell) { return cell->under_trained; });
}

Sides SidesOf(const Gathered& a, const Gathered& b, const GateOptions& options) {
  const Cells wanted_a = Wanted(a, options, options.a);
  const Cells wanted_b = Wanted(b, options, options.b);
  const auto by = [&](std::string CellInput::*field) {
    return HasSeveral(wanted_a, field) || HasSeveral(wanted_b, field);
  };
  const bool by_class = by(&CellInput::hardware);
  const bool by_stack = by(&CellInput::stack);
  const auto sorted = [&](const Gathered& gathered, const Cells& cells) {
    std::map<MeetingKey, GateSide> sides;
    for (const CellFacts* cell : cells) {
      const CellInput& input = *cell->input;
      GateSide& side = sides[{input.plan, input.axes, by_class ? input.hardware : "",
                              by_stack ? input.stack : ""}];
      side.gathered = &gathered;
      side.cells.push_back(cell);
    }
    return sides;
  };
  return {sorted(a, wanted_a), sorted(b, wanted_b)};
}

bool ShareDraws(const GateSide& a, const GateSide& b) {
  if (a.gathered->input->sweep.seed != b.gathered->input->sweep.seed) return false;
  const auto of_b = b.Done();
  for (const auto& [draw, member] : a.Done()) {
    const auto same = of_b.find(draw);
    if (same != of_b.end() && same->second->lanes != member->lanes) return false;
  }
  return true;
}

absl::Status CheckAlike(const GateSide& a, const GateSide& b) {
  const CellFacts& first = *a.cells[0];
  if (first.input->sources != b.cells[0]->input->sources) {
    return InvalidInput(fmt::format("plan {}: its sources are not in the same states on A and B",
                                    first.input->plan));
  }
  if (a.Done().empty() || b.Done().empty()) return absl::OkStatus();  // Nor tested on anything.
  const SetFacts& of_a = TestedOn(a);
  const SetFacts& of_b = TestedOn(b);
  if (HasOneSet(a) && HasOneSet(b) && AreAlike(of_a, of_b)) return absl::OkStatus();
  const auto named = [](const SetFacts& set) {
    return fmt::format("{} {:.8}", Counted(ExamplesOf(set) / AnswersToOne(*set.input), "example"),
                       set.input->identity);
  };
  return InvalidInput(fmt::format("{}: A and B were tested on other examples (A: {}, B: {})",
                                  SettingOf(first), named(of_a), named(of_b)));
}

}  // namespace noisefloor::report
