#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "fmt/format.h"

#include "common/base/ids.h"
#include "common/base/share.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/export_files.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/read_only_home.h"
#include "coordinator/cli/stop_signal.h"
#include "coordinator/cli/study_output.h"
#include "coordinator/cli/terminal_text.h"
#include "coordinator/inputs/read_export.h"
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

// "churn=0.5%"
absl::Status ReadMargin(const std::string& text, std::set<std::string>& given,
                        report::Margins& margins) {
  const size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  const auto* known = std::ranges::find(kMargins, name, &MarginName::name);
  if (known == std::end(kMargins)) {
    return InvalidInput(
        fmt::format("--margin={}: expected churn, top1 or shift, got '{}'", text, name));
  }
  if (!given.insert(name).second) {
    return InvalidInput(fmt::format("--margin: expected {} once", name));
  }
  const std::optional<double> value = sign == std::string::npos
                                          ? std::nullopt
                                          : ParseShare(std::string_view(text).substr(sign + 1));
  if (!value) {
    return InvalidInput(fmt::format(
        "--margin={}: expected a share of the answers above 0 and up to 50%, such as {}=0.5%", text,
        name));
  }
  margins.*(known->margin) = *value;
  return absl::OkStatus();
}

// Into the file, or into what is there and no file: a pipe, /dev/stdout.
absl::Status WriteTo(const std::string& path, const std::string& text) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found ||
      kind == std::filesystem::file_type::regular) {
    return WriteFileAtomically(path, text);
  }
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (out) return absl::OkStatus();
  return MakeError(absl::StatusCode::kUnavailable, path + ": cannot be written");
}

// What an earlier comparison wrote must not be taken for this one's.
void RemoveOld(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) std::filesystem::remove(path, error);
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
    std::set<std::string> given;
    for (const std::string& margin : margins_) {
      NF_RETURN_IF_ERROR(ReadMargin(margin, given, options_.margins));
    }
    NF_RETURN_IF_ERROR(CheckIsTwoFiles());
    for (const std::string& side : {a_, b_}) NF_RETURN_IF_ERROR(CheckIsThere(side));
    for (std::string* const path : {&junit_, &page_}) {
      if (path->empty()) continue;
      *path = LinkTarget(*path);
      NF_RETURN_IF_ERROR(CheckIsNoneOfAnExport(*path));
      RemoveOld(*path);
    }
    const StopSignal stop;  // What is written aside has to go.
    const absl::StatusOr<inputs::LoadedStudy> a = Load(context, a_, stop);
    if (stop.Requested()) return kStopped;
    NF_RETURN_IF_ERROR(a.status());
    const absl::StatusOr<inputs::LoadedStudy> b = Load(context, b_, stop);
    if (stop.Requested()) return kStopped;
    NF_RETURN_IF_ERROR(b.status());
    options_.a.from = From(a_);
    options_.b.from = From(b_);
    NF_ASSIGN_OR_RETURN(const report::Gate gate,
                        report::CompareStudies(a->input, b->input, options_));
    if (!junit_.empty()) {
      NF_RETURN_IF_ERROR(WriteTo(junit_, report::GateJUnit(gate)));
    }
    if (!page_.empty()) NF_RETURN_IF_ERROR(WriteTo(page_, report::GatePage(gate)));
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
  // Also when neither is there yet.
  absl::Status CheckIsTwoFiles() const {
    if (junit_.empty() || page_.empty()) return absl::OkStatus();
    std::error_code junit, page;
    const bool same = std::filesystem::weakly_canonical(junit_, junit) ==
                          std::filesystem::weakly_canonical(page_, page) &&
                      !junit && !page;
    if (!same && junit_ != page_) return absl::OkStatus();
    return InvalidInput("--junit and --page: expected two files, got one");
  }

  // Where an export lies; "" of a sweep.
  static std::string From(const std::string& side) { return ParseSweepId(side) ? "" : side; }

  // Before what an earlier comparison wrote is removed.
  static absl::Status CheckIsThere(const std::string& side) {
    if (ParseSweepId(side) || PathExists(side)) return absl::OkStatus();
    return LoadFolder(side).status();
  }

  // A sweep is written aside first: whichever coordinator it is of, it is read like an export.
  static absl::StatusOr<inputs::LoadedStudy> Load(Context& context, const std::string& side,
                                                  const StopSignal& stop) {
    const std::optional<SweepId> sweep = ParseSweepId(side);
    if (!sweep) return LoadFolder(side);
    if (sweep->value == 0) return InvalidInput("sweep s0: expected a number such as s3");
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    NF_ASSIGN_OR_RETURN(const std::string folder, MakeTemporaryHome());
    const absl::Cleanup remove = [&] { (void)RemoveTree(folder); };
    NF_RETURN_IF_ERROR(FetchAnswers(connection, sweep->value, folder, stop));
    return inputs::ReadExport(folder);  // Its files stay mapped after they are removed.
  }

  static absl::StatusOr<inputs::LoadedStudy> LoadFolder(const std::string& side) {
    if (!PathExists(side)) {
      return InvalidInput(fmt::format(
          "'{}': no such folder; expected a sweep, such as s3, or a folder that export wrote",
          side));
    }
    NF_ASSIGN_OR_RETURN(inputs::StudySource source, inputs::ReadSource(side));
    for (inputs::StudySource::MemberFiles& files : source.members) files.on_the_way.clear();
    return inputs::LoadWhole(std::move(source), inputs::FindExported);
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
