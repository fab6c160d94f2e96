#include "coordinator/report/gate_forms.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "coordinator/report/comparison_words.h"
#include "coordinator/report/gate_words.h"
#include "coordinator/report/json_values.h"
#include "coordinator/report/text_page.h"
#include "coordinator/report/words.h"

namespace noisefloor::report {
namespace {

std::string ValueText(const std::optional<double>& value) {
  Estimate estimate;
  estimate.value = value;
  estimate.unit = "fraction";
  return Value(estimate);
}

const std::vector<std::string>& Titles() {
  static const std::vector<std::string> titles = {
      "setting", "figure", "draws", "A", "B", "B - A, 90 %", "margin", "p outside", "verdict"};
  return titles;
}

TextRows RowsOf(const Gate& gate) {
  TextRows rows;
  for (const GateSetting& setting : gate.settings) {
    for (const GateFigure& figure : setting.figures) {
      rows.push_back({setting.setting, std::string(NounOf(figure)), DrawsText(setting, figure),
                      ValueText(figure.a), ValueText(figure.b), InsideText(figure),
                      MarginText(figure), figure.p_equivalent ? PValue(*figure.p_equivalent) : "-",
                      std::string(Word(figure.verdict))});
    }
  }
  return rows;
}

constexpr const char* kLegend =
    "churn, top-1: the means of A and B; shift: churn between a member of A and one of B, less "
    "the mean churn inside; p outside: of two one-sided tests that B lies outside the margin, "
    "pass at 5 % and below; without one, equal answers in every draw pass, which is no test. Fail: "
    "a 95 % interval beyond the margin, after Holm over all figures.";

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        // XML 1.0 knows no other control characters.
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

Json FigureJson(const GateFigure& figure) {
  return {{"figure", figure.figure},
          {"a", Number(figure.a)},
          {"b", Number(figure.b)},
          {"draws_a", figure.draws_a},
          {"draws_b", figure.draws_b},
          {"difference", ToJson(figure.difference)},
          {"low_90", Number(figure.low)},
          {"high_90", Number(figure.high)},
          {"margin", figure.margin},
          {"p_equivalent", Number(figure.p_equivalent)},
          {"p_beyond", Number(figure.p_beyond)},
          {"p_holm", Number(figure.p_holm)},
          {"most_otherwise", Number(figure.most_otherwise)},
          {"verdict", Word(figure.verdict)},
          {"draws_to_decide", figure.draws_to_decide ? Json(*figure.draws_to_decide) : Json()},
          {"note", figure.note}};
}

Json SettingJson(const GateSetting& setting) {
  return {{"setting", setting.setting},
          {"plan", setting.plan},
          {"hardware_a", setting.hardware_a},
          {"hardware_b", setting.hardware_b},
          {"draws_a", setting.draws_a},
          {"draws_b", setting.draws_b},
          {"paired", setting.paired},
          {"over_blocks", setting.over_blocks},
          {"lost_a", setting.losses.a},
          {"lost_b", setting.losses.b},
          {"under_trained_a", setting.under_trained_a},
          {"under_trained_b", setting.under_trained_b},
          {"held", setting.held},
          {"other_draws", setting.other_draws},
          {"figures", List(setting.figures, FigureJson)}};
}

struct Case {
  std::string suite;
  std::string name;
  std::string element;  // "failure", "error", "skipped" or "": passed.
  std::string text;
};

Case CaseOf(const GateSetting& setting, const GateFigure& figure) {
  if (figure.verdict == Verdict::kInconclusive) {
    return {setting.setting, figure.figure, "error", "not decided: " + OpenText(setting, figure)};
  }
  return {setting.setting, figure.figure, figure.verdict == Verdict::kPass ? "" : "failure",
          fmt::format("{}{}, margin {}; {}{}{}", InsideText(figure), figure.low ? " (90 %)" : "",
                      MarginText(figure), DrawsText(setting, figure),
                      figure.note.empty() ? "" : "; ", figure.note)};
}

Case CaseOf(const GateBits& bits, bool same_bits) {
  const bool proved = bits.pairs > 0 && bits.identical == bits.pairs;
  const char* element = proved               ? ""
                        : !same_bits         ? "skipped"
                        : HasOtherBits(bits) ? "failure"
                                             : "error";
  return {bits.setting, "bits", element, BitsText(bits)};
}

std::vector<Case> CasesOf(const Gate& gate) {
  std::vector<Case> cases;
  for (const std::string& name : gate.only_a) {
    cases.push_back({name, "present", "error", "on A only"});
  }
  for (const std::string& name : gate.not_judged) {
    cases.push_back({name, "judged", "error", "left out: its members share draws by design"});
  }
  const auto add_members = [&](const auto& of) {
    cases.push_back({of.setting, "members", of.losses.MoreOnB() ? "error" : "", LostText(of)});
  };
  for (const GateSetting& setting : gate.settings) {
    add_members(setting);
    for (const GateFigure& figure : setting.figures) cases.push_back(CaseOf(setting, figure));
  }
  for (const GateBits& bits : gate.bits) {
    add_members(bits);
    cases.push_back(CaseOf(bits, gate.options.same_bits));
  }
  return cases;
}

// ---- The page.

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #ffffff;
        --line: #d1d9e0; --pass: #1a7f37; --fail: #cf222e; --open: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117;
        --line: #3d444d; --pass: #3fb950; --fail: #f85149; --open: #d29922; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-weight: 600; } .pass { color: var(--pass); } .fail { color: var(--fail); }
.inconclusive { color: var(--open); } .soft { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line);
         white-space: nowrap; }
td:first-child { white-space: normal; min-width: 8rem; }
th { color: var(--soft); font-weight: 500; } svg { display: block; }
)";

