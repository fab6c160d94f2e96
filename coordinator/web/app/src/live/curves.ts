// Losses and accuracies while they are measured.
import * as Plot from "@observablehq/plot";
import { plot } from "../draw";
import { GRID, INK } from "../palette";
import { RecordedValue } from "./types";

export interface Series {
  name: string;
  /** What tells its colour. */
  of: string;
  values: RecordedValue[];
}

const LABELS: Record<string, string> = {
  train_loss: "training loss (nats)", train_loss_epoch: "training loss of an epoch (nats)",
  test_loss: "test loss (nats)", test_top1: "top-1 (%)", test_top5: "top-5 (%)",
};
/** Beyond, values between others are left out: a line has no more places for them. */
const MOST_POINTS = 1500;

export function labelOf(metric: string): string {
  return LABELS[metric] ?? metric.replaceAll("_", " ");
}

/** With what came later of the same lease; what is told twice is there once. */
export function joined(before: RecordedValue[], later: RecordedValue[]): RecordedValue[] {
  if (before.length === 0 || later.length === 0) return before.length ? before : later;
  const first = Number(later[0]?.step ?? 0);
  const known = new Set(before.filter((v) => Number(v.step) >= first).map((v) => `${v.step} ${v.name}`));
  return [...before, ...later.filter((v) => !known.has(`${v.step} ${v.name}`))];
}

/** Room round one value: else ticks would have more digits than are shown. */
function domainOf(values: number[]): [number, number] {
  const [low, high] = values.reduce<[number, number]>(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const room = high > low ? 0 : Math.max(Math.abs(high) / 10, 0.1);
  return [low - room, high + room];
}

/** One metric of all series over the steps; null where no value is finite. */
export function curve(metric: string, series: Series[], colours: { domain: string[]; range: string[] }, width: number): Element | null {
  const scale = metric.startsWith("test_top") ? 100 : 1;
  const points = series.flatMap((s) => {
    const own = s.values.filter((v) => v.name === metric);
    const every = Math.ceil(own.length / MOST_POINTS);
    return own.filter((_, i) => i % every === 0 || i === own.length - 1).flatMap((v) => {
      return typeof v.value !== "number" ? [] : [{ name: s.name, of: s.of, step: Number(v.step), y: v.value * scale }];
    });
  });
  if (points.length === 0) return null;
  const last = series.flatMap((s) => points.filter((p) => p.name === s.name).slice(-1));
  return plot(`${labelOf(metric)} over steps`, {
    width, height: 200, marginLeft: 52, marginBottom: 34,
    x: { label: "step", grid: true, tickFormat: "d", ...(new Set(points.map((p) => p.step)).size === 1 ? { ticks: [points[0]?.step ?? 0] } : {}) },
    y: { label: labelOf(metric), grid: true, nice: true, domain: domainOf(points.map((p) => p.y)) },
    color: colours,
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.line(points, { x: "step", y: "y", z: "name", stroke: "of", strokeWidth: 1.3 }),
      Plot.dot(last, { x: "step", y: "y", fill: "of", r: 3.5, title: (p: { name: string; step: number; y: number }) => `${p.name}, step ${p.step}\n${labelOf(metric)} ${p.y.toPrecision(4)}` }),
    ],
    style: { background: "none", color: INK, fontSize: "11px" },
  });
}
