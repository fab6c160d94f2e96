// Figure 1: every member, the spread of top-1, churn inside a class, and what changing only the
// hardware does. Colours mean hardware, rows are plans and settings.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { el, number, withInterval } from "./format";
import { figure, legend } from "./figure";
import { shortPairs } from "./hardware";
import { fitted, leftMargin, oneLine, overBlocks, rowHeight, setting } from "./labels";
import { GRID, INK, Palette } from "./palette";
import { answered, bounded, Cohort, Comparison, Estimate, finite, ifBounded, percent, Study } from "./study";

const MOST_GROUPS = 40;
const MOST_PAIRS = 6;  // Beyond, pairs of classes share a row, hollow and without intervals.
const STYLE = { background: "none", color: INK, fontSize: "12px", overflow: "visible" };

interface Dot {
  group: string;
  row: string;  // In the group: a class of hardware, or two.
  value: number;
  low: number | undefined;
  high: number | undefined;
  n: number;
  text: string;
}

function dot(group: string, row: string, e: Estimate, what: string): Dot[] {
  const value = finite(e.value);
  if (value === undefined) return [];
  return [{ group, row, value: value * 100, low: percent(e.low), high: percent(e.high), n: e.n,
    text: `${oneLine(group, row)}\n${what} ${withInterval(e)}\nn = ${e.n}` }];
}

const WIDTH = 500; // Of a panel, in pixels.
const BESIDE_PAIRS = 450; // There are labels on both sides: as beside a drawing of that width.

/** Room and scales that the panels share: one facet a setting. */
function frame(groups: string[], rows: number): Plot.PlotOptions {
  return {
    width: WIDTH, marginLeft: leftMargin(groups, WIDTH), marginRight: 16, marginTop: 24, marginBottom: 40,
    height: 64 + groups.length * rowHeight(groups, rows),
    fy: { domain: groups, label: null, padding: 0.18, axis: "left", tickFormat: fitted(WIDTH) },
    style: STYLE,
  };
}

/** Draws nothing: frames and axes are only where a mark has data, and settings without a value have a row, too. */
function everyRow(groups: string[]): Plot.Markish {
  return Plot.dot(groups, { fy: (group: string) => group, x: () => NaN });
}

function panel(letter: string, title: string, drawing: Element): HTMLElement {
  return el("div", { class: "panel" }, el("p", {}, el("b", {}, letter), ` ${title}`), drawing);
}

/** Dots with intervals: one facet a setting, one row a class of hardware. */
function dots(data: Dot[], palette: Palette, groups: string[], rows: number, label: string, said: string): Element {
  return plot(said, {
    ...frame(groups, rows),
    x: { label, grid: true, zero: true, nice: true, ...(data.every((d) => d.value === 0 && !d.high) ? { domain: [0, 1] } : {}) },
    y: { domain: palette.domain, axis: null, padding: 0.4 },
    color: palette,
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.ruleY(bounded(data), { fy: "group", y: "row", x1: "low", x2: "high", stroke: "row", strokeWidth: 2.2 }),
      Plot.dot(data, { fy: "group", y: "row", x: "value", fill: "row", r: 4.2, title: "text" }),
      everyRow(groups),
    ],
  });
}

interface Point {
  group: string;
  row: string;
  member: string;
  top1: number;
  text: string;
}

function memberPoints(study: Study, cohorts: Cohort[]): Point[] {
  const of = new Map(cohorts.map((c) => [c.cell, c]));
  return study.members.flatMap((m) => {
    const c = of.get(m.cell);
    const top1 = finite(m.final_metrics["top1"]);
    if (!c || m.state !== "done" || top1 === undefined) return [];
    return [{ group: setting(c, study), row: c.hardware, member: m.id, top1: top1 * 100,
      text: `${m.id}: ${oneLine(setting(c, study), c.hardware)}\ntop-1 ${number(top1, "fraction")}` }];
  });
}

/** One value alone has a point to either side. */
function aroundOne(values: number[]): { domain?: [number, number] } {
  const [first] = values;
  return first !== undefined && values.every((v) => Math.abs(v - first) < 1e-9) ? { domain: [first - 1, first + 1] } : {};
}

