// Is it noise, how much, and from which source?
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, legend, titledTable, wide } from "./figure";
import { figureOne } from "./figure_one";
import { el, estimate, nothing, section, table, withInterval } from "./format";
import { besides, fitted, leftMargin, oneLine, topMargin } from "./labels";
import { GRID, INK, Palette } from "./palette";
import { pathOf } from "./paths";
import { answered, bounded, Cohort, finite, ifBounded, percent, Study } from "./study";

export function control(study: Study): HTMLElement {
  const mark = { identical: "✓ identical", different: "✗ different", unproved: "? unproved" };
  const rows = study.controls.map((c) => [
    c.label, el("span", { class: `verdict ${c.verdict}` }, mark[c.verdict]),
    c.units === 0 ? String(c.members) : `${c.members} on ${c.units} unit${c.units === 1 ? "" : "s"}`, c.text,
  ]);
  const physical = study.physical.map((p) => [
    p.label, el("span", { class: "verdict" }, p.noise_seen ? "noise seen" : p.runs < 2 ? "not known" : "no noise seen"), String(p.runs), p.text,
  ]);
  const good = study.controls.filter((c) => c.verdict === "identical").length;
  const all = study.controls.length;
  const controls = () => titledTable("Control cohorts: initial weights, first batches, weights at every evaluation and final logits compared.", table(["cohort", "verdict", "members", "in words"], rows, 99));
  return section("Is it noise?",
    "A control cohort fixes every source, so its members must be bit-identical. Only then is a difference elsewhere the effect of what was freed.",
    all === 0
      ? el("p", {}, nothing(study, "This sweep has no control cohort: nothing proves that the fixed sources were held still."))
      : good === all
        ? el("details", {}, el("summary", {}, el("span", { class: "verdict identical" }, "✓"), ` ${good} of ${all} control cohort${all === 1 ? " is" : "s are"} bit-identical`), controls())
        : controls(),
    physical.length
      ? titledTable("Physical sources left free while every seeded source was fixed.", table(["cohort", "verdict", "runs", "in words"], physical, 99))
      : null);
}

/** The one numeric axis of the sweep, when there is exactly one with three values or more. */
function numericAxis(study: Study): string | undefined {
  const paths = new Map<string, Set<string>>();
  for (const c of study.cohorts) {
    for (const a of c.axes) paths.set(a.path, (paths.get(a.path) ?? new Set()).add(a.value));
  }
  const numeric = [...paths].filter(([, values]) => values.size >= 3 && [...values].every((v) => v !== "" && Number.isFinite(Number(v))));
  return numeric.length === 1 ? numeric[0]?.[0] : undefined;
}

const MOST_LINES = 8;
const MOST_TICKS = 7;  // In a column of a plan.

/**
 * Ticks at the values that were tried, as they are written; of many, as many as there is room for.
 * Logarithms are taken here: Plot leaves out labels of a logarithmic scale as it likes.
 */
function ticksAt(values: number[], place: (v: number) => number): { ticks: number[]; tickFormat: (at: number) => string } {
  const sorted = [...values].sort((a, b) => a - b);
  const room = (place(sorted.at(-1) ?? 0) - place(sorted[0] ?? 0)) / MOST_TICKS;
  const kept: number[] = [];
  for (const v of sorted) if (kept.length === 0 || place(v) - place(kept.at(-1) ?? 0) >= room * 0.8) kept.push(v);
  return { ticks: kept.map(place), tickFormat: (at) => String(kept.find((v) => place(v) === at) ?? "") };
}

interface AxisPoint {
  x: number;
  y: number;
  low: number | undefined;
  high: number | undefined;
  said: string;
  n: number;
  plan: string;
  hardware: string;
  besides: string;
  under_trained: boolean;
}

function axisPoints(study: Study, path: string): AxisPoint[] {
  return study.cohorts.flatMap((c) => {
    const x = c.axes.find((a) => a.path === path);
    const e = c.any_disagreement;
    const y = finite(e.value);
    if (!x || y === undefined) return [];
    return [{ x: Number(x.value), y: y * 100, low: percent(e.low), high: percent(e.high),
      said: withInterval(e), n: e.n, plan: c.plan, hardware: c.hardware, besides: besides(c, study, path), under_trained: c.under_trained }];
  });
}

/** "4" or "3 to 5". */
function range(numbers: number[]): string {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return least === most ? String(least) : `${least} to ${most}`;
}

