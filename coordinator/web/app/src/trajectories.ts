// How churn grows over training: inside cohorts, and between the same draws on two classes or stacks.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, legend, wide } from "./figure";
import { epochTicks } from "./curves";
import { section, withInterval } from "./format";
import { shortPairs } from "./hardware";
import { fewOfEveryPlan, oneLine, setting, topMargin } from "./labels";
import { GRID, INK, Palette } from "./palette";
import { finite, Study, Trajectory } from "./study";

const MOST_SETTINGS = 6;

interface Point {
  facet: string;
  hardware: string;  // Of a cohort.
  z: string;
  epoch: number;
  churn: number;
  low: number;
  high: number;
  n: number;
  text: string;
}

function pointsOf(study: Study, some: Trajectory[]): Point[] {
  const cohorts = new Map(study.cohorts.map((c) => [c.cell, c]));
  const pairs = new Map([
    ...study.hardware.map((h): [string, string] => [h.label, shortPairs(study.hardware, "hardware")(h)]),
    ...study.stacks.map((h): [string, string] => [h.label, shortPairs(study.stacks, "stacks")(h)])]);
  return some.flatMap((t) => {
    const first = cohorts.get(t.cells[0] ?? -1);
    if (!first) return [];
    // Pairs of classes have no colour of their own: each has its facet.
    const facet = t.factor === null ? setting(first, study) : `${setting(first, study)}\n${pairs.get(t.label) ?? t.label}`;
    const hardware = t.factor === null ? first.hardware : "";
    return t.churn.flatMap((churn, i) => {
      const value = finite(churn.value);
      if (value === undefined) return [];
      return [{ facet, hardware, z: t.label, epoch: t.epochs[i] ?? 0, churn: value * 100,
        low: (finite(churn.low) ?? value) * 100, high: (finite(churn.high) ?? value) * 100, n: churn.n,
        text: `${oneLine(facet, hardware)}, epoch ${t.epochs[i]}\nchurn ${withInterval(churn)}\nn = ${churn.n}` }];
    });
  });
}

function drawn(title: string, points: Point[], facets: string[], palette: Palette | null): Element {
  const shown = points.filter((p) => facets.includes(p.facet));
  const colour = palette ? "hardware" : INK;
  return plot(title, {
    width: 900, height: 190 + topMargin(facets), marginLeft: 46, marginTop: topMargin(facets), marginBottom: 34,
    x: { label: "epoch", grid: true, ticks: epochTicks(shown.map((p) => p.epoch)), tickFormat: "d" },
    y: { label: "churn (%)", grid: true, nice: true, zero: true },
    fx: { domain: facets, label: null, padding: 0.18 },
    ...(palette ? { color: palette } : {}),
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.areaY(shown, { fx: "facet", x: "epoch", y1: "low", y2: "high", fill: colour, z: "z", fillOpacity: 0.15 }),
      Plot.line(shown, { fx: "facet", x: "epoch", y: "churn", z: "z", stroke: colour, strokeWidth: 2, marker: "dot" }),
      Plot.dot(shown, { fx: "facet", x: "epoch", y: "churn", r: 5, fill: "transparent", title: "text" }),
    ],
    style: { background: "none", color: INK, fontSize: "11px" },
  });
}

export function trajectories(study: Study, palette: Palette): HTMLElement | null {
  if (study.trajectories.length === 0) return null;
  const inside = pointsOf(study, study.trajectories.filter((t) => t.factor === null));
  const across = pointsOf(study, study.trajectories.filter((t) => t.factor !== null));
  const facets = (points: Point[]) => fewOfEveryPlan([...new Set(points.map((p) => p.facet))], MOST_SETTINGS);
  const rows = (points: Point[]) => points.map((p) => ({ setting: oneLine(p.facet), hardware: p.hardware || undefined, epoch: p.epoch, churn_percent: p.churn, low_percent: p.low, high_percent: p.high, n: p.n }));
  const cut = (points: Point[]) => {
    const all = new Set(points.map((p) => p.facet)).size;
    return all > MOST_SETTINGS ? ` ${MOST_SETTINGS} of ${all} are drawn, of every plan the first.` : "";
  };
  return section("How trainings part", "",
    inside.length === 0 ? null : figure(`Churn of two members of a cohort at each evaluation whose predictions were kept; bands are 95 % intervals, each evaluation on its own.${cut(inside)}`,
      () => rows(inside), legend(palette), wide(drawn("Churn inside cohorts over training", inside, facets(inside), palette))),
    across.length === 0 ? null : figure(`Churn between the same draws on two sides at each evaluation; bands are 95 % intervals over draws, and none where there is one draw.${cut(across)}`,
      () => rows(across), wide(drawn("Churn between two sides over training", across, facets(across), null))));
}
