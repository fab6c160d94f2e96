// What averaging the probabilities of several members buys.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, legend, titledTable, wide } from "./figure";
import { el, estimate, section, table, withInterval } from "./format";
import { GRID, INK, Palette } from "./palette";
import { pathOf } from "./paths";
import { bounded, Cohort, CohortEnsembles, finite, ifBounded, Study } from "./study";

const SCORES = [
  { key: "log_loss", label: "log loss (nats)" },
  { key: "brier", label: "Brier score" },
] as const;

function dataOf(cohorts: CohortEnsembles[], study: Study, key: "log_loss" | "brier") {
  const hardware = new Map<number, Cohort>(study.cohorts.map((c) => [c.cell, c]));
  return cohorts.flatMap((of) => of.sizes.flatMap((scores) => {
    const e = scores[key];
    const value = finite(e.value);
    if (value === undefined) return [];
    return [{ cell: of.cell, label: of.label, hardware: hardware.get(of.cell)?.hardware ?? "any", size: scores.size,
      value, low: finite(e.low), high: finite(e.high), n: e.n,
      text: `${of.label}: ${scores.size === 1 ? "one member" : `${scores.size} members`}\n${withInterval(e)}\nn = ${e.n}` }];
  }));
}

function chart(cohorts: CohortEnsembles[], study: Study, palette: Palette, score: typeof SCORES[number]): Element {
  const data = dataOf(cohorts, study, score.key);
  const sizes = [...new Set(data.map((d) => d.size))].sort((a, b) => a - b);
  return wide(plot(`${score.label} against the size of the ensemble`, {
    width: 440, height: 280, marginLeft: 56, marginRight: 16, marginBottom: 44,
    x: { type: "point", domain: sizes, label: "members of the ensemble" },
    y: { label: score.label, grid: true, nice: true },
    color: palette,
    marks: [
      Plot.frame({ stroke: GRID }),
      Plot.line(data, { x: "size", y: "value", z: "cell", stroke: "hardware" }),
      Plot.ruleX(bounded(data), { x: "size", y1: "low", y2: "high", stroke: "hardware", strokeOpacity: 0.6 }),
      Plot.dot(data, { x: "size", y: "value", fill: "hardware", r: 3.5, title: "text" }),
    ],
    style: { background: "none", color: INK, fontSize: "12px", overflow: "visible" },
  }));
}

// Nothing where no cell has logits of members that differ.
export function ensembles(study: Study, palette: Palette): HTMLElement | null {
  const told = study.ensembles.cohorts.filter((of) => of.sizes.length > 0);
  if (study.ensembles.cohorts.length === 0) return null;
  const several = told.filter((of) => of.sizes.length > 1 && !of.under_trained);
  const rows = told.flatMap((of) => {
    return of.sizes.map((scores, k) => {
      const path = `${pathOf(of)}.sizes.${k}`;
      return [of.label + (of.under_trained ? " (under-trained)" : ""), String(scores.size),
        estimate(scores.accuracy, `${path}.accuracy`), estimate(scores.log_loss, `${path}.log_loss`),
        estimate(scores.brier, `${path}.brier`), estimate(scores.calibration, `${path}.calibration`)];
    });
  });
  const mixing = study.ensembles.mixing.map((m, k) => [m.label + (m.under_trained ? " (under-trained)" : ""), estimate(m.gain, `ensembles.mixing.${k}.gain`)]);
  const cut = told.some((of) => of.left_out > 0);
  const unseen = study.ensembles.cohorts.filter((of) => of.note !== "");
  return section("What does an ensemble buy?",
    `The probabilities of several members of one cell are averaged. Of which members they are is the mean: every size up to half of them, so that two ensembles share none.${cut ? ` Of cells with many members the first ${Math.max(...told.map((of) => of.members))} are looked at.` : ""}`,
    several.length === 0 ? null : figure(`Log loss and Brier score against the number of members that are averaged${ifBounded(SCORES.flatMap((score) => dataOf(several, study, score.key)), "; 95 % intervals over members")}.`,
      () => SCORES.flatMap((score) => dataOf(several, study, score.key).map((d) => ({ score: score.key, cell: d.label, hardware: d.hardware, size: d.size, value: d.value, low: d.low, high: d.high, n: d.n }))),
      legend(palette),
      el("div", { class: "pair" }, ...SCORES.map((score) => chart(several, study, palette, score)))),
    rows.length === 0 ? null : titledTable("Of k members: top-1, log loss, Brier score (squared distance to the right corner) and calibration error (root mean square of confidence less accuracy in 15 bins, without what bins of so few examples show by chance).",
      table(["cell", "k", "top-1", "log loss", "Brier", "calibration error"], rows)),
    mixing.length === 0 ? null : titledTable("By how much the Brier score of a large ensemble, half from each side, is below the mean of the two that are all from one.",
      table(["comparison", "below by"], mixing)),
    ...unseen.map((of) => el("p", { class: "facts" }, `${of.label}: ${of.note}.`)));
}
