// What the members of a sweep do, in words: the settings say it by the number of steps that are
// timed.
#include <algorithm>
#include <string>

#include "fmt/format.h"

#include "coordinator/sweep_file/sweep_reader.h"
#include "coordinator/sweep_file/yaml_scalar.h"

namespace noisefloor::sweep_file {

namespace {

constexpr std::string_view kSteps = "measure.steps";
constexpr int64_t kStepsOtherwise = 100;  // As in Zhuang and others (2022).

const v1::Setting* FindSteps(const v1::Sweep& sweep) {
  const auto found = std::ranges::find(sweep.training(), kSteps, &v1::Setting::path);
  return found == sweep.training().end() ? nullptr : &*found;
}

}  // namespace

void ReadKind(SweepReader& reader, const YamlNode& node) {
  if (node.IsScalar() && (node.text == "train" || node.text == "measure")) {
    reader.measures = node.text == "measure";
    return;
  }
  reader.Refuse(node.place, "kind", "expected train or measure, got " + Found(node));
}

void FinishKind(SweepReader& reader) {
  const v1::Setting* steps = FindSteps(reader.sweep);
  const auto place = [&](const char* path) {
    const auto found = reader.places.find(path);
    return found == reader.places.end() ? Place{} : found->second;
  };
  if (!reader.measures) {
    if (steps == nullptr || steps->value().integer() == 0) return;
    reader.Refuse(place("measure.steps"), std::string(kSteps),
                  fmt::format("expected kind: measure with it, got {} in a sweep that trains",
                              steps->value().integer()));
    return;
  }
  if (reader.schema->Find(kSteps) == nullptr) {
    reader.Refuse(place("kind"), "kind",
                  "expected train: the trainer of this stack has no measure.steps");
    return;
  }
  if (steps == nullptr) {
    v1::Setting& added = *reader.sweep.add_training();
    added.set_path(std::string(kSteps));
    added.mutable_value()->set_integer(kStepsOtherwise);
  } else if (steps->value().integer() == 0) {
    reader.Refuse(place("measure.steps"), std::string(kSteps),
                  "expected 1 or more with kind: measure, got 0");
  }
}

}  // namespace noisefloor::sweep_file
