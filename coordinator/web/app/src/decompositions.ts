// Where does the noise come from: what share of it has each source?
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, titledTable, wide } from "./figure";
import { el, estimate, section, table, withInterval } from "./format";
import { fitted, leftMargin } from "./labels";
import { ACCENT, ACCENT_LIGHT, GRID, INK } from "./palette";
import { pathOf } from "./paths";
import { bounded, finite, ifBounded, percent, SourceDecomposition, Study } from "./study";

const MOST = 8;
const KINDS = [
  { kind: "first_order", label: "alone", colour: ACCENT },
  { kind: "total", label: "with all it acts through", colour: ACCENT_LIGHT },
];

const NAMES = {
  churn: "churn",
  accuracy: "variance of top-1",
  probabilities: "variance of the probabilities",
  weights: "variance of the weights",
};

function name(of: SourceDecomposition): string {
  return `${NAMES[of.figure]}, ${of.setting}`;
}

function dataOf(of: SourceDecomposition) {
  return of.shares.flatMap(({ kind, sources, share }) => {
    const known = KINDS.find((k) => k.kind === kind);
    const value = finite(share.value);
    if (known === undefined || value === undefined) return [];
    return [{ source: sources.join(" x "), kind: known.label, value: value * 100, low: percent(share.low), high: percent(share.high), n: share.n,
      text: `${sources.join(" x ")}, ${known.label}\n${withInterval(share)} of the ${name(of)}\nn = ${share.n}` }];
  });
}

function bars(of: SourceDecomposition): Element {
  const data = dataOf(of);
  const kinds = KINDS.map((k) => k.label);
  return wide(plot(`Shares of the ${name(of)}`, {
    width: 900, marginLeft: leftMargin(of.factors, 900), marginRight: 16, marginTop: 8, marginBottom: 44, height: 56 + of.factors.length * 52,
    x: { label: `share of the ${name(of)} (%)`, grid: true, zero: true, nice: true },
    y: { domain: kinds, axis: null, padding: 0.5 },
    fy: { domain: of.factors, label: null, axis: "left", padding: 0.15, tickFormat: fitted(900) },
    color: { domain: kinds, range: KINDS.map((k) => k.colour) },
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.ruleX([0], { stroke: INK }),
      Plot.ruleY(bounded(data), { fy: "source", y: "kind", x1: "low", x2: "high", stroke: "kind", strokeWidth: 2 }),
      Plot.dot(data, { fy: "source", y: "kind", x: "value", fill: "kind", r: 4, title: "text" }),
    ],
    style: { background: "none", color: INK, fontSize: "12px", overflow: "visible" },
  }));
}

// Nothing where no trainings share some draws and not others.
export function decompositions(study: Study): HTMLElement | null {
  const all = study.decompositions;
  if (all.length === 0) return null;
  const drawn = all.filter((of) => of.figure === "churn" && dataOf(of).length > 0);
  const rows = all.flatMap((of) => of.shares.map((share, k) => [
    name(of) + (of.under_trained ? " (under-trained)" : ""),
    share.kind.replace("_", " "), share.kind === "additive" ? "all sources" : share.sources.join(" x "),
    estimate(share.share, `${pathOf(of)}.shares.${k}.share`),
  ]));
  return section("Where does it come from?",
    "Trainings that share the draws of some sources and not of others tell what each source does. Alone: what it does by itself, and what goes when it is held and the others are not. With all it acts through: what it makes when all others are held, which also counts what it does together with others; over all sources these add up to more than the whole. What was not trained to be told is absent.",
    drawn.length === 0 ? null : figure(`Shares of each source in the churn of two trainings that have nothing in common${ifBounded(drawn.flatMap(dataOf), `; 95 % intervals${drawn.some((of) => dataOf(of).some((d) => d.low === undefined)) ? ", where enough draws give one" : ""}`)}.`,
      () => drawn.flatMap((of) => dataOf(of).map((d) => ({ setting: of.setting, source: d.source, share: d.kind, value_percent: d.value, low_percent: d.low, high_percent: d.high, n: d.n }))),
      el("div", { class: "legend" }, ...KINDS.map((k) => el("span", {}, el("i", { style: `background:${k.colour}` }), k.label))),
      ...drawn.slice(0, MOST).map(bars),
      drawn.length > MOST ? el("p", { class: "facts" }, `The first ${MOST} of ${drawn.length} settings are drawn; the table has all.`) : null),
    el("details", all.length <= Object.keys(NAMES).length ? { open: "" } : {}, el("summary", {}, "Each in words"),
      el("ul", { class: "findings" }, ...all.map((of) => el("li", {}, of.text)))),
    titledTable("Shares of the whole: a source alone, with all it acts through, two sources together, and what all add up to by themselves.",
      table(["of", "share", "source", "value"], rows)));
}