// The 90 % interval, as a bar, and the margins, as ticks: on a scale that holds both.
std::string IntervalPicture(const GateFigure& figure) {
  if (!figure.low) return "";
  constexpr double kWidth = 180;
  constexpr double kHeight = 18;
  constexpr double kAround = 1.1;
  const double most =
      kAround * std::max({2 * figure.margin, std::abs(*figure.low), std::abs(*figure.high)});
  const auto at = [&](double difference) { return kWidth / 2 * (1 + difference / most); };
  const auto tick = [&](double difference, const char* colour) {
    return fmt::format(R"x(<line x1="{0:.1f}" x2="{0:.1f}" y1="2" y2="16" stroke="var(--{1})"/>)x",
                       at(difference), colour);
  };
  std::string svg =
      fmt::format(R"(<svg role="img" aria-label="{}" width="{}" height="{}">)",
                  Escaped(fmt::format("{}, margin {}", InsideText(figure), MarginText(figure))),
                  kWidth, kHeight);
  if (figure.figure != "shift") svg += tick(-figure.margin, "soft");
  svg += tick(0, "line") + tick(figure.margin, "soft");
  svg += fmt::format(
      R"(<line x1="{:.1f}" x2="{:.1f}" y1="9" y2="9" stroke="currentColor" stroke-width="3"/>)",
      at(*figure.low), at(*figure.high));
  svg += fmt::format(R"(<circle cx="{:.1f}" cy="9" r="4" fill="currentColor"/></svg>)",
                     at(*figure.difference.value));
  return svg;
}

