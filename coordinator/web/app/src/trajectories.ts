// How trainings part, in answers and in weights: inside cohorts, and between the same draws on two classes or stacks.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, legend, wide } from "./figure";
import { epochTicks } from "./curves";
import { section, withInterval } from "./format";
import { shortPairs } from "./hardware";
import { fewOfEveryPlan, oneLine, setting, topMargin } from "./labels";
import { GRID, INK, Palette } from "./palette";
import { Estimate, finite, Num, Study, Trajectory } from "./study";

const MOST_SETTINGS = 6;

/** What is followed, and its words. */
interface Measure {
  of: (t: Trajectory) => Estimate[];
  name: string;    // In words.
  column: string;  // Of CSV.
  suffix: string;  // Of its bounds.
  axis: string;
  factor: number;
  powers: boolean;  // It may be of many sizes.
  kept: string;
  inside: string;
  across: string;
}

const CHURN: Measure = {
  of: (t) => t.churn, name: "churn", column: "churn_percent", suffix: "_percent", axis: "churn (%)", factor: 100, powers: false, kept: "predictions",
  inside: "Churn of two members of a cohort", across: "Churn between the same draws on two sides" };
const DISTANCE: Measure = {
  of: (t) => t.l2_normalised, name: "L2 distance of weights", column: "l2_normalised", suffix: "", axis: "L2 distance", factor: 1, powers: true, kept: "weights",
  inside: "Distance between the weights of two members of a cohort (L2, each member's scaled to length 1: at right angles it is 1.41)",
  across: "Distance between the weights of the same draws on two sides (L2, each member's scaled to length 1)" };

interface Point {
  facet: string;
  hardware: string;  // Of a cohort.
  z: string;
  epoch: number;
  value: number;
  low: number;
  high: number;
  n: number;
  text: string;
}

function pointsOf(study: Study, some: Trajectory[], measure: Measure): Point[] {
  const cohorts = new Map(study.cohorts.map((c) => [c.cell, c]));
  const classes = shortPairs(study.hardware, "hardware");
  const pairs = new Map([
    ...study.hardware.map((h): [string, string] => [h.label, classes(h)]),
    ...study.stacks.map((h): [string, string] => [h.label, shortPairs(study.stacks, "stacks")(h)])]);
  // Named with both stacks, of which a cohort has one.
  const mixed = new Map(study.hardware.filter((h) => h.mixes_stacks).map((h) => [h.label, h.setting]));
  return some.flatMap((t) => {
    // Of a choice of hardware either side may be left.
    const first = t.cells.flatMap((cell) => cohorts.get(cell) ?? [])[0];
    if (!first) return [];
    // Pairs of classes have no colour of their own: each has its facet.
    const facet = t.factor === null ? setting(first, study) : `${mixed.get(t.label) ?? setting(first, study)}\n${pairs.get(t.label) ?? t.label}`;
    const hardware = t.factor === null ? first.hardware : "";
    const { factor } = measure;
    if (measure.of(t).every((estimate) => finite(estimate.value) === undefined)) return [];
    // What is not there is a gap.
    const scaled = (number: Num) => (finite(number) ?? NaN) * factor;
    return measure.of(t).map((estimate, i) => ({
      facet, hardware, z: t.label, epoch: t.epochs[i] ?? 0, value: scaled(estimate.value),
      low: scaled(estimate.low), high: scaled(estimate.high), n: estimate.n,
      text: `${oneLine(facet, hardware)}, epoch ${t.epochs[i]}\n${measure.name} ${withInterval(estimate)}\nn = ${estimate.n}${estimate.note ? `\n${estimate.note}` : ""}` }));
  });
}

const LINEAR: Plot.ScaleOptions = { nice: true, zero: true };

