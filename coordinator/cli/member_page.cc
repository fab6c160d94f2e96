#include "coordinator/cli/member_page.h"

#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/base/printable.h"
#include "coordinator/cli/member_json.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/table.h"

namespace noisefloor::cli {

namespace {

// Nothing where there is nothing to tell.
void PrintPart(const Context& context, const Table& table) {
  if (table.empty()) return;
  context.out << "\n";
  table.Print(context);
}

void PrintWhat(const Context& context, const v1::Member& member) {
  Table table({member.id(), StateText(member)});
  table.Add({"plan", fmt::format("{}, block {}, replicate {}", member.plan(), member.block(),
                                 member.replicate())});
  table.Add({"axes", AxesText(member)});
  table.Add({"hardware", OrDash(member.hardware())});
  table.Add({"stack", OrDash(member.stack())});
  table.Add({"worker", OrDash(member.worker())});
  table.Add({"attempt", std::to_string(member.attempt())});
  table.Add({"specification", OrDash(member.specification_sha256())});
  const v1::Outcome& outcome = member.outcome();
  if (!outcome.data_identity().empty()) table.Add({"data", outcome.data_identity()});
  if (!outcome.cause().empty()) table.Add({"cause", outcome.cause()});
  if (!outcome.message().empty()) table.Add({"message", outcome.message()});
  if (outcome.train_seconds() > 0) table.Add({"trained", DurationText(outcome.train_seconds())});
  table.Print(context);
}

// Whole: a summary would hide what two members differ by.
void PrintOutcome(const Context& context, const v1::Outcome& outcome) {
  Table metrics({"metric", "value"});
  const std::map<std::string, double> values(outcome.metrics().begin(), outcome.metrics().end());
  for (const auto& [name, value] : values) metrics.Add({name, fmt::format("{}", value)});
  PrintPart(context, metrics);

  Table hashes({"hash", "SHA-256"});
  const std::map<std::string, std::string> sorted(outcome.hashes().begin(), outcome.hashes().end());
  for (const auto& [name, hash] : sorted) hashes.Add({name, hash});
  PrintPart(context, hashes);

  Table files({"file", "bytes", "SHA-256", "there"});
  for (const v1::Artifact& artifact : outcome.artifacts()) {
    const int64_t collected = artifact.collected_unix_seconds();
    files.Add({artifact.kind(), std::to_string(artifact.size()), artifact.sha256(),
               collected == 0 ? "yes" : "until " + TimeText(collected)});
  }
  PrintPart(context, files);
}

}  // namespace

std::string StateText(const v1::Member& member) {
  std::string text(Shown(member.state()));
  if (member.state() == v1::MEMBER_STATE_LEASED && member.step_count() > 0) {
    text += fmt::format(" {} %", 100 * member.step() / member.step_count());
  }
  if (member.state() == v1::MEMBER_STATE_FAILED) text += ": " + member.outcome().cause();
  return text;
}

std::string AxesText(const v1::Member& member) {
  std::string text;
  for (const v1::Setting& axis : member.axes()) text += (text.empty() ? "" : " ") + ToText(axis);
  return OrDash(text);
}

void PrintMember(const Context& context, const v1::GetMemberResponse& answer) {
  const v1::Member& member = answer.member();
  PrintWhat(context, member);

  Table sources({"source", "state", "lane", "seed"});
  const std::map<std::string, v1::SourceLane> lanes(member.sources().begin(),
                                                    member.sources().end());
  for (const auto& [source, lane] : lanes) {
    const bool acts = lane.state() != v1::SOURCE_STATE_OFF;
    sources.Add({source, std::string(Name(lane.state())), acts ? std::to_string(lane.lane()) : "-",
                 acts ? std::to_string(lane.seed()) : "-"});
  }
  PrintPart(context, sources);
  PrintOutcome(context, member.outcome());

  if (answer.history().empty()) return;
  context.out << "\n";
  for (const std::string& line : answer.history())

    context.out << Wrapped(PrintableLine(line), context.out_columns);
}

}  // namespace noisefloor::cli
