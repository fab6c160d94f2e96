// Who pays: which classes of the data set are hit.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, legend, titledTable, wide } from "./figure";
import { el, estimate, nothing, number, section, table, withInterval } from "./format";
import { fitted, leftMargin, oneLine, setting, topMargin } from "./labels";
import { GRID, INK, Palette } from "./palette";
import { pathOf } from "./paths";
import { answered, bounded, Cohort, finite, ifBounded, percent, Study } from "./study";

const MOST_CLASSES = 30;
const MOST_SETTINGS = 4;
const MOST_ROWS = 100;

/** Cohorts that say something of noise: neither held still nor guessing. */
function noisy(study: Study): Cohort[] {
  return study.cohorts.filter((c) => !c.all_fixed && !c.under_trained && c.per_class.length > 0);
}

/** The settings with the largest churn, in the order of the study. */
function noisiest(study: Study, cohorts: Cohort[]): string[] {
  const churn = new Map<string, number>();
  for (const c of cohorts) {
    const name = setting(c, study);
    churn.set(name, Math.max(churn.get(name) ?? 0, finite(c.churn.value) ?? 0));
  }
  const chosen = [...churn].sort((a, b) => b[1] - a[1]).slice(0, MOST_SETTINGS).map(([name]) => name);
  return [...churn.keys()].filter((name) => chosen.includes(name));
}

/** Groups of the test examples, by their columns: every cell, most churn first within a cell. */
function groups(study: Study): HTMLElement[] {
  const rows = noisy(study).flatMap((c) => c.per_group.map((g, i) => ({ c, g, path: `${pathOf(c)}.per_group.${i}` })));
  if (rows.length === 0) return [];
  const decisions = rows.some(({ g }) => g.false_positive_rate.value !== null);
  const shown = rows.slice(0, MOST_ROWS);
  const tableOf = (some: typeof rows) => table(["cohort", "group", "examples", "top-1", "SD", ...(decisions ? ["FPR", "FNR"] : []), "churn"],
    some.map(({ c, g, path }) => [c.label, `${g.column}: ${g.name}`, String(g.examples),
      estimate(g.accuracy, `${path}.accuracy`), estimate(g.accuracy_sd, `${path}.accuracy_sd`),
      ...(decisions ? [estimate(g.false_positive_rate, `${path}.false_positive_rate`), estimate(g.false_negative_rate, `${path}.false_negative_rate`)] : []),
      estimate(g.churn, `${path}.churn`)]), 2);
  return [
    el("h3", {}, "Groups of the test examples"),
    ...study.worst_groups.map((worst) => el("p", {}, worst.text)),
    titledTable(`Each group in each cohort: share of right answers${decisions ? ", false positive and false negative rates (means over members)" : ""}, spread over members, churn within the group; 95 % intervals.${rows.length > shown.length ? ` The first ${shown.length} of ${rows.length} rows; the CSV has all.` : ""}`,
      tableOf(shown), rows.length > shown.length ? tableOf(rows) : undefined),
  ];
}

export function classes(study: Study, palette: Palette): HTMLElement {
  const cohorts = noisy(study);
  const settings = noisiest(study, cohorts);
  const all = new Set(cohorts.map((c) => setting(c, study))).size;
  const things = `${answered(study).one}s`;
  const data = cohorts.filter((c) => settings.includes(setting(c, study))).flatMap((c) => c.per_class.flatMap((k) => {
    const churn = finite(k.churn.value);
    if (churn === undefined) return [];
    return [{ setting: setting(c, study), hardware: c.hardware, name: k.name || String(k.label), churn: churn * 100,
      low: percent(k.churn.low), high: percent(k.churn.high), examples: k.examples, n: k.churn.n,
      text: `${k.name || k.label}: ${oneLine(setting(c, study), c.hardware)}\nchurn ${withInterval(k.churn)}\nSD of accuracy ${number(k.accuracy_sd.value, "fraction")}\n${k.examples > 0 ? `${k.examples} ${things}, ` : ""}n = ${k.churn.n}` }];
  }));
  if (data.length === 0) return section("Who pays?", nothing(study, "No cohort with free sources that learned something has two members with predictions."));
  const total = new Map<string, number>();
  for (const d of data) total.set(d.name, (total.get(d.name) ?? 0) + d.churn);
  const names = [...total.keys()].sort((a, b) => (total.get(b) ?? 0) - (total.get(a) ?? 0));
  const shown = names.slice(0, MOST_CLASSES);
  return section("Who pays?",
    study.worst_classes.text || "Noise need not fall evenly: some classes change their answer from run to run more often than others.",
    figure(`Churn within each class of the data set, by plan and hardware, most affected first${ifBounded(data)}. Without under-trained cohorts.${all > settings.length ? ` The ${settings.length} noisiest of ${all} plans and settings.` : ""}${names.length > shown.length ? ` The ${shown.length} most affected of ${names.length} classes.` : ""}`,
      () => data.map((d) => ({ setting: d.setting, hardware: d.hardware, class: d.name, [things]: d.examples, churn_percent: d.churn, low_percent: d.low, high_percent: d.high, n: d.n })),
      legend(palette),
      wide(plot("Churn by class of the data set", {
        width: 900, height: 40 + topMargin(settings) + shown.length * (10 + palette.domain.length * 6),
        marginLeft: leftMargin(shown, 900), marginTop: topMargin(settings), marginBottom: 36,
        x: { label: "churn within the class (%)", grid: true, zero: true },
        y: { domain: palette.domain, axis: null, padding: 0.6 },
        fy: { domain: shown, label: null, axis: "left", padding: 0.2, tickFormat: fitted(900) },
        fx: { domain: settings, label: null },
        color: palette,
        marks: [
          Plot.frame({ stroke: GRID }),
          Plot.ruleY(bounded(data), { fx: "setting", fy: "name", y: "hardware", x1: "low", x2: "high", stroke: "hardware", strokeWidth: 1.4 }),
          Plot.dot(data, { fx: "setting", fy: "name", y: "hardware", x: "churn", fill: "hardware", r: 2.8, title: "text" }),
        ],
        style: { background: "none", color: INK, fontSize: "11px" },
      }))),
    ...groups(study));
}
