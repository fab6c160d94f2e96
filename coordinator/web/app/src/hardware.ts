// What does changing only the hardware, or only the stack, change, and does it shift the mean answer?
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, titledTable, wide } from "./figure";
import { el, estimate, nothing, pCell, section, table, withInterval } from "./format";
import { fewOfEach, fitted, leftMargin } from "./labels";
import { ACCENT, ACCENT_LIGHT, GRID, INK } from "./palette";
import { pathOf } from "./paths";
import { bounded, Estimate, Comparison, finite, ifBounded, percent, SettingTest, Study } from "./study";

const KINDS = ["within A", "within B", "across, same replicate", "across, other replicates"];
// Shades: colours mean hardware.
const COLOURS = ["#b0b4ba", "#8a8f98", ACCENT, ACCENT_LIGHT];

// What differs between the sides, in the words of the section.
interface Factor {
  key: "hardware" | "stacks";  // Of the study.
  title: string;
  many: string;  // "hardware classes"
  nothing: string;  // There is one side.
  about: string;
}

const HARDWARE: Factor = {
  key: "hardware",
  title: "What does the hardware change?",
  many: "hardware classes",
  nothing: "This sweep ran on one hardware class: nothing to compare.",
  about: "The same replicate has the same seeds on every hardware class, so a pair differs only by its hardware (and by physical sources, where the plan frees them); a pair whose stacks differ as well is named with both. Churn across classes of the same replicate is the total effect of changing the class; beside the churn inside each class, the noise floor. Whether some of it is systematic is another question: does the class shift the mean answer? Each row counts independent draws of the seeded sources, never copies of one.",
};
const STACK: Factor = {
  key: "stacks",
  title: "What does the framework change?",
  many: "stacks",
  nothing: "",
  about: "A stack is a trainer with its framework. The same replicate has the same seeds with every stack, so a pair on one hardware class differs only by what trains it: by the order of its sums, if both train the same, and by what they do otherwise, if not. Churn across stacks of the same replicate is all of that; beside the churn inside each stack, the noise floor.",
};

/** "avx2 – sse": what tells the sides apart, without what all classes begin with. */
export function shortPairs(all: Comparison[], of: Factor["key"]): (h: Comparison) => string {
  if (of === "stacks") return (h) => `${h.stack_a} – ${h.stack_b}`;
  const names = [...new Set(all.flatMap((h) => [h.hardware_a, h.hardware_b]))].map((name) => name.split("-"));
  const first = names[0] ?? [];
  const least = Math.min(...names.map((name) => name.length), first.length);  // Of no pairs 0.
  let common = 0;
  while (common < least - 1 && names.every((name) => name[common] === first[common])) common += 1;
  const short = (name: string) => name.split("-").slice(common).join("-");
  return (h) => `${short(h.hardware_a)} – ${short(h.hardware_b)}`;
}

function groupsOf(all: Comparison[], factor: Factor): (h: Comparison) => string {
  const pair = shortPairs(all, factor.key);
  return (h) => `${h.setting}, ${pair(h)}`;
}

function points(comparisons: Comparison[], factor: Factor) {
  const group = groupsOf(comparisons, factor);
  return comparisons.flatMap((h) => {
    const each: [string, Estimate][] = [
      ["within A", h.churn_within_a], ["within B", h.churn_within_b],
      ["across, same replicate", h.churn_paired], ["across, other replicates", h.churn_unpaired],
    ];
    return each.flatMap(([kind, e]) => {
      const value = finite(e.value);
      if (value === undefined) return [];
      return [{ group: group(h), kind, value: value * 100, n: e.n, text: `${group(h)}\n${kind}: churn ${withInterval(e)}\nn = ${e.n}`,
        low: percent(e.low), high: percent(e.high) }];
    });
  });
}

export function hardware(study: Study): HTMLElement {
  return compared(study, HARDWARE, study.hardware, study.hardware_tests);
}

// Only where a class has several stacks.
export function stacks(study: Study): HTMLElement | null {
  return study.stacks.length === 0 ? null : compared(study, STACK, study.stacks, study.stack_tests);
}