/** A line joins cohorts that differ in the axis only: a column for each plan, a row for what else differs. */
function againstAxis(study: Study, path: string, palette: Palette): HTMLElement | null {
  const points = axisPoints(study, path);
  if (points.length === 0) return null;
  const all = [...new Set(points.map((d) => d.besides))];
  const rows = all.slice(0, MOST_LINES);
  const plans = [...new Set(points.map((d) => d.plan))];
  const data = points.filter((d) => rows.includes(d.besides));
  const xs = [...new Set(data.map((d) => d.x))];
  const log = Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) > 20;
  const position = log ? Math.log10 : (v: number) => v;
  const some = data.some((d) => d.under_trained) ? " Hollow: under-trained." : "";
  const cut = all.length > rows.length ? ` The first ${rows.length} of ${all.length} settings.` : "";
  const title = (d: AxisPoint) => `${oneLine(d.plan, d.besides, d.hardware)}\n${path.split(".").at(-1)} ${d.x}: ${d.said}\nn = ${d.n}`;
  const place = { fx: "plan", ...(all.length > 1 ? { fy: "besides" } : {}), x: (d: AxisPoint) => position(d.x) };
  return figure(`Share of ${answered(study).many} on which not all n members agree, against ${path}${ifBounded(data, "; 95 % intervals over examples, not over members: n members cannot show how it spreads over other draws of them")}. It grows with n, which is ${range(data.map((d) => d.n))}; "any of 3" in the table does not.${some}${cut}`,
    () => data.map((d) => ({ [path]: d.x, plan: d.plan, hardware: d.hardware, besides: d.besides, value_percent: d.y, low_percent: d.low, high_percent: d.high, n: d.n })),
    legend(palette),
    wide(plot(`Disagreement against ${path}`, {
      width: 900, height: all.length > 1 ? 70 + 170 * rows.length : 300, marginLeft: 48, marginTop: topMargin(plans), marginBottom: 44,
      marginRight: all.length > 1 ? leftMargin(rows, 900) : 16,
      x: { ...ticksAt(xs, position), label: path, grid: true, inset: 14 },
      y: { label: "not all agree (%)", zero: true, grid: true },
      fx: { label: null, domain: plans },
      fy: { label: null, domain: rows, tickFormat: fitted(900) },
      color: palette,
      marks: [
        Plot.frame({ stroke: GRID }),
        Plot.line(data, { ...place, y: "y", stroke: "hardware", sort: (d: AxisPoint) => d.x }),
        Plot.ruleX(bounded(data), { ...place, y1: "low", y2: "high", stroke: "hardware" }),
        Plot.dot(data.filter((d) => !d.under_trained), { ...place, y: "y", stroke: "hardware", fill: "hardware", r: 3.5, title }),
        Plot.dot(data.filter((d) => d.under_trained), { ...place, y: "y", stroke: "hardware", fill: "var(--paper)", r: 3.5, title }),
      ],
      style: { background: "none", color: INK, fontSize: "12px", overflow: "visible" },
    })));
}

/** "4", or "4 (2 diverged)": every figure of a cohort is over its members that are done. */
function doneCount(c: Cohort, path: string): HTMLElement {
  return el("span", {},
    el("span", { "data-count": `${path}.done` }, String(c.counts.done)),
    c.counts.diverged ? el("span", { class: "interval" }, ` (${c.counts.diverged} diverged)`) : null);
}

function cohortTable(study: Study): HTMLElement {
  const target = study.sweep.reference_accuracy;
  const rows = study.cohorts.map((c) => {
    const at = (name: string) => `${pathOf(c)}.${name}`;
    return [
      el("span", { class: "cohort" }, c.label + (c.under_trained ? " (under-trained)" : "")),
      doneCount(c, at("counts")),
      estimate(c.accuracy, at("accuracy")), estimate(c.accuracy_sd, at("accuracy_sd")), estimate(c.flip_sd, at("flip_sd")),
      estimate(c.churn, at("churn")), estimate(c.any_disagreement, at("any_disagreement")), estimate(c.any_of_3, at("any_of_3")),
      estimate(c.l2_normalised, at("l2_normalised")), estimate(c.loss, at("loss")),
      ...(target === null ? [] : [estimate(c.target_epochs, at("target_epochs"))]),
    ];
  });
  return table(["cohort", "n", "top-1", "SD of top\u20111", "by flips", "churn", "any differ", "any of 3", "L2, unit norm", "loss",
    ...(target === null ? [] : [`epochs to ${Number((100 * target).toPrecision(6))} %`])], rows);
}

/** Cells that differ in their block only; null in a study of one block. */
function blockTable(study: Study): HTMLElement | null {
  if (study.blocks.length === 0) return null;
  const rows = study.blocks.map((b) => {
    const at = (name: string) => `${pathOf(b)}.${name}`;
    return [
      el("span", { class: "cohort" }, b.label), String(b.accuracy.n), estimate(b.accuracy, at("accuracy")),
      estimate(b.accuracy_sd, at("accuracy_sd")), estimate(b.churn, at("churn")),
    ];
  });
  return titledTable("Over blocks, independent draws of the fixed sources: means of top-1 and churn with 95 % intervals over blocks; the SD of top-1 inside a block, from the variance pooled over blocks.",
    table(["cohorts", "blocks", "top-1", "SD inside a block", "churn"], rows));
}

export function sources(study: Study, palette: Palette): HTMLElement {
  const axis = numericAxis(study);
  return section("How much, and from which source?",
    "Each plan frees some sources and fixes the others. A plan's figure is the total effect of what it frees, at the draws of what it holds, one for each block; effects of sources do not add up to the whole.",
    study.cohorts.some((c) => c.counts.done > 0) ? figureOne(study, palette) : el("p", {}, nothing(study, "No member is done.")),
    axis ? againstAxis(study, axis, palette) : null,
    titledTable("Every cohort, with 95 % intervals in brackets; n: members that are done, of which every figure is; by flips: the SD of top-1 that answers which flip independently would give by themselves; any differ: not all members agree, an interval of it over examples, not members: n cannot see how it spreads over other draws of n members; any of 3: of any three of them, whatever n; L2 between unit-length weights, parameters only. Hover a figure for its method, n and what n could have seen.", cohortTable(study)),
    blockTable(study));
}
