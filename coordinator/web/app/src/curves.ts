// Accuracy and loss over training, by hardware.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, legend, wide } from "./figure";
import { nothing, number, section } from "./format";
import { fewOfEveryPlan, oneLine, setting, topMargin } from "./labels";
import { GRID, INK, Palette } from "./palette";
import { finite, Study } from "./study";

const MOST_SETTINGS = 6;
const MOST_TOLD = 400;  // Points of means in a drawing that say what they are.
const MOST_MARKED = 12;  // Beyond, a dot for each point hides the line.

interface Metric {
  name: string;
  label: string;
  scale: number;
}

const METRICS: Metric[] = [
  { name: "test_top1", label: "top-1 (%)", scale: 100 },
  { name: "test_top5", label: "top-5 (%)", scale: 100 },
  { name: "test_loss", label: "test loss (nats)", scale: 1 },
  { name: "train_loss", label: "training loss (nats)", scale: 1 },
];

/** Of any number of values: a call takes only so many arguments. */
function extent(values: number[]): [number, number] {
  return values.reduce<[number, number]>(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);
}

/** At most four whole epochs. */
export function epochTicks(epochs: number[]): number[] {
  const last = Math.ceil(Math.max(0, ...epochs));
  const step = Math.max(1, Math.ceil(last / 4));
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step).filter((e) => e >= Math.min(...epochs));
}

/** Where a cell is drawn: its facet and its colour. */
type Places = Map<number, { facet: string; hardware: string }>;

function placesOf(study: Study): Places {
  return new Map(study.cohorts.map((c) => [c.cell, { facet: setting(c, study), hardware: c.hardware }]));
}

function drawMetric(study: Study, places: Places, facets: string[], { name, label, scale }: Metric, palette: Palette): Element | null {
  const chosen = study.curves.filter((c) => c.metric === name && facets.includes(places.get(c.cell)?.facet ?? ""));
  const lines = chosen.flatMap((c) => c.members.flatMap((m) => m.values.flatMap((v, i) => {
    const y = finite(v);
    return y === undefined ? [] : [{ id: m.id, ...places.get(c.cell), epoch: c.epochs[i], y: y * scale }];
  })));
  const bands = chosen.flatMap((c) => c.mean.flatMap((v, i) => {
    const mean = finite(v);
    if (mean === undefined) return [];
    const unit = scale === 1 ? "nats" : "fraction";
    // Of one member, or of members that share draws, there is none: no band, not one of no width.
    const sd = finite(c.sd[i]) ?? NaN;
    const said = `mean ${number(mean, unit)}${Number.isNaN(sd) ? "" : `, SD ${number(sd, unit)}`}`;
    return [{ cell: c.cell, ...places.get(c.cell), epoch: c.epochs[i], n: c.n[i] ?? 0, said, mean: mean * scale, low: (mean - sd) * scale, high: (mean + sd) * scale }];
  }));
  if (lines.length === 0) return null;
  const done = new Set(study.members.filter((m) => m.state === "done").map((m) => m.id));
  const shown: number[] = [...lines.filter((l) => done.has(l.id)).map((l) => l.y), ...bands.flatMap((b) => (Number.isNaN(b.low) ? [b.mean] : [b.low, b.high]))];
  const few = chosen.every((c) => c.epochs.length <= MOST_MARKED);
  return plot(`${label} over training`, {
    width: 900, height: 170 + topMargin(facets), marginLeft: 46, marginTop: topMargin(facets), marginBottom: 34,
    x: { label: "epoch", grid: true, ticks: epochTicks(chosen.flatMap((c) => c.epochs)), tickFormat: "d" },
    y: { label, grid: true, nice: true, ...(shown.length ? { domain: extent(shown) } : {}) },
    fx: { domain: facets, label: null, padding: 0.18 },
    color: palette,
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.areaY(bands, { fx: "facet", x: "epoch", y1: "low", y2: "high", fill: "hardware", z: "cell", fillOpacity: 0.18, clip: true }),
      Plot.line(lines, { fx: "facet", x: "epoch", y: "y", z: "id", stroke: "hardware", strokeWidth: 0.6, strokeOpacity: 0.5, clip: true }),
      ...(bands.length <= MOST_TOLD
        ? [Plot.dot(bands, { fx: "facet", x: "epoch", y: "mean", r: 5, fill: "transparent", title: (b) => `${oneLine(b.facet ?? "", b.hardware ?? "")}, epoch ${b.epoch}\n${b.said}\nn = ${b.n}` })]
        : []),
      Plot.line(bands, { fx: "facet", x: "epoch", y: "mean", z: "cell", stroke: "hardware", strokeWidth: 2, ...(few ? { marker: "dot" } : {}) }),
    ],
    style: { background: "none", color: INK, fontSize: "11px" },
  });
}

function rowsOf(study: Study, facets: string[], places: Places) {
  return study.curves.filter((c) => facets.includes(places.get(c.cell)?.facet ?? "")).flatMap((c) => c.members.flatMap((m) => m.values.map((v, i) => (
    { metric: c.metric, setting: places.get(c.cell)?.facet, hardware: places.get(c.cell)?.hardware, member: m.id, epoch: c.epochs[i], value: v ?? undefined }))));
}

const FEW_CLASSES = 5;  // Of which the five likeliest are all.

export function curves(study: Study, palette: Palette): HTMLElement {
  const places = placesOf(study);
  const all = [...new Set(study.curves.flatMap((c) => places.get(c.cell)?.facet ?? []))];
  const facets = fewOfEveryPlan(all, MOST_SETTINGS);
  const metrics = METRICS.filter((m) => m.name !== "test_top5" || study.evaluation.classes > FEW_CLASSES);
  const drawn = metrics.map((metric) => drawMetric(study, places, facets, metric, palette));
  if (drawn.every((d) => d === null)) return section("Over training", nothing(study, "No evaluation was recorded."));
  return section("Over training", "",
    figure(`Each thin line is a member, thick lines are means over a cohort, bands one standard deviation either side, where there is one. Members whose values are not finite have no line there; those that diverged leave the frame where no other member is.${all.length > facets.length ? ` ${facets.length} of ${all.length} plans and settings, of every plan the first.` : ""}`,
      () => rowsOf(study, facets, places),
      legend(palette), wide(...drawn)));
}
