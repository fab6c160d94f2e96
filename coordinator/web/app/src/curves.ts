// Accuracy and loss over training, by hardware.
import * as Plot from "@observablehq/plot";
import { el, figure, section } from "./format";
import { GRID, INK, Palette } from "./palette";
import { legend } from "./sources";
import { finite, Study } from "./study";

const METRICS: [string, string, number][] = [
  ["test_top1", "top-1 (%)", 100],
  ["test_top5", "top-5 (%)", 100],
  ["test_loss", "test loss (nats)", 1],
  ["train_loss", "training loss (nats)", 1],
];

/** At most four whole epochs. */
function epochTicks(epochs: number[]): number[] {
  const last = Math.ceil(Math.max(0, ...epochs));
  const step = Math.max(1, Math.ceil(last / 4));
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step).filter((e) => e >= Math.min(...epochs));
}

function drawMetric(study: Study, metric: string, label: string, scale: number, palette: Palette): Element | null {
  const cohort = new Map(study.cohorts.map((c) => [c.cell, c]));
  const chosen = study.curves.filter((c) => c.metric === metric);
  const facet = (cell: number) => [cohort.get(cell)?.plan, cohort.get(cell)?.axes_label].filter(Boolean).join(", ");
  const facets = [...new Set(chosen.map((c) => facet(c.cell)))].slice(0, 6);
  const lines = chosen.flatMap((c) => c.members.flatMap((m) => m.values.flatMap((v, i) => {
    const y = finite(v);
    return y === undefined ? [] : [{ id: m.id, facet: facet(c.cell), hardware: cohort.get(c.cell)?.hardware, epoch: c.epochs[i], y: y * scale }];
  }))).filter((d) => facets.includes(d.facet));
  const bands = chosen.flatMap((c) => c.mean.flatMap((v, i) => {
    const mean = finite(v);
    if (mean === undefined) return [];
    const sd = finite(c.sd[i]) ?? 0;
    return [{ cell: c.cell, facet: facet(c.cell), hardware: cohort.get(c.cell)?.hardware, epoch: c.epochs[i],
      mean: mean * scale, low: (mean - sd) * scale, high: (mean + sd) * scale }];
  })).filter((d) => facets.includes(d.facet));
  if (lines.length === 0) return null;
  return Plot.plot({
    width: 900, height: 190, marginLeft: 46, marginBottom: 34,
    x: { label: "epoch", grid: true, ticks: epochTicks(chosen.flatMap((c) => c.epochs)), tickFormat: "d" },
    y: { label, grid: true, nice: true },
    fx: { domain: facets, label: null },
    color: palette,
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.areaY(bands, { fx: "facet", x: "epoch", y1: "low", y2: "high", fill: "hardware", z: "cell", fillOpacity: 0.18 }),
      Plot.line(lines, { fx: "facet", x: "epoch", y: "y", z: "id", stroke: "hardware", strokeWidth: 0.6, strokeOpacity: 0.5 }),
      Plot.line(bands, { fx: "facet", x: "epoch", y: "mean", z: "cell", stroke: "hardware", strokeWidth: 2, marker: "dot" }),
    ],
    style: { background: "none", color: INK, fontSize: "11px" },
    ariaLabel: label,
  });
}

export function curves(study: Study, palette: Palette): HTMLElement {
  const drawn = METRICS.map(([metric, label, scale]) => drawMetric(study, metric, label, scale, palette));
  if (drawn.every((d) => d === null)) return section("Over training", "No evaluation was recorded.");
  return section("Over training", "",
    figure("Each thin line is a member, thick lines are means over a cohort, bands one standard deviation either side. Members whose values are not finite have no line there.",
      legend(palette), el("div", { class: "stack" }, ...drawn)));
}
