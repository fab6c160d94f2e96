#include "coordinator/store/migration_functions.h"

#include <sqlite3.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/files/sha256.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/measured.h"
#include "common/trainer_protocol/specification_template.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/special.h"

namespace noisefloor {

namespace {

// SQLite's own copy of the argument, until the function returns.
std::string_view TextAt(sqlite3_value* value) {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  return bytes == nullptr
             ? std::string_view()
             : std::string_view(bytes, static_cast<size_t>(sqlite3_value_bytes(value)));
}

void Return(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void ReturnBlob(sqlite3_context* context, std::string_view bytes) {
  sqlite3_result_blob64(context, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

void Sha256Of(sqlite3_context* context, int, sqlite3_value** values) {
  ReturnBlob(context, HashBytes(Sha256Hex(TextAt(values[0]))));
}

void Unhex(sqlite3_context* context, int, sqlite3_value** values) {
  ReturnBlob(context, HashBytes(TextAt(values[0])));
}

void Key(sqlite3_context* context, int, sqlite3_value** values) {
  sqlite3_result_int64(context, NumberOfHash(TextAt(values[0])));
}

void CellSpecification(sqlite3_context* context, int, sqlite3_value** values) {
  const std::string_view text = TextAt(values[0]);
  const auto made = SpecificationTemplate::OfText(text, 0);
  Return(context, made.ok() ? made->text() : std::string(text));
}

EnvironmentParts PartsOf(sqlite3_value** values) {
  const std::string_view text = TextAt(values[0]);
  if (Sha256Hex(text) == TextAt(values[1])) {
    auto parts = SplitEnvironment(text);
    if (parts.ok()) return *std::move(parts);
  }
  return {std::string(text), ""};
}

void Facts(sqlite3_context* context, int, sqlite3_value** values) {
  Return(context, PartsOf(values).facts);
}

void Measured(sqlite3_context* context, int, sqlite3_value** values) {
  Return(context, PartsOf(values).measured);
}

void Number(sqlite3_context* context, int, sqlite3_value** values) {
  const double value = FromStored(sqlite3_value_double(values[0]), sqlite3_value_int(values[1]));
  Return(context, NumberToJson(value).dump());
}

}  // namespace

void RegisterMigrationFunctions(SQLite::Database& database) {
  struct Function {
    const char* name;
    int arguments;
    void (*call)(sqlite3_context*, int, sqlite3_value**);
  };
  constexpr Function kFunctions[] = {{"nf_key", 1, Key},
                                     {"nf_sha256", 1, Sha256Of},
                                     {"nf_unhex", 1, Unhex},
                                     {"nf_facts", 2, Facts},
                                     {"nf_cell_specification", 1, CellSpecification},
                                     {"nf_number", 2, Number},
                                     {"nf_measured", 2, Measured}};
  for (const Function& function : kFunctions) {
    database.createFunction(function.name, function.arguments, true, nullptr, function.call);
  }
}

}  // namespace noisefloor
