#include "coordinator/report/examples_json.h"

#include "coordinator/report/comparison_words.h"

namespace noisefloor::report {
namespace {

Json PictureJson(const Picture& p) {
  return {{"height", p.height}, {"width", p.width}, {"channels", p.channels}, {"pixels", p.pixels}};
}

Json ExampleJson(const DivergentExample& e) {
  return {{"example", e.example},
          {"label", e.label},
          {"label_name", e.label_name},
          {"selected_by", Number(e.selected_by)},
          {"disagreement", ToJson(e.disagreement)},
          {"accuracy", ToJson(e.accuracy)},
          {"said", e.said},
          {"picture", PictureJson(e.picture)}};
}

Json GroupJson(const DivergentGroup& g) {
  return {{"column", g.column},        {"name", g.name},           {"examples", g.examples},
          {"divergent", g.divergent},  {"ratio", ToJson(g.ratio)}, {"p", Number(g.p)},
          {"p_holm", Number(g.p_holm)}};
}

Json FlipsJson(const SensitiveExample& e) {
  return {{"example", e.example}, {"label", e.label},       {"label_name", e.label_name},
          {"flips", e.flips},     {"rate", ToJson(e.rate)}, {"said_a", e.said_a},
          {"said_b", e.said_b},   {"p", Number(e.p)},       {"p_fdr", Number(e.p_fdr)}};
}

}  // namespace

Json ToJson(const DivergentExamples& d) {
  return {{"members", d.members},
          {"cells", d.cells},
          {"selecting", d.selecting},
          {"examples", List(d.examples, ExampleJson)},
          {"subset_disagreement", ToJson(d.subset_disagreement)},
          {"subset_accuracy", ToJson(d.subset_accuracy)},
          {"by_all", d.by_all},
          {"groups", List(d.groups, GroupJson)},
          {"note", d.note},
          {"groups_text", d.groups_text}};
}

Json ToJson(const SensitiveExamples& s) {
  return {{"factor", Word(s.factor)},
          {"label", s.label},
          {"side_a", s.side_a},
          {"side_b", s.side_b},
          {"draws", s.draws},
          {"examples", s.examples},
          {"flipped", s.flipped},
          {"alpha", Number(s.alpha)},
          {"beta", Number(s.beta)},
          {"tested", s.tested},
          {"found", s.found},
          {"most", List(s.most, FlipsJson)},
          {"text", s.text}};
}

}  // namespace noisefloor::report
