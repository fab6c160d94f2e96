#include "coordinator/report/study_json.h"

#include "nlohmann/json.hpp"

#include "coordinator/report/comparison_json.h"
#include "coordinator/report/comparison_words.h"
#include "coordinator/report/examples_json.h"
#include "coordinator/report/json_values.h"
#include "coordinator/report/sweep_json.h"

namespace noisefloor::report {
namespace {

using report::ToJson;  // Of estimates: those here would hide it.

Json ToJson(const MemberCounts& c) {
  return {{"total", c.total},
          {"done", c.done},
          {"diverged", c.diverged},
          {"failed", c.failed},
          {"cancelled", c.cancelled},
          {"missing", c.missing},
          {"retried", c.retried},
          {"without_predictions", c.without_predictions},
          {"without_weights", c.without_weights}};
}

Json ToJson(const EvaluationFacts& e) {
  return {{"data_set", e.data_set}, {"identity", e.identity},       {"examples", e.examples},
          {"classes", e.classes},   {"class_names", e.class_names}, {"attributes", e.attributes}};
}

Json ToJson(const Hashes& h) {
  return {{"init", h.init},
          {"first_batches", h.first_batches},
          {"weights", h.weights},
          {"logits", h.logits},
          {"weights_at", h.weights_at}};
}

Json ToJson(const MemberRow& m) {
  Json metrics = Json::object();
  for (const auto& [name, value] : m.final_metrics) metrics[name] = Number(value);
  return {{"id", m.id},
          {"cell", m.cell},
          {"replicate", m.replicate},
          {"state", m.state},
          {"attempts", m.attempts},
          {"seconds", Number(m.seconds)},
          {"unit", m.unit},
          {"lanes", m.lanes},
          {"hashes", ToJson(m.hashes)},
          {"final_metrics", metrics},
          {"failure", m.failure}};
}

Json ToJson(const ClassSensitivity& c) {
  return {{"label", c.label},
          {"name", c.name},
          {"examples", c.examples},
          {"accuracy", ToJson(c.accuracy)},
          {"accuracy_sd", ToJson(c.accuracy_sd)},
          {"range", ToJson(c.range)},
          {"ratio", ToJson(c.ratio)},
          {"churn", ToJson(c.churn)}};
}

Json ToJson(const GroupSensitivity& g) {
  return {{"column", g.column},
          {"name", g.name},
          {"examples", g.examples},
          {"accuracy", ToJson(g.accuracy)},
          {"accuracy_sd", ToJson(g.accuracy_sd)},
          {"ratio", ToJson(g.ratio)},
          {"churn", ToJson(g.churn)},
          {"false_positive_rate", ToJson(g.false_positive_rate)},
          {"false_negative_rate", ToJson(g.false_negative_rate)}};
}

Json ToJson(const AxisSetting& a) { return {{"path", a.path}, {"value", a.value}}; }

Json ToJson(const Cohort& c) {
  return {{"cell", c.cell},
          {"label", c.label},
          {"axes_label", c.axes_label},
          {"axes", List(c.axes, [](const auto& a) { return ToJson(a); })},
          {"plan", c.plan},
          {"sources", c.sources},
          {"hardware", c.hardware},
          {"stack", c.stack},
          {"stack_fingerprint", c.stack_fingerprint},
          {"trainer_build", c.trainer_build},
          {"block", c.block},
          {"counts", ToJson(c.counts)},
          {"under_trained", c.under_trained},
          {"all_fixed", c.all_fixed},
          {"acting", c.acting},
          {"held", c.held},
          {"shared", c.shared},
          {"idle", c.idle},
          {"accuracy", ToJson(c.accuracy)},
          {"accuracy_sd", ToJson(c.accuracy_sd)},
          {"flip_sd", ToJson(c.flip_sd)},
          {"flip_share", ToJson(c.flip_share)},
          {"top5", ToJson(c.top5)},
          {"loss", ToJson(c.loss)},
          {"churn", ToJson(c.churn)},
          {"churn_to_error", ToJson(c.churn_to_error)},
          {"any_disagreement", ToJson(c.any_disagreement)},
          {"any_of_3", ToJson(c.any_of_3)},
          {"l2_raw", ToJson(c.l2_raw)},
          {"l2_normalised", ToJson(c.l2_normalised)},
          {"l2_raw_all", ToJson(c.l2_raw_all)},
          {"l2_normalised_all", ToJson(c.l2_normalised_all)},
          {"cosine", ToJson(c.cosine)},
          {"seconds", ToJson(c.seconds)},
          {"target_epochs", ToJson(c.target_epochs)},
          {"per_class", List(c.per_class, [](const auto& r) { return ToJson(r); })},
          {"per_group", List(c.per_group, [](const auto& r) { return ToJson(r); })}};
}

Json ToJson(const analysis::EnsembleScores& s) {
  return {{"size", s.size},
          {"accuracy", ToJson(s.accuracy)},
          {"log_loss", ToJson(s.log_loss)},
          {"brier", ToJson(s.brier)},
          {"calibration", ToJson(s.calibration)}};
}

Json ToJson(const CohortEnsembles& e) {
  return {{"cell", e.cell},
          {"label", e.label},
          {"members", e.members},
          {"left_out", e.left_out},
          {"under_trained", e.under_trained},
          {"sizes", List(e.sizes, [](const auto& s) { return ToJson(s); })},
          {"note", e.note}};
}

Json ToJson(const Ensembles& e) {
  return {{"cohorts", List(e.cohorts, [](const auto& c) { return ToJson(c); })},
          {"mixing", List(e.mixing, [](const MixingGain& m) {
             return Json{
                 {"label", m.label}, {"under_trained", m.under_trained}, {"gain", ToJson(m.gain)}};
           })}};
}

Json ToJson(const BlockSummary& b) {
  return {{"label", b.label},
          {"plan", b.plan},
          {"axes_label", b.axes_label},
          {"hardware", b.hardware},
          {"cells", b.cells},
          {"accuracy", ToJson(b.accuracy)},
          {"accuracy_sd", ToJson(b.accuracy_sd)},
          {"churn", ToJson(b.churn)}};
}

Json ToJson(const UnitResults& u) {
  return {{"unit", u.unit}, {"members", u.members}, {"different_results", u.different_results}};
}

Json ToJson(const ControlCheck& c) {
  return {{"cell", c.cell},
          {"label", c.label},
          {"verdict", c.verdict},
          {"members", c.members},
          {"units", c.units},
          {"by_unit", List(c.by_unit, [](const UnitResults& unit) { return ToJson(unit); })},
          {"duplicates", c.duplicates},
          {"first_difference", c.first_difference},
          {"upper_bound", Number(c.upper_bound)},
          {"text", c.text}};
}

Json ToJson(const PhysicalCheck& p) {
  return {{"cell", p.cell},
          {"label", p.label},
          {"sources", p.sources},
          {"noise_seen", p.noise_seen},
          {"runs", p.runs},
          {"different_results", p.different_results},
          {"upper_bound", Number(p.upper_bound)},
          {"text", p.text}};
}

Json ToJson(const WorstClasses& w) {
  return {{"column", w.column},
          {"plan", w.plan},
          {"n", w.n},
          {"churn", List(w.churn,
                         [](const ClassChurn& c) {
                           return Json{{"name", c.name},
                                       {"churn", Number(c.churn)},
                                       {"shrunken", Number(c.shrunken)}};
                         })},
          {"kept", w.kept},
          {"text", w.text}};
}

Json ToJson(const FixedDraw& d) {
  return {{"axes_label", d.axes_label},
          {"block", d.block},
          {"accuracy", Number(d.accuracy)},
          {"lowest", Number(d.lowest)},
          {"highest", Number(d.highest)},
          {"free_draws", d.free_draws},
          {"text", d.text}};
}

Json ToJson(const CurveMember& m) { return {{"id", m.id}, {"values", Numbers(m.values)}}; }

Json ToJson(const Curve& c) {
  return {{"cell", c.cell},
          {"metric", c.metric},
          {"steps", c.steps},
          {"epochs", Numbers(c.epochs)},
          {"mean", Numbers(c.mean)},
          {"sd", Numbers(c.sd)},
          {"n", c.n},
          {"members", List(c.members, [](const auto& m) { return ToJson(m); })}};
}

Json ToJson(const Trajectory& t) {
  return {{"factor", t.factor ? Json(Word(*t.factor)) : Json(nullptr)},
          {"label", t.label},
          {"cells", t.cells},
          {"steps", t.steps},
          {"epochs", t.epochs},
          {"churn", List(t.churn, [](const Estimate& e) { return ToJson(e); })},
          {"l2_normalised", List(t.l2_normalised, [](const Estimate& e) { return ToJson(e); })}};
}

Json ToJson(const HeatMap& h) {
  return {{"members", h.members},
          {"cells", h.cells},
          {"values", List(h.values, [](const auto& row) { return Numbers(row); })},
          {"left_out", h.left_out},
          {"note", h.note}};
}

Json ToJson(const EnvironmentRow& r) {
  return {{"hardware", r.hardware},
          {"members", r.members},
          {"summaries", r.summaries},
          {"facts", List(r.facts, [](const EnvironmentFact& f) {
             return Json{{"key", f.key}, {"values", f.values}};
           })}};
}

Json ToJson(const Warning& w) {
  return {{"severity", w.severity}, {"subject", w.subject}, {"text", w.text}};
}

template <typename Items>
Json All(const Items& items) {
  return List(items, [](const auto& item) { return ToJson(item); });
}

}  // namespace

std::string StudyToJson(const Study& study) {
  const Json json = {
      {"study_version", study.study_version},
      {"title", study.title},
      {"sweep", SweepToJson(study.sweep)},
      {"counts", ToJson(study.counts)},
      {"interim", study.interim},
      {"evaluation", ToJson(study.evaluation)},
      {"headlines", study.headlines},
      {"guidelines", study.guidelines},
      {"cohorts", All(study.cohorts)},
      {"blocks", All(study.blocks)},
      {"controls", All(study.controls)},
      {"physical", All(study.physical)},
      {"hardware_tests", All(study.hardware_tests)},
      {"hardware", All(study.hardware)},
      {"stack_tests", All(study.stack_tests)},
      {"stacks", All(study.stacks)},
      {"contrasts", All(study.contrasts)},
      {"decompositions", All(study.decompositions)},
      {"ensembles", ToJson(study.ensembles)},
      {"worst_classes", ToJson(study.worst_classes)},
      {"worst_groups", All(study.worst_groups)},
      {"fixed_draws", All(study.fixed_draws)},
      {"curves", All(study.curves)},
      {"trajectories", List(study.trajectories, [](const auto& t) { return ToJson(t); })},
      {"heat_map", ToJson(study.heat_map)},
      {"divergent", ToJson(study.divergent)},
      {"sensitive", List(study.sensitive, [](const auto& s) { return ToJson(s); })},
      {"environment", All(study.environment)},
      {"warnings", All(study.warnings)},
      {"members", All(study.members)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace noisefloor::report
