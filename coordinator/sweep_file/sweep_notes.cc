#include "coordinator/sweep_file/sweep_notes.h"

#include <algorithm>

#include "fmt/format.h"

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/specification.h"
#include "coordinator/sweep_file/sweep_file.h"
#include "coordinator/sweep_file/sweep_reader.h"

namespace noisefloor::sweep_file {

namespace {

const v1::Value* Given(const v1::Sweep& sweep, std::string_view path) {
  for (const v1::Setting& setting : sweep.training()) {
    if (setting.path() == path) return &setting.value();
  }
  return nullptr;
}

// The name of the model or the data set when neither the base nor an axis says it.
void NoteDefault(const v1::Sweep& sweep, const std::string& section, const std::string& value,
                 std::vector<std::string>& notes) {
  const std::string path = section + ".name";
  if (Given(sweep, path) != nullptr || IsVaried(sweep, path)) return;
  notes.push_back(fmt::format("{} is not given: it is {}, the default", path, value));
}

void NoteOverridden(const v1::Sweep& sweep, std::vector<std::string>& notes) {
  for (const v1::Setting& setting : sweep.training()) {
    if (!IsVaried(sweep, setting.path())) continue;
    notes.push_back(
        fmt::format("{} outside axes has no effect: its axis says all its values", setting.path()));
  }
}

void NoteMilestones(const v1::Sweep& sweep, std::vector<std::string>& notes) {
  const v1::Value* milestones = Given(sweep, "train.schedule.milestones");
  if (milestones == nullptr || IsVaried(sweep, "train.epochs")) return;
  const v1::Value* given = Given(sweep, "train.epochs");
  const int64_t epochs = given != nullptr ? given->integer() : TrainSettings().epochs;
  for (const int64_t milestone : milestones->list().values()) {
    if (milestone < epochs) continue;
    notes.push_back(
        fmt::format("train.schedule.milestones: {} is never reached before the end of {} {}",
                    milestone, epochs, epochs == 1 ? "epoch" : "epochs"));
  }
}

}  // namespace

bool IsForOurs(const v1::Sweep& sweep) {
  return std::ranges::all_of(sweep.stacks(),
                             [](const std::string& stack) { return OwnSettings(stack).ok(); });
}

std::vector<std::string> NotesOn(const v1::Sweep& sweep) {
  std::vector<std::string> notes;
  NoteOverridden(sweep, notes);
  if (!IsForOurs(sweep)) return notes;  // Of the others we know no meaning.
  NoteDefault(sweep, "model", ModelSettings().name, notes);
  const v1::Value* measured = Given(sweep, "measure.steps");  // It reads no data.
  if (measured == nullptr) NoteDefault(sweep, "data", DataSettings().name, notes);
  NoteMilestones(sweep, notes);
  return notes;
}

}  // namespace noisefloor::sweep_file
