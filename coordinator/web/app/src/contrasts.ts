// Does it matter which value an axis has, which plan, which class, which stack?
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, titledTable, wide } from "./figure";
import { el, estimate, pCell, section, table } from "./format";
import { fitted, leftMargin, oneLine } from "./labels";
import { ACCENT, GRID, INK } from "./palette";
import { pathOf } from "./paths";
import { bounded, Contrast, FigureContrast, finite, ifBounded, percent, Study } from "./study";

const MOST = 30;
const WIDTH = 900;
const SHOWN = ACCENT;
const NOT_SHOWN = "#777777";

// What is drawn; the spread, a ratio, stands in the table.
const DRAWN: { figure: FigureContrast["figure"]; label: string }[] = [
  { figure: "churn", label: "churn, B − A (% of the answers)" },
  { figure: "accuracy", label: "top-1, B − A (% of the answers)" },
];

function sides(contrast: Contrast): string {
  return `${contrast.subject}: ${contrast.b} − ${contrast.a}`;
}

/** Of two lines where one has no room. */
function row(contrast: Contrast): string {
  const parts = [sides(contrast), oneLine(contrast.plan, contrast.over)].filter((part) => part !== "");
  const line = parts.join(", ");
  return fitted(WIDTH)(line) === line ? line : parts.join("\n");
}

function points(all: Contrast[], name: FigureContrast["figure"]) {
  return all.flatMap((contrast) => {
    const found = contrast.figures.find((f) => f.figure === name);
    const value = finite(found?.estimate.value);
    if (found === undefined || value === undefined) return [];
    return [{ row: row(contrast), value: value * 100, low: percent(found.estimate.low), high: percent(found.estimate.high), shown: found.shown, text: contrast.text }];
  });
}

function forest(all: Contrast[], { figure: name, label }: (typeof DRAWN)[number]): Element {
  const data = points(all, name);
  const rows = [...new Set(data.map((d) => d.row))];
  const colour = (d: { shown: boolean }) => (d.shown ? SHOWN : NOT_SHOWN);
  return wide(plot(label, {
    width: WIDTH, marginLeft: leftMargin(rows, WIDTH), marginRight: 16, marginTop: 8, marginBottom: 44,
    height: 56 + rows.length * (rows.some((name) => name.includes("\n")) ? 36 : 24),
    x: { label, grid: true, zero: true, nice: true },
    y: { domain: rows, label: null, tickFormat: fitted(WIDTH) },
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.ruleX([0], { stroke: INK }),
      Plot.ruleY(bounded(data), { y: "row", x1: "low", x2: "high", stroke: colour, strokeWidth: 2 }),
      Plot.dot(data, { y: "row", x: "value", fill: (d) => (d.shown ? SHOWN : "white"), stroke: colour, strokeWidth: 2, r: 4, title: "text" }),
    ],
    style: { background: "none", color: INK, fontSize: "12px", overflow: "visible" },
  }));
}

// Nothing where no two cells can be set against each other.
export function contrasts(study: Study): HTMLElement | null {
  const all = study.contrasts;
  if (all.length === 0) return null;
  const first = all.slice(0, MOST);
  const drawn = DRAWN.filter(({ figure: name }) => points(first, name).length > 0);
  const rows = all.map((contrast) => [
    el("span", { class: "cohort", title: contrast.text }, sides(contrast) + (contrast.under_trained ? " †" : contrast.stacks_differ ? " (stacks differ)" : "")),
    contrast.plan === "" ? "–" : contrast.plan, contrast.over,
    el("span", { "data-count": `${pathOf(contrast)}.draws` }, String(contrast.draws)),
    ...contrast.figures.flatMap((f, k) => {
      const at = `${pathOf(contrast)}.figures.${k}`;
      const value = estimate(f.estimate, `${at}.estimate`);
      if (f.figure === "accuracy_sd" || f.figure === "accuracy_above") return [value];  // They are not tested.
      return [value, pCell(f.p_holm, `${at}.p_holm`, {}, f.shown ? " *" : "")];
    }),
  ]);
  return section("Does it matter which?",
    "Every value of an axis against the first, every two plans that let something vary, every two hardware classes and stacks: each side is the mean over all settings that have both. Draw by draw: where both sides share their draws they move together, so that the difference is known far better than each side. One correction (a weighted Holm: two thirds of the level for shifts of the mean answer by hardware or stack, where there are any) covers every p of these contrasts and of those shifts; classes, groups and examples have corrections of their own.",
    drawn.length === 0 ? null : figure(`B minus A${ifBounded(drawn.flatMap(({ figure: name }) => points(first, name)), " with 95 % intervals, each on its own")}; filled: shown after the correction.`,
      () => DRAWN.flatMap(({ figure: name }) => points(first, name).map((d) => ({ figure: name, contrast: d.row, value_percent: d.value, low_percent: d.low, high_percent: d.high, shown: String(d.shown) }))),
      el("div", { class: "legend" },
        el("span", {}, el("i", { style: `background:${SHOWN}` }), "shown, p ≤ 0.05 after Holm"),
        el("span", {}, el("i", { style: `background:${NOT_SHOWN}` }), "not shown")),
      ...drawn.map((of) => forest(first, of)),
      all.length > MOST ? el("p", { class: "facts" }, `The first ${MOST} of ${all.length} are drawn; the table has all.`) : null),
    el("details", {},
      el("summary", {}, "Each contrast in words"),
      el("ul", { class: "findings" }, ...all.map((contrast) => el("li", {}, contrast.text)))),
    titledTable("B minus A; of the SD of top-1 B divided by A, which is not tested; B above A is how likely a draw of B, its mean over the settings, has more top-1 than one of A, equals counted half. p is the one after Holm over all contrasts and shifts of the study; * marks what is shown. † A side is under-trained: not tested.",
      table(["B – A", "plan", "over", "draws", "churn", "p", "top-1", "p", "SD of top-1, B\u00a0/\u00a0A", "B above A"], rows)));
}
