#include "common/trainer_protocol/check_measure.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "common/trainer_protocol/networks.h"

namespace noisefloor {

namespace {

constexpr std::array<std::string_view, 12> kNotMeasured = {
    "data.",           "augment.",      "evaluate.",     "sources.data_order.", "sources.augment.",
    "sources.poke.",   "sources.dial.", "sources.load.", "sources.kernels.",    "train.schedule.",
    "train.drop_last", "train.epochs"};
constexpr std::string_view kSection = "measure.";

// Fields that only the other kind of member reads.
bool IsUnread(const Specification& s, std::string_view path) {
  if (s.measure.steps == 0) return path.starts_with(kSection);
  return std::ranges::any_of(kNotMeasured,
                             [&](std::string_view unread) { return path.starts_with(unread); });
}

void CheckUnread(const Specification& s, std::vector<FieldProblem>& problems) {
  const Specification defaults;
  for (const Field& field : AllFields()) {
    const SettingValue expected = field.get(defaults);
    if (!IsUnread(s, field.rule.path) || field.get(s) == expected) continue;
    problems.push_back(
        {field.rule.path, std::string(s.measure.steps > 0 ? "a measurement does not read it"
                                                          : "only a measurement reads it") +
                              "; expected " + ToText(expected) + ", the default"});
  }
}

}  // namespace

void CheckMeasurement(const Specification& s, std::vector<FieldProblem>& problems) {
  CheckUnread(s, problems);
  if (s.measure.steps == 0) return;
  const absl::Status fits =
      CheckImages(s.model.name, "measure.image_size", s.measure.image_size, s.measure.image_size);
  if (!fits.ok()) problems.push_back({"measure.image_size", Message(fits)});
  if (s.train.loss == "binary_cross_entropy" && s.train.label_smoothing != 0) {
    problems.push_back({"train.label_smoothing", "binary_cross_entropy has none; expected 0"});
  }
  const auto is_free = [&](NoiseSource source) {
    return s.Source(source).state == SourceState::kFree;
  };
  const auto must_be_off = [&](NoiseSource source, const char* path, const char* why) {
    if (s.Source(source).state == SourceState::kOff) return;
    problems.push_back({path, "a measurement " + std::string(why) + "; " +
                                  std::string(Name(source)) + ": off is expected"});
  };
  must_be_off(NoiseSource::kPoke, "sources.poke.step", "pokes nothing");
  must_be_off(NoiseSource::kDial, "sources.dial.size", "adds nothing to gradients");
  must_be_off(NoiseSource::kLoad, "sources.load.choices", "has no load of its own");
  // cuDNN keeps the plans it chose, by shape and by whether they must be deterministic, and looks
  // at the autotune switch only when it has none: arms that differ in that alone would share plans.
  if (is_free(NoiseSource::kAutotune) && !is_free(NoiseSource::kKernels)) {
    problems.push_back({"measure.steps",
                        "with autotune free and kernels fixed both arms would have the algorithms "
                        "that the first one chose: cuDNN keeps them; expected kernels: free, too"});
  }
}

}  // namespace noisefloor
