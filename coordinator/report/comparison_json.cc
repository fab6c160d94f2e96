#include "coordinator/report/comparison_json.h"

#include "coordinator/report/contrast_words.h"

namespace noisefloor::report {
namespace {

using report::ToJson;  // Of estimates: those here would hide it.

Json ToJson(const ShiftClaim& s) {
  return {{"p", Number(s.p)},
          {"p_holm", Number(s.p_holm)},
          {"least_p", Number(s.least_p)},
          {"arrangements", s.arrangements},
          {"replicates", s.replicates},
          {"blocks", s.blocks},
          {"shown", s.shown},
          {"family", s.family},
          {"note", s.note}};
}

Json ToJson(const FigureContrast& f) {
  return {{"figure", f.figure}, {"estimate", ToJson(f.estimate)}, {"settings", f.settings},
          {"p", Number(f.p)},   {"p_holm", Number(f.p_holm)},     {"shown", f.shown}};
}

Json ToJson(const SourceShare& s) {
  return {{"kind", s.kind}, {"sources", s.sources}, {"share", ToJson(s.share)}};
}

Json ToJson(const Draw& d) {
  return {{"block", d.block},
          {"replicate", d.replicate ? Json(*d.replicate) : Json(nullptr)},
          {"churn", Number(d.churn)}};
}

}  // namespace

Json ToJson(const Contrast& c) {
  return {{"question", Word(c.question)},
          {"subject", c.subject},
          {"a", c.a},
          {"b", c.b},
          {"plan", c.plan},
          {"over", c.over},
          {"cells_a", c.cells_a},
          {"cells_b", c.cells_b},
          {"settings", c.settings},
          {"left_out", c.left_out},
          {"draws", c.draws},
          {"paired", c.paired},
          {"over_blocks", c.over_blocks},
          {"stacks_differ", c.stacks_differ},
          {"held", c.held},
          {"at_one_draw", c.at_one_draw},
          {"under_trained", c.under_trained},
          {"figures", List(c.figures, [](const auto& f) { return ToJson(f); })},
          {"text", c.text}};
}

Json ToJson(const SourceDecomposition& d) {
  return {{"figure", d.figure},
          {"setting", d.setting},
          {"plans", d.plans},
          {"factors", d.factors},
          {"uncontrolled", d.uncontrolled},
          {"members", d.members},
          {"blocks", d.blocks},
          {"left_out", d.left_out},
          {"under_trained", d.under_trained},
          {"whole", ToJson(d.whole)},
          {"shares", List(d.shares, [](const auto& s) { return ToJson(s); })},
          {"text", d.text}};
}

Json ToJson(const Comparison& h) {
  return {{"label", h.label},
          {"setting", h.setting},
          {"axes_label", h.axes_label},
          {"plan", h.plan},
          {"cells_a", h.cells_a},
          {"cells_b", h.cells_b},
          {"hardware_a", h.hardware_a},
          {"hardware_b", h.hardware_b},
          {"stack_a", h.stack_a},
          {"stack_b", h.stack_b},
          {"mixes_stacks", h.mixes_stacks},
          {"under_trained", h.under_trained},
          {"all_fixed", h.all_fixed},
          {"kernels_fixed", h.kernels_fixed},
          {"held", h.held},
          {"pairs", h.pairs},
          {"identical_pairs", h.identical_pairs},
          {"left_out", h.left_out},
          {"draws", h.draws},
          {"by_draw", List(h.by_draw, [](const auto& d) { return ToJson(d); })},
          {"accuracy_difference", ToJson(h.accuracy_difference)},
          {"churn_paired", ToJson(h.churn_paired)},
          {"churn_unpaired", ToJson(h.churn_unpaired)},
          {"churn_excess", ToJson(h.churn_excess)},
          {"churn_within_a", ToJson(h.churn_within_a)},
          {"churn_within_b", ToJson(h.churn_within_b)},
          {"accuracy_correlation", ToJson(h.accuracy_correlation)},
          {"logits_correlation_paired", ToJson(h.logits_correlation_paired)},
          {"logits_correlation_unpaired", ToJson(h.logits_correlation_unpaired)},
          {"examples", h.examples},
          {"shift", ToJson(h.shift)},
          {"text", h.text}};
}

Json ToJson(const SettingTest& t) {
  return {{"setting", t.setting},
          {"plan", t.plan},
          {"axes_label", t.axes_label},
          {t.factor == Factor::kHardware ? "hardware" : "stacks", t.sides},
          {"held", t.held},
          {"blocks", t.blocks},
          {"replicates", t.shift.replicates},
          {"under_trained", t.under_trained},
          {"shift", ToJson(t.shift)},
          {"text", t.text}};
}

}  // namespace noisefloor::report
