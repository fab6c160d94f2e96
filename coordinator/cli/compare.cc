#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/export_files.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/read_only_home.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/exports/read_export.h"
#include "coordinator/report/gate_forms.h"

namespace noisefloor::cli {

namespace {

struct MarginName {
  const char* name;
  double report::Margins::*margin;
};
constexpr MarginName kMargins[] = {{"churn", &report::Margins::churn},
                                   {"top1", &report::Margins::top1},
                                   {"shift", &report::Margins::shift}};

// "0.5%" or "0.005": a fraction of the answers, above 0 and at most 1.
std::optional<double> ParseFraction(std::string text) {
  const bool percent = text.ends_with("%");
  if (percent) text.pop_back();
  char* end = nullptr;
  double value = text.empty() ? 0 : std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  if (percent) value /= 100;
  return value > 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

// "churn=0.5%"
absl::Status ReadMargin(const std::string& text, report::Margins& margins) {
  const size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const auto* known = std::ranges::find(kMargins, name, &MarginName::name);
  const std::optional<double> value =
      sign == std::string::npos ? std::nullopt : ParseFraction(text.substr(sign + 1));
  if (known == std::end(kMargins) || !value) {
    return InvalidInput(fmt::format(
        "--margin={}: expected churn, top1 or shift with a share of the answers, such as "
        "churn=0.5%",
        text));
  }
  margins.*(known->margin) = *value;
  return absl::OkStatus();
}

class Compare final : public Command {
 public:
  std::string_view Name() const override { return "compare"; }
  std::string_view Help() const override {
    return "Tell whether one sweep's results are equivalent to another's: pass, fail or "
           "inconclusive";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor compare s1 s2
  noisefloor compare baseline/ s2 --margin=churn=0.5%,top1=0.3%
  noisefloor compare old-driver/ new-driver/ --same-bits --junit=gate.xml --page=gate.html
  noisefloor compare s1 s1 --hardware-a=cpu-amd-sse --hardware-b=cpu-amd-avx2
  noisefloor compare s1 s1 --stack-a=torch-2.7-cu126 --stack-b=torch-2.11-cu130

s1 is a sweep; anything else, such as ./s1, is a folder that export wrote. Exits with 0 when B
passes, 5 when it fails, 6 when that is not decided.)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("a", a_, "what is trusted: a sweep, such as s3, or an exported one")
        ->required()
        ->type_name("A");
    app.add_option("b", b_, "what is in question")->required()->type_name("B");
    app.add_option("--margin", margins_,
                   "how far B may be from A, in answers (default: churn=1%,top1=0.5%,shift=1%)")
        ->delimiter(',')
        ->type_name("FIGURE=SHARE,...");
    app.add_option("--plan", options_.plan, "only this plan")->type_name("PLAN");
    app.add_option("--hardware-a", options_.a.hardware, "only this class of A")->type_name("CLASS");
    app.add_option("--hardware-b", options_.b.hardware, "only this class of B")->type_name("CLASS");
    app.add_option("--stack-a", options_.a.stack, "only this stack of A")->type_name("STACK");
    app.add_option("--stack-b", options_.b.stack, "only this stack of B")->type_name("STACK");
    app.add_flag("--same-bits", options_.same_bits,
                 "where a plan leaves nothing to chance, other bits are a failure");
    app.add_option("--junit", junit_, "write the figures as test cases for a build server")
        ->type_name("FILE");
    app.add_option("--page", page_, "write one page of HTML")->type_name("FILE");
  }

  absl::StatusOr<int> Run(Context& context) override {
    for (const std::string& margin : margins_) {
      NF_RETURN_IF_ERROR(ReadMargin(margin, options_.margins));
    }
    const StopSignal stop;  // What is written aside has to go.
    const absl::StatusOr<exports::ExportedStudy> a = Load(context, a_, stop);
    if (stop.Requested()) return kStopped;
    NF_RETURN_IF_ERROR(a.status());
    const absl::StatusOr<exports::ExportedStudy> b = Load(context, b_, stop);
    if (stop.Requested()) return kStopped;
    NF_RETURN_IF_ERROR(b.status());
    NF_ASSIGN_OR_RETURN(const report::Gate gate,
                        report::CompareStudies(a->input, b->input, options_));
    if (!junit_.empty()) {
      NF_RETURN_IF_ERROR(WriteFileAtomically(junit_, report::GateJUnit(gate)));
    }
    if (!page_.empty()) NF_RETURN_IF_ERROR(WriteFileAtomically(page_, report::GatePage(gate)));
    if (context.Json()) {
      WriteRaw(context.out, report::GateJson(gate));
    } else {
      const report::Screen screen = {
          .colour = context.Colour() ? report::Colour::kOn : report::Colour::kOff,
          .columns = context.out_columns};
      WriteColoured(context.out, report::GateText(gate, screen));
    }
    switch (gate.verdict) {
      case report::Verdict::kPass: return kDone;
      case report::Verdict::kFail: return kDidNotHold;
      case report::Verdict::kInconclusive: break;
    }
    return kUndecided;
  }

 private:
  // A sweep is written aside first: whichever coordinator it is of, it is read like an export.
  static absl::StatusOr<exports::ExportedStudy> Load(Context& context, const std::string& side,
                                                     const StopSignal& stop) {
    const std::optional<SweepId> sweep = ParseSweepId(side);
    if (!sweep) {
      if (PathExists(side)) return exports::ReadExport(side);
      return InvalidInput(
          fmt::format("{}: expected a sweep, such as s3, or a folder that export wrote", side));
    }
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const std::string folder, MakeTemporaryHome());
    const absl::Cleanup remove = [&] { (void)RemoveTree(folder); };
    NF_ASSIGN_OR_RETURN(
        const Exported exported,
        WriteExport(context, connection, sweep->value, ExportWish::kToCompare, folder, &stop));
    if (exported.inference) {
      return InvalidInput(side + ": it evaluates weights that others trained; compare those");
    }
    return exports::ReadExport(folder);  // Its files stay mapped after they are removed.
  }

  std::string a_;
  std::string b_;
  std::string junit_;
  std::string page_;
  std::vector<std::string> margins_;
  report::GateOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeCompare() { return std::make_unique<Compare>(); }

}  // namespace noisefloor::cli