function compared(study: Study, factor: Factor, comparisons: Comparison[], tests: SettingTest[]): HTMLElement {
  if (comparisons.length === 0) return section(factor.title, nothing(study, factor.nothing));
  const group = groupsOf(comparisons, factor);
  const data = points(comparisons, factor);
  const groups = [...new Set(data.map((d) => d.group))];
  const rows = comparisons.flatMap((h) => {
    if (h.pairs === 0) return [];  // There is a warning of it.
    const at = (name: string) => `${pathOf(h)}.${name}`;
    return [[
      el("span", { title: h.label, class: "cohort" }, group(h)), el("span", { "data-count": at("draws") }, String(h.draws)), `${h.identical_pairs}/${h.pairs}`,
      estimate(h.accuracy_difference, at("accuracy_difference")), estimate(h.churn_paired, at("churn_paired")),
      estimate(h.churn_unpaired, at("churn_unpaired")), estimate(h.churn_excess, at("churn_excess")),
      pCell(h.shift.p, at("shift.p")),
      pCell(h.shift.p_holm, at("shift.p_holm"), { title: h.shift.note || `corrected over ${h.shift.family}` }), estimate(h.accuracy_correlation, at("accuracy_correlation")),
      estimate(h.logits_correlation_paired, at("logits_correlation_paired")),
      estimate(h.logits_correlation_unpaired, at("logits_correlation_unpaired")),
    ]];
  });
  if (rows.length === 0) {
    return section(factor.title, nothing(study, `No replicate with equal lanes is done on two ${factor.many}: nothing to compare.`));
  }
  const most = 24;
  const shown = fewOfEach(comparisons.filter((h) => groups.includes(group(h))).map((h) => ({ name: group(h), plan: h.plan })), most);
  const drawn = data.filter((d) => shown.includes(d.group));
  return section(factor.title, factor.about,
    drawn.length === 0 ? null : figure(`Churn between two ${factor.many} (A – B), beside the churn inside each${ifBounded(drawn)}.`,
      () => data.map((d) => ({ comparison: d.group, kind: d.kind, value_percent: d.value, low_percent: d.low, high_percent: d.high, n: d.n })),
      el("div", { class: "legend" }, ...KINDS.map((k, i) => el("span", {}, el("i", { style: `background:${COLOURS[i]}` }), k))),
      wide(plot(`Churn between two ${factor.many}`, {
        width: 900, marginLeft: leftMargin(groups, 900), marginRight: 16, marginTop: 10, marginBottom: 44, height: 60 + Math.min(groups.length, most) * 44,
        x: { label: "churn (%)", grid: true, zero: true, nice: true },
        y: { domain: KINDS, axis: null, padding: 0.6 },
        fy: { domain: shown, label: null, padding: 0.15, axis: "left", tickFormat: fitted(900) },
        color: { domain: KINDS, range: COLOURS },
        marks: [
          Plot.frame({ stroke: GRID }),
          Plot.ruleY(bounded(drawn), { fy: "group", y: "kind", x1: "low", x2: "high", stroke: "kind", strokeWidth: 2 }),
          Plot.dot(drawn, { fy: "group", y: "kind", x: "value", fill: "kind", r: 3.6, title: "text" }),
        ],
        style: { background: "none", color: INK, fontSize: "12px", overflow: "visible" },
      })),
      groups.length > most ? el("p", { class: "facts" }, `${most} of ${groups.length} are drawn, of every plan the first; the table has all.`) : null),
    el("details", rows.length <= 4 ? { open: "" } : {},
      el("summary", {}, "Each comparison in words"),
      el("ul", { class: "findings" }, ...comparisons.filter((h) => h.pairs > 0).map((h) => el("li", {}, el("b", {}, `${h.label}: `), h.text)))),
    tests.length === 0 ? null : el("ul", { class: "findings" }, ...tests.map((t) => el("li", {}, t.text))),
    titledTable("Two sides over the independent draws of each plan: B minus A; churn of equal and of unequal replicates; shift of the mean answer (churn of unequal replicates across, less the mean churn inside A and inside B) with its exact p and the p after Holm over the comparisons of the study; correlation of their accuracies over draws, mean correlation of their logits.",
      table(["A – B", "draws", "same bits", "top-1, B\u00a0−\u00a0A", "churn, same replicate", "other replicates", "shift of the mean", "p", "p, Holm", "r of top-1", "r of logits, same", "other"], rows)));
}
