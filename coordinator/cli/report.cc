#include "fmt/format.h"

#include "coordinator/cli/artifact.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/output.h"

namespace noisefloor::cli {

namespace {

struct StudyForm {
  std::string name;    // For --form.
  std::string ending;  // For --to.
  v1::GetStudyRequest::Form form;
};

const std::vector<StudyForm>& Forms() {
  static const std::vector<StudyForm> forms = {{"tables", ".txt", v1::GetStudyRequest::FORM_TABLES},
                                               {"json", ".json", v1::GetStudyRequest::FORM_JSON},
                                               {"csv", ".csv", v1::GetStudyRequest::FORM_CSV},
                                               {"page", ".html", v1::GetStudyRequest::FORM_PAGE}};
  return forms;
}

// "tables, json, csv or page", or the endings.
std::vector<std::string> Each(std::string StudyForm::*what) {
  std::vector<std::string> texts;
  for (const StudyForm& form : Forms()) texts.push_back(form.*what);
  return texts;
}

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
    app.add_option("--form", form_,
                   JoinChoices(Each(&StudyForm::name)) + " (default: by --to's ending, or tables)")
        ->type_name("FORM")
        ->check(OneOf(Each(&StudyForm::name)));
    app.add_option("--to", to_, "write to this file instead of printing")->type_name("FILE");
  }
  absl::StatusOr<int> Run(Context& context) override {
    NF_ASSIGN_OR_RETURN(const uint64_t sweep, SweepNumber(sweep_));
    NF_ASSIGN_OR_RETURN(const v1::GetStudyRequest::Form form, Form(context));
    NF_ASSIGN_OR_RETURN(Connection connection, Connection::Open(context, {}));
    if (to_.empty()) {
      NF_RETURN_IF_ERROR(PrintStudy(connection, context, sweep, form));
      return kDone;
    }
    NF_RETURN_IF_ERROR(WriteStudy(connection, sweep, form, to_));
    context.err << "wrote " << to_ << "\n";
    return kDone;
  }

 private:
  // As --form says, else by the ending of --to, else as --output says.
  absl::StatusOr<v1::GetStudyRequest::Form> Form(const Context& context) const {
    for (const StudyForm& form : Forms()) {
      if (form_.empty() ? to_.ends_with(form.ending) : form_ == form.name) return form.form;
    }
    if (!to_.empty()) {
      return InvalidInput(fmt::format("--to={}: expected a name that ends in {}, or --form", to_,
                                      JoinChoices(Each(&StudyForm::ending))));
    }
    return context.Json() ? v1::GetStudyRequest::FORM_JSON : v1::GetStudyRequest::FORM_TABLES;
  }

  std::string sweep_;
  std::string form_;
  std::string to_;
};

}  // namespace

std::unique_ptr<Command> MakeReport() { return std::make_unique<Report>(); }

}  // namespace noisefloor::cli