/** Numbers of several powers of ten: a poke's begin at the last digit. From 0, which has no logarithm. */
function powersOf(points: Point[]): Plot.ScaleOptions {
  const sizes = points.flatMap((p) => [p.value, p.low, p.high]).filter((size) => size > 0);
  const least = Math.min(...points.map((p) => p.value).filter((size) => size > 0));
  const most = Math.max(...sizes);
  if (!(most > 100 * least)) return LINEAR;
  const first = Math.floor(Math.log10(least));
  const powers = Array.from({ length: Math.floor(Math.log10(most)) - first + 1 }, (_, k) => 10 ** (first + k));
  return { type: "symlog", constant: 10 ** (first - 1), domain: [0, 1.2 * most], ticks: [0, ...powers],
    tickFormat: (size: number) => (size === 0 || size >= 0.01 ? `${size}` : size.toExponential(0).replace("-", "−")) };
}

function drawn(title: string, measure: Measure, points: Point[], facets: string[], palette: Palette | null): Element {
  const shown = points.filter((p) => facets.includes(p.facet));
  const colour = palette ? "hardware" : INK;
  return plot(title, {
    width: 900, height: 190 + topMargin(facets), marginLeft: 46, marginTop: topMargin(facets), marginBottom: 34,
    x: { label: "epoch", grid: true, ticks: epochTicks(shown.map((p) => p.epoch)), tickFormat: "d" },
    y: { label: measure.axis, grid: true, ...(measure.powers ? powersOf(shown) : LINEAR) },
    fx: { domain: facets, label: null, padding: 0.18 },
    ...(palette ? { color: palette } : {}),
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.areaY(shown, { fx: "facet", x: "epoch", y1: "low", y2: "high", fill: colour, z: "z", fillOpacity: 0.15 }),
      Plot.line(shown, { fx: "facet", x: "epoch", y: "value", z: "z", stroke: colour, strokeWidth: 2, marker: "dot" }),
      Plot.dot(shown, { fx: "facet", x: "epoch", y: "value", r: 5, fill: "transparent", title: "text" }),
    ],
    style: { background: "none", color: INK, fontSize: "11px" },
  });
}

const there = (size: number) => (Number.isNaN(size) ? undefined : size);

function rowsOf(points: Point[], { column, suffix }: Measure) {
  return points.filter((p) => !Number.isNaN(p.value)).map((p) => ({ setting: oneLine(p.facet), hardware: p.hardware || undefined, epoch: p.epoch, [column]: p.value,
    [`low${suffix}`]: there(p.low), [`high${suffix}`]: there(p.high), n: p.n }));
}

function followed(study: Study, measure: Measure, palette: Palette): (HTMLElement | null)[] {
  const inside = pointsOf(study, study.trajectories.filter((t) => t.factor === null), measure);
  const across = pointsOf(study, study.trajectories.filter((t) => t.factor !== null), measure);
  const facets = (points: Point[]) => fewOfEveryPlan([...new Set(points.map((p) => p.facet))], MOST_SETTINGS);
  const cut = (points: Point[]) => {
    const all = new Set(points.map((p) => p.facet)).size;
    return all > MOST_SETTINGS ? ` ${MOST_SETTINGS} of ${all} are drawn, of every plan the first.` : "";
  };
  const title = measure.name[0]?.toUpperCase() + measure.name.slice(1);
  return [
    inside.length === 0 ? null : figure(`${measure.inside} at each evaluation whose ${measure.kept} were kept; bands, where there is one, are 95\u00a0% intervals, each evaluation on its own.${cut(inside)}`,
      () => rowsOf(inside, measure), legend(palette), wide(drawn(`${title} inside cohorts over training`, measure, inside, facets(inside), palette))),
    across.length === 0 ? null : figure(`${measure.across} at each evaluation whose ${measure.kept} were kept; bands, where there is more than one draw, are 95\u00a0% intervals over draws.${cut(across)}`,
      () => rowsOf(across, measure), wide(drawn(`${title} between two sides over training`, measure, across, facets(across), null)))];
}

export function trajectories(study: Study, palette: Palette): HTMLElement | null {
  if (study.trajectories.length === 0) return null;
  return section("How trainings part", "How far apart members are after each evaluation: in what they answer, and in their weights.", ...followed(study, CHURN, palette), ...followed(study, DISTANCE, palette));
}
