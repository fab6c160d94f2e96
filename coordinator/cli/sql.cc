#include <unistd.h>

#include <iostream>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "fmt/format.h"

#include "common/base/csv.h"
#include "common/files/directory.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/output.h"
#include "coordinator/cli/read_only_home.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/terminal_text.h"
#include "coordinator/store/own_sql.h"

namespace noisefloor::cli {

namespace {

constexpr char kListViews[] =
    "SELECT v.name AS view, group_concat(c.name, ', ') AS columns "
    "FROM (SELECT name FROM sqlite_schema WHERE type = 'view' UNION ALL "
    "      SELECT name FROM sqlite_temp_schema WHERE type = 'view') v, pragma_table_info(v.name) c "
    "GROUP BY v.name ORDER BY v.name";

struct AsText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const SqlBlob& blob) const { return absl::BytesToHexString(blob.bytes); }
};

struct AsJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(int64_t number) const { return number; }
  Json operator()(double number) const { return JsonNumber(number); }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const SqlBlob& blob) const { return AsText()(blob); }
};

// An answer that is shown when it is whole, or while it comes.
class ShownAnswer : public SqlAnswer {
 public:
  virtual void Finish() = 0;
};

class ForPeople final : public ShownAnswer {
 public:
  explicit ForPeople(const Context& context) : context_(context) {}
  void Columns(std::vector<std::string> names) override { table_ = Table(std::move(names)); }
  void Row(std::vector<SqlValue> values) override {
    std::vector<std::string> cells;
    for (const SqlValue& value : values) {
      const bool none = std::holds_alternative<std::monostate>(value);
      cells.push_back(none ? "-" : std::visit(AsText(), value));
    }
    table_.Add(std::move(cells));
  }
  void Finish() override { table_.Print(context_); }

 private:
  const Context& context_;
  Table table_{std::vector<std::string>()};
};

class ForPrograms final : public ShownAnswer {
 public:
  explicit ForPrograms(const Context& context) : context_(context) {}
  void Columns(std::vector<std::string> names) override { columns_ = std::move(names); }
  void Row(std::vector<SqlValue> values) override {
    Json& row = rows_.emplace_back(Json::array());
    for (const SqlValue& value : values) row.push_back(std::visit(AsJson(), value));
  }
  void Finish() override {
    PrintJson(context_.out, {{"columns", std::move(columns_)}, {"rows", std::move(rows_)}});
  }

 private:
  const Context& context_;
  Json columns_;
  Json rows_ = Json::array();
};

class ForDataFrames final : public ShownAnswer {
 public:
  explicit ForDataFrames(const Context& context) : context_(context) {}
  void Columns(std::vector<std::string> names) override {
    std::string line;
    for (const std::string& name : names) Append(CsvField(name), line);
    WriteLine(line);
  }
  void Row(std::vector<SqlValue> values) override {
    std::string line;
    for (const SqlValue& value : values) {
      const auto* text = std::get_if<std::string>(&value);
      Append(text != nullptr ? CsvField(*text) : std::visit(AsText(), value), line);
    }
    WriteLine(line);
  }
  void Finish() override {}

 private:
  static void Append(const std::string& field, std::string& line) { line += field + ","; }
  void WriteLine(std::string& line) {
    if (!line.empty()) line.back() = '\n';
    PrintData(context_, line);
  }

  const Context& context_;
};

class Sql final : public Command {
 public:
  std::string_view Name() const override { return "sql"; }
  std::string_view Help() const override {
    return "Ask the data directory in SQL; alone: its views and their columns";
  }
  std::string_view Examples() const override {
    return R"(  noisefloor sql "SELECT plan, avg(top1) FROM v_accuracy GROUP BY plan"
  noisefloor sql "SELECT source, lane, seed FROM v_seed WHERE member = 's1c0r0'"
  noisefloor sql --csv - < question.sql > answer.csv)";
  }
  void Describe(CLI::App& app) override {
    app.add_option("statement", statement_, "one statement that reads; - is standard input")
        ->type_name("SQL");
    app.add_flag("--csv", csv_, "print CSV, row by row");
  }

  absl::StatusOr<int> Run(Context& context) override {
    if (!context.options.coordinator.empty()) {
      return InvalidInput("reads a data directory where it lies, not over a network: give --home");
    }
    if (csv_ && context.Json()) return InvalidInput("--csv and --output=json: expected one");
    if (const absl::Status home = CheckIsHome(context.options.home); !home.ok()) {
      return MakeError(home.code(), Message(home) + "; name one with --home");
    }
    std::string copy;
    absl::StatusOr<OwnSql> opened = OwnSql::Open(context.options.home);
    if (absl::IsResourceExhausted(opened.status()) && !MayWrite(context.options.home)) {
      NF_ASSIGN_OR_RETURN(copy, MakeTemporaryHome());
      const absl::Status copied = CopyToRead(context.options.home, copy);
      opened = copied.ok() ? OwnSql::Open(copy) : copied;
    }
    const absl::Status asked = opened.ok() ? Ask(context, *opened) : opened.status();
    if (!copy.empty()) (void)RemoveTree(copy);
    NF_RETURN_IF_ERROR(asked);
    return kDone;
  }

 private:
  // SQLite reads beside writers with the help of a file that it makes there.
  static bool MayWrite(const std::string& folder) { return access(folder.c_str(), W_OK) == 0; }

  std::string Statement() const {
    if (statement_.empty()) return kListViews;
    if (statement_ != "-") return statement_;
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }

  absl::Status Ask(const Context& context, OwnSql& store) const {
    const std::unique_ptr<ShownAnswer> answer = MakeAnswer(context);
    NF_RETURN_IF_ERROR(store.Ask(Statement(), *answer));
    answer->Finish();
    return absl::OkStatus();
  }

  std::unique_ptr<ShownAnswer> MakeAnswer(const Context& context) const {
    if (csv_) return std::make_unique<ForDataFrames>(context);
    if (context.Json()) return std::make_unique<ForPrograms>(context);
    return std::make_unique<ForPeople>(context);
  }

  std::string statement_;
  bool csv_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSql() { return std::make_unique<Sql>(); }

}  // namespace noisefloor::cli