function everyMember(points: Point[], means: Dot[], palette: Palette, groups: string[], rows: number): Element {
  return plot("Top-1 of every member", {
    ...frame(groups, rows),
    x: { label: "top-1 (%)", grid: true, nice: true, ...aroundOne([...points.map((p) => p.top1), ...means.map((d) => d.value)]) },
    y: { domain: palette.domain, axis: null, padding: 0.4 },
    color: palette,
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.dot(points, { fy: "group", y: "row", x: "top1", stroke: "row", fill: "none", r: 3, title: "text" }),
      Plot.tickX(means, { fy: "group", y: "row", x: "value", stroke: "row", strokeWidth: 3, title: "text" }),
      everyRow(groups),
    ],
  });
}

/** The floor is the mean of the churn inside the two sides. */
interface Change extends Dot {
  floor: number | undefined;
  freed: boolean;  // By its plan: physical sources, which differ as well.
}

function changes(study: Study, groups: string[]): Change[] {
  const pair = shortPairs(study.hardware, "hardware");
  return study.hardware.flatMap((h: Comparison) => {
    const like = study.cohorts.find((c) => [...h.cells_a, ...h.cells_b].includes(c.cell));
    // Of other stacks, too, it is not the hardware only.
    if (h.pairs === 0 || h.mixes_stacks || !like || !groups.includes(setting(like, study))) return [];
    const group = h.cells_a.length > 1 ? overBlocks(like, study) : setting(like, study);
    const [a, b] = [finite(h.churn_within_a.value), finite(h.churn_within_b.value)];
    const floor = a === undefined || b === undefined ? undefined : (a + b) * 50;
    const beside = floor === undefined ? "" : `\nnoise floor: ${number(floor / 100, "fraction")} inside a class`;
    return dot(group, pair(h), h.churn_paired, "same draws, other hardware: churn")
      .map((d) => ({ ...d, floor, freed: !h.kernels_fixed, text: d.text + beside }));
  });
}

function pairsOf(data: Change[]): string[] {
  return [...new Set(data.map((d) => d.row))];
}

/** Rows of a setting; 0 without pairs. */
function rowsOfPairs(data: Change[]): number {
  const pairs = pairsOf(data).length;
  return pairs <= MOST_PAIRS ? pairs : 2;
}

function onlyTheHardware(data: Change[], rows: number): Element {
  const groups = [...new Set(data.map((d) => d.group))];
  const pairs = pairsOf(data);
  const apart = pairs.length <= MOST_PAIRS;
  const y = apart ? "row" : () => "";
  return plot("Churn from changing only the hardware", {
    ...frame(groups, rows),
    ...(apart ? { marginRight: leftMargin(pairs, BESIDE_PAIRS) } : {}),
    x: { label: "answers that change (%)", grid: true, zero: true, nice: true },
    y: { domain: apart ? pairs : [""], axis: apart ? "right" : null, label: null, tickSize: 0, padding: 0.4, tickFormat: fitted(BESIDE_PAIRS) },
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.tickX(data.filter((d) => d.floor !== undefined), { fy: "group", y, x: "floor", stroke: "var(--soft)", strokeWidth: 2 }),
      ...(apart ? [Plot.ruleY(bounded(data), { fy: "group", y, x1: "low", x2: "high", stroke: INK, strokeWidth: 1.6 })] : []),
      Plot.dot(data, { fy: "group", y, x: "value", ...(apart ? { fill: INK } : { stroke: INK, strokeOpacity: 0.5, fill: "none" }), r: 3.6, title: "text" }),
    ],
  });
}

interface Data {
  points: Point[];
  means: Dot[];
  spread: Dot[];
  churn: Dot[];
  hardware: Change[];
}

interface Panel {
  title: string;
  said: string;  // In the caption.
  rows: number;  // Of a setting.
  bars: boolean;  // It draws intervals.
  drawing: (rows: number) => Element;
}

function saidOfHardware(data: Change[], bars: boolean): string {
  return [
    "churn of pairs that share every draw and differ in their hardware",
    ...(data.some((d) => d.freed) ? [" (and in physical sources, where the plan frees them)"] : []),
    ...(bars ? [", with Student's t over draws"] : []),
    ...(data.some((d) => d.floor !== undefined) ? ["; grey: the noise floor, the mean of the churn inside the two classes"] : []), ".",
    ...(pairsOf(data).length > MOST_PAIRS ? [" All pairs of classes share a row, without intervals; the table has them."] : []),
  ].join("");
}