std::string TableOf(const Gate& gate) {
  std::string html = "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& title : Titles()) html += fmt::format("<th scope=\"col\">{}</th>", title);
  html += "<th scope=\"col\">inside?</th></tr></thead><tbody>\n";
  const TextRows rows = RowsOf(gate);
  size_t row = 0;
  for (const GateSetting& setting : gate.settings) {
    for (const GateFigure& figure : setting.figures) {
      html += "<tr>";
      for (const std::string& cell : rows[row]) {
        const bool last = &cell == &rows[row].back();
        html += last ? fmt::format("<td class=\"verdict {0}\">{0}</td>", Escaped(cell))
                     : fmt::format("<td>{}</td>", Escaped(cell));
      }
      html += fmt::format("<td class=\"{}\">{}</td></tr>\n", Word(figure.verdict),
                          IntervalPicture(figure));
      ++row;
    }
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string GateText(const Gate& gate, const Screen& screen) {
  TextPage page(screen);
  page.Heading(fmt::format("A: {}, B: {}", gate.name_a, gate.name_b));
  for (const std::string& finding : gate.findings) page.Line("- " + finding);
  if (!gate.settings.empty()) {
    page.Heading("Figures");
    page.Table(Titles(), RowsOf(gate));
    page.Line(kLegend);
  }
  if (!gate.notes.empty()) page.Heading("Besides");
  for (const std::string& note : gate.notes) page.Line("- " + note);
  return page.text();
}

std::string GateJson(const Gate& gate) {
  const auto bits = [](const GateBits& of) {
    return Json{{"setting", of.setting},   {"other_seeds", of.other_seeds},
                {"pairs", of.pairs},       {"identical", of.identical},
                {"unproved", of.unproved}, {"lost_a", of.losses.a},
                {"lost_b", of.losses.b},   {"churn", ToJson(of.churn)}};
  };
  const Json json = {{"version", 1},
                     {"a", gate.name_a},
                     {"b", gate.name_b},
                     {"margins",
                      {{"churn", gate.options.margins.churn},
                       {"top1", gate.options.margins.top1},
                       {"shift", gate.options.margins.shift}}},
                     {"same_bits", gate.options.same_bits},
                     {"verdict", Word(gate.verdict)},
                     {"equal_answers", EqualAnswersOf(gate)},
                     {"findings", gate.findings},
                     {"settings", List(gate.settings, SettingJson)},
                     {"bits", List(gate.bits, bits)},
                     {"only_a", gate.only_a},
                     {"not_judged", gate.not_judged},
                     {"notes", gate.notes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string GateJUnit(const Gate& gate) {
  const std::vector<Case> cases = CasesOf(gate);
  const auto failures = std::ranges::count(cases, "failure", &Case::element);
  const auto errors = std::ranges::count(cases, "error", &Case::element);
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      Escaped(fmt::format("{} against {}", gate.name_b, gate.name_a)), cases.size(), failures,
      errors, std::ranges::count(cases, "skipped", &Case::element));
  for (const Case& one : cases) {
    xml += fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", Escaped(one.suite),
                       Escaped(one.name));
    if (one.element.empty()) {
      xml += fmt::format("      <system-out>{}</system-out>\n", Escaped(one.text));
    } else {
      xml += fmt::format("      <{} message=\"{}\"/>\n", one.element, Escaped(one.text));
    }
    xml += "    </testcase>\n";
  }
  return xml + "  </testsuite>\n</testsuites>\n";
}

std::string GatePage(const Gate& gate) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{0}: {1} against {2}</title>\n"
      "<style>{3}</style></head>\n<body><main>\n<h1><span class=\"{0}\">{0}</span>: {1} against "
      "{2}</h1>\n<p class=\"soft\">A, which is trusted: {2}. B, which is in question: "
      "{1}.</p>\n<ul>\n",
      Word(gate.verdict), Escaped(gate.name_b), Escaped(gate.name_a), kStyle);
  for (const std::string& finding : gate.findings) {
    html += fmt::format("<li>{}</li>\n", Escaped(finding));
  }
  html += "</ul>\n";
  if (!gate.settings.empty()) {
    html += fmt::format("<h2>Figures</h2>\n{}<p class=\"soft\">{}</p>\n", TableOf(gate),
                        Escaped(kLegend));
  }
  if (!gate.notes.empty()) html += "<h2>Besides</h2>\n<ul>\n";
  for (const std::string& note : gate.notes) html += fmt::format("<li>{}</li>\n", Escaped(note));
  if (!gate.notes.empty()) html += "</ul>\n";
  return html + "</main></body></html>\n";
}

}  // namespace noisefloor::report
