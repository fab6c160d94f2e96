// Who pays: which classes of the data set are hit.
import * as Plot from "@observablehq/plot";
import { el, figure, section } from "./format";
import { GRID, INK, Palette } from "./palette";
import { legend } from "./sources";
import { finite, Study } from "./study";

const MOST_CLASSES = 30;

export function classes(study: Study, palette: Palette): HTMLElement {
  const plans = [...new Set(study.cohorts.filter((c) => !c.all_fixed && c.per_class.length).map((c) => c.plan))].slice(0, 4);
  const data = study.cohorts.filter((c) => plans.includes(c.plan)).flatMap((c) => c.per_class.flatMap((k) => {
    const churn = finite(k.churn.value);
    const sd = finite(k.accuracy_sd.value);
    if (churn === undefined || sd === undefined) return [];
    return [{ plan: c.plan, hardware: c.hardware, name: k.name || String(k.label), churn: churn * 100, sd: sd * 100,
      low: (finite(k.churn.low) ?? churn) * 100, high: (finite(k.churn.high) ?? churn) * 100, examples: k.examples }];
  }));
  if (data.length === 0) return section("Who pays?", "No cohort with free sources has two members with predictions.");
  const total = new Map<string, number>();
  for (const d of data) total.set(d.name, (total.get(d.name) ?? 0) + d.churn);
  const names = [...total.keys()].sort((a, b) => (total.get(b) ?? 0) - (total.get(a) ?? 0));
  const shown = names.slice(0, MOST_CLASSES);
  return section("Who pays?",
    "Noise does not fall evenly: some classes change their answer from run to run far more often than the average.",
    figure(`Churn within each class of the data set, by plan and hardware, most affected first; 95 % intervals.${names.length > shown.length ? ` The ${shown.length} most affected of ${names.length} classes.` : ""}`,
      legend(palette),
      el("div", {}, Plot.plot({
        width: 900, height: 60 + shown.length * (10 + palette.domain.length * 6), marginLeft: 110, marginBottom: 36,
        x: { label: "churn within the class (%)", grid: true, zero: true },
        y: { domain: palette.domain, axis: null, padding: 0.2 },
        fy: { domain: shown, label: null, axis: "left", padding: 0.2 },
        fx: { domain: plans, label: null },
        color: palette,
        marks: [
          Plot.frame({ stroke: GRID }),
          Plot.ruleY(data, { fx: "plan", fy: "name", y: "hardware", x1: "low", x2: "high", stroke: "hardware", strokeWidth: 1.4 }),
          Plot.dot(data, { fx: "plan", fy: "name", y: "hardware", x: "churn", fill: "hardware", r: 2.8, tip: true, channels: { "SD of accuracy": "sd", examples: "examples" } }),
        ],
        style: { background: "none", color: INK, fontSize: "11px" },
        ariaLabel: "Churn by class of the data set",
      }))));
}