/** Those that have something to show: no empty frames. */
function panelsOf(study: Study, { points, means, spread, churn, hardware }: Data, palette: Palette, groups: string[]): Panel[] {
  const classes = palette.domain.length;
  const bars = (data: Dot[]) => bounded(data).length > 0;
  const barsOfPairs = bars(hardware) && pairsOf(hardware).length <= MOST_PAIRS;
  const all: (Panel & { there: boolean })[] = [
    { there: points.length + means.length > 0, title: "Every member", rows: classes, bars: false,
      said: "top-1 of every member (circles) and its mean.",
      drawing: (rows) => everyMember(points, means, palette, groups, rows) },
    { there: spread.length > 0, title: "Spread of accuracy", rows: classes, bars: bars(spread),
      said: `standard deviation of top-1 over members${ifBounded(spread, "; its intervals assume normal values")}.`,
      drawing: (rows) => dots(spread, palette, groups, rows, "SD of top-1 (percentage points)", "Standard deviation of top-1") },
    { there: churn.length > 0, title: "Churn inside a class", rows: classes, bars: bars(churn),
      said: `churn, the share of ${answered(study).many} on which two members of a cohort disagree, mean over pairs${ifBounded(churn, "; intervals leave out one member from all its pairs")}.`,
      drawing: (rows) => dots(churn, palette, groups, rows, "churn (%)", "Churn inside a class") },
    { there: hardware.length > 0, title: "Changing only the hardware", rows: rowsOfPairs(hardware),
      bars: barsOfPairs,
      said: saidOfHardware(hardware, barsOfPairs), drawing: (rows) => onlyTheHardware(hardware, rows) },
  ];
  return all.filter((p) => p.there);
}

/** Nothing where members have neither answers nor top-1. */
export function figureOne(study: Study, palette: Palette): HTMLElement | null {
  const measured = study.cohorts.filter((c) => c.counts.done > 0);
  const all = [...new Set(study.cohorts.map((c) => setting(c, study)))];
  const known = [...new Set(measured.map((c) => setting(c, study)))];
  const groups = known.slice(0, MOST_GROUPS);
  const cohorts = measured.filter((c) => groups.includes(setting(c, study)));
  const of = (pick: (c: Cohort) => Estimate, what: string) => cohorts.flatMap((c) => dot(setting(c, study), c.hardware, pick(c), what));
  const data: Data = {
    points: memberPoints(study, cohorts), means: of((c) => c.accuracy, "mean of top-1"), spread: of((c) => c.accuracy_sd, "SD of top-1"),
    churn: of((c) => c.churn, "churn"), hardware: changes(study, groups),
  };
  const named: [string, Dot[]][] = [["mean of top-1", data.means], ["SD of top-1", data.spread], ["churn inside a class", data.churn], ["only the hardware", data.hardware]];
  const rows = [
    ...data.points.map((p) => ({ panel: "every member", setting: p.group, row: p.row, member: p.member, value_percent: p.top1 })),
    ...named.flatMap(([name, some]) => some.map((d) => ({ panel: name, setting: d.group, row: d.row, value_percent: d.value, low_percent: d.low, high_percent: d.high, n: d.n }))),
  ];
  const panels = panelsOf(study, data, palette, groups);
  if (panels.length === 0) return null;
  const letter = (i: number) => "abcd".charAt(i);
  // As high as its neighbour.
  const height = (i: number) => Math.max(panels[i]?.rows ?? 0, panels[i ^ 1]?.rows ?? 0);
  // Of no panel: where all are such, that of the hardware is not there.
  const mixed = study.hardware.some((h) => h.mixes_stacks && h.pairs > 0) ? " Without pairs of classes whose stacks differ as well." : "";
  return figure(`${panels.map((p, i) => `${letter(i)}: ${p.said}`).join(" ")}${panels.some((p) => p.bars) ? " Bars are 95 % intervals." : ""}${mixed}${known.length < all.length ? ` Without ${all.length - known.length} of ${all.length} plans and settings, in which no member is done.` : ""}${groups.length < known.length ? ` The first ${groups.length} of ${known.length} plans and settings; the table has all.` : ""}`,
    () => rows,
    legend(palette),
    el("div", { class: "pair" }, ...panels.map((p, i) => panel(letter(i), p.title, p.drawing(height(i))))));
}
