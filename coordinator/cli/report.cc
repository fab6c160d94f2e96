#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

class Report final : public Command {
 public:
  std::string_view Name() const override { return "report"; }
  std::string_view Help() const override { return "Print or write the study of a sweep"; }
  std::string_view Examples() const override {
    return R"(  noisefloor report s1
  noisefloor report s1 --to=report.html
  noisefloor report s1 --output=json
  noisefloor report s1 --form=csv > study.csv)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("sweep", sweep_, "the sweep, such as s3; without it: the newest");
    app.add_option("--form", form_,
                   "tables, json, csv or page (default: by --to's ending, or tables)")
        ->type_name("FORM")
        ->check(CLI::IsMember({"tables", "json", "csv", "page"}));
    app.add_option("--to", to_, "write to this file instead of printing")->type_name("FILE");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    const v1::GetStudyRequest::Form form = Form(context);
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    if (to_.empty()) {
      const bool colour = form == v1::GetStudyRequest::FORM_TABLES && context.Colour();
      NF_RETURN_IF_ERROR(GetStudy(connection, sweep, form, colour, [&](std::string_view piece) {
        context.out << piece;
        return absl::OkStatus();
      }));
      return kDone;
    }
    NF_RETURN_IF_ERROR(WriteStudy(connection, sweep, form, to_));
    context.err << "wrote " << to_ << "\n";
    return kDone;
  }

 private:
  v1::GetStudyRequest::Form Form(const Context& context) const {
    std::string form = form_;
    if (form.empty() && to_.ends_with(".html")) form = "page";
    if (form.empty() && to_.ends_with(".csv")) form = "csv";
    if (form.empty() && (to_.ends_with(".json") || context.Json())) form = "json";
    if (form == "page") return v1::GetStudyRequest::FORM_PAGE;
    if (form == "csv") return v1::GetStudyRequest::FORM_CSV;
    if (form == "json") return v1::GetStudyRequest::FORM_JSON;
    return v1::GetStudyRequest::FORM_TABLES;
  }

  std::string sweep_;
  std::string form_;
  std::string to_;
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<Report>(); }

}  // namespace noisefloor::cli
