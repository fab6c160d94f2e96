#include "coordinator/cli/artifact.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/study_output.h"

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
    app.add_option("sweep", sweep_, "the sweep, such as s3; without it: the newest")
        ->type_name("ID");
    output_.Describe(app);
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(const v1::GetStudyRequest::Form form, output_.Form(context));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    if (output_.to().empty()) {
      NF_RETURN_IF_ERROR(PrintStudy(connection, context, sweep, form));
      return kDone;
    }
    NF_RETURN_IF_ERROR(WriteStudy(connection, sweep, form, output_.to()));
    context.err << "wrote " << output_.to() << "\n";
    return kDone;
  }

 private:
  std::string sweep_;
  StudyOutput output_;
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<Report>(); }

}  // namespace noisefloor::cli
