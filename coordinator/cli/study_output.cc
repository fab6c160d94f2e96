#include "coordinator/cli/study_output.h"

#include <filesystem>
#include <vector>

#include "fmt/format.h"

#include "common/files/directory.h"
#include "coordinator/cli/artifact.h"
#include "coordinator/cli/choices.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/terminal_text.h"
#include "coordinator/inputs/layout.h"
#include "coordinator/report/export.h"
#include "coordinator/report/page.h"
#include "coordinator/report/study_json.h"
#include "coordinator/report/table.h"
#include "coordinator/web/page_bundle.h"

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

absl::StatusOr<std::string> TextOf(const report::Study& study, v1::GetStudyRequest::Form form,
                                   const report::Screen& screen) {
  if (form == v1::GetStudyRequest::FORM_TABLES) return report::RenderTables(study, screen);
  if (form == v1::GetStudyRequest::FORM_CSV) return report::StudyToCsv(study);
  std::string json = report::StudyToJson(study);
  if (form == v1::GetStudyRequest::FORM_JSON) return json;
  if (web::PageScript().empty()) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     "this program was built without the report page; ask for the tables, JSON or "
                     "CSV");
  }
  return report::RenderPage(study.title, study.headlines, json, web::PageScript(),
                            web::PageStyle());
}

}  // namespace

std::string LinkTarget(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

absl::Status CheckIsNoneOfAnExport(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const bool is_read =
      name == inputs::kInputFile || name == inputs::kMembersFile || name == inputs::kRunsFile;
  if (!is_read || !PathExists(path)) return absl::OkStatus();
  return InvalidInput(path + ": an exported study is read from that file; expected another");
}

void StudyOutput::Describe(CLI::App& app) {
  app.add_option("--form", form_,
                 JoinChoices(Each(&StudyForm::name)) + " (default: by --to's ending, or tables)")
      ->type_name("FORM")
      ->check(OneOf(Each(&StudyForm::name)));
  app.add_option("--to", to_, "write to this file instead of printing")->type_name("FILE");
}

absl::StatusOr<v1::GetStudyRequest::Form> StudyOutput::Form(const Context& context) const {
  for (const StudyForm& form : Forms()) {
    if (form_.empty() ? to_.ends_with(form.ending) : form_ == form.name) return form.form;
  }
  if (!to_.empty()) {
    return InvalidInput(fmt::format("--to={}: expected a name that ends in {}, or --form", to_,
                                    JoinChoices(Each(&StudyForm::ending))));
  }
  return context.Json() ? v1::GetStudyRequest::FORM_JSON : v1::GetStudyRequest::FORM_TABLES;
}

absl::Status StudyOutput::Tell(Context& context, const report::Study& study) const {
  NF_ASSIGN_OR_RETURN(const v1::GetStudyRequest::Form form, Form(context));
  report::Screen screen;
  if (to_.empty()) {
    screen = {.colour = context.Colour() ? report::Colour::kOn : report::Colour::kOff,
              .columns = context.out_columns};
  }
  NF_ASSIGN_OR_RETURN(const std::string text, TextOf(study, form, screen));
  if (!to_.empty()) {
    NF_RETURN_IF_ERROR(WriteStudyText(to_, text));
    context.err << "wrote " << to_ << "\n";
    return absl::OkStatus();
  }
  if (form == v1::GetStudyRequest::FORM_TABLES && screen.colour == report::Colour::kOn) {
    WriteColoured(context.out, text);
  } else {
    PrintData(context, text);
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::cli
