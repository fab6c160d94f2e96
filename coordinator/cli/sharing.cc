#include "coordinator/cli/sharing.h"

#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/base/printable.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

void SharingOptions::Describe(CLI::App& app) {
  app.add_option("--priority", priority, "sweeps of a higher one go first (default: 0)")
      ->type_name("N")
      ->check(CLI::Range(-1000, 1000));
  app.add_option("--max-failures", max_failures,
                 "cancel what waits when so many members failed (default: 0, never)")
      ->type_name("N");
}

std::string SharingText(const v1::SweepSummary& sweep) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (sweep.paused()) add("paused");
  if (sweep.archived()) add("archived");
  if (sweep.priority() != 0) add(fmt::format("priority {}", sweep.priority()));
  if (sweep.max_failures() != 0) {
    add(fmt::format("stops at {}", Counted(sweep.max_failures(), "failed member")));
  }
  return text;
}

absl::StatusOr<int> ChangeSweep(Context& context, const std::string& sweep,
                                v1::UpdateSweepRequest change) {
  NF_ASSIGN_OR_RETURN(const uint64_t number, SweepNumber(sweep));
  NF_ASSIGN_OR_RETURN(Connection connection,
                      Connection::Open(context, {.home = Connection::Home::kToChange}));
  change.set_sweep_id(number);
  NF_ASSIGN_OR_RETURN(const v1::UpdateSweepResponse answer,
                      connection.Call(&Stub::UpdateSweep, change));
  const v1::SweepSummary& now = answer.sweep();
  if (context.Json()) {
    PrintJson(context.out, {{"sweep", SummaryJson(now)}});
    return kDone;
  }
  const std::string text = SharingText(now);
  context.out << "s" << number << " " << PrintableLine(now.name()) << ": "
              << (text.empty() ? "priority 0" : text) << "; " << CountsText(now) << "\n";
  return kDone;
}

}  // namespace noisefloor::cli
