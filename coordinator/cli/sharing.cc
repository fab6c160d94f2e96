#include "coordinator/cli/sharing.h"

#include <cmath>
#include <map>

#include "absl/strings/numbers.h"
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
  app.add_option("--weight", weight,
                 "its part of what its owner gets, against the owner's other sweeps (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  app.add_option("--max-failures", max_failures,
                 "cancel what waits when so many members failed (default: 0, never)")
      ->type_name("N");
  DescribeLimits(app, limits);
  app.add_option("--gpu-hours", gpu_hours,
                 "begin nothing more when its attempts have had so many (default: 0, no bound)")
      ->type_name("HOURS")
      ->check(Hours());
}

CLI::Validator Hours() {
  return {[](std::string& text) {
            double hours = 0;
            if (absl::SimpleAtod(text, &hours) && std::isfinite(hours) && hours >= 0) {
              return std::string();
            }
            return fmt::format("{}: expected hours, from 0 on; 0: no bound", PrintableLine(text));
          },
          ""};
}

void DescribeLimits(CLI::App& app, std::vector<std::string>& limits) {
  app.add_option("--limit", limits,
                 "so many of its members run at once on a hardware class; may be repeated")
      ->type_name("CLASS=N")
      ->allow_extra_args(false);
}

absl::Status TakeLimits(const std::vector<std::string>& limits, uint32_t least,
                        google::protobuf::Map<std::string, uint32_t>& into) {
  for (const std::string& limit : limits) {
    const size_t equals = limit.find('=');
    uint32_t most = 0;
    const bool number = equals != std::string::npos && equals > 0 &&
                        absl::SimpleAtoi(limit.substr(equals + 1), &most);
    if (!number || most < least) {
      return InvalidInput(fmt::format("--limit={}: expected CLASS=N, N a number from {}",
                                      PrintableLine(limit), least));
    }
    if (!into.insert({limit.substr(0, equals), most}).second) {
      return InvalidInput(
          fmt::format("--limit={}: its class is given twice", PrintableLine(limit)));
    }
  }
  return absl::OkStatus();
}

std::string SharingText(const v1::SweepSummary& sweep) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (sweep.paused()) add("paused");
  if (sweep.archived()) add("archived");
  if (sweep.priority() != 0) add(fmt::format("priority {}", sweep.priority()));
  if (sweep.weight() > 1) add(fmt::format("weight {}", sweep.weight()));
  if (sweep.max_failures() != 0) {
    add(fmt::format("stops at {}", Counted(sweep.max_failures(), "failed member")));
  }
  const std::map<std::string, uint32_t> limits(sweep.limits().begin(), sweep.limits().end());
  if (sweep.gpu_hours() != 0) {
    add(fmt::format("{:.1f} of {:g} GPU hours", sweep.gpu_hours_used(), sweep.gpu_hours()));
  }
  for (const auto& [hardware, most] : limits) {
    add(fmt::format("at most {} on {}", most, PrintableLine(hardware)));
  }
  return text;
}

void SayWhatStays(const Context& context, const SharingOptions& asked, uint64_t sweep) {
  const bool any = asked.priority != 0 || asked.weight != 0 || asked.max_failures != 0 ||
                   !asked.limits.empty() || asked.gpu_hours != 0;
  if (!any) return;
  context.err << fmt::format(
      "its priority, weight, max-failures, limits and GPU hours stay as they are; {} changes "
      "them\n",
      context.Hint(fmt::format("update s{}", sweep)));
}

absl::StatusOr<int> ChangeSweep(Context& context, const std::string& sweep,
                                v1::UpdateSweepRequest change) {
  NF_ASSIGN_OR_RETURN(const uint64_t number, RequiredSweepNumber(sweep));
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
