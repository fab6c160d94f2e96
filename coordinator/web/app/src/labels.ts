// What cohorts are called in figures. Cohorts of one label and one hardware class are one and the same.
import { AxisSetting, Cohort, Study } from "./study";

function varies(cohorts: Cohort[], pick: (c: Cohort) => string | number): boolean {
  return new Set(cohorts.map(pick)).size > 1;
}

/** The last part of its path; all of it where two of `all` end alike. */
export function nameOfAxis(path: string, all: string[]): string {
  const last = (of: string) => of.split(".").at(-1) ?? of;
  return all.filter((other) => last(other) === last(path)).length > 1 ? path : last(path);
}

/** "learning_rate=0.05" for each axis but `without`. */
function written(axes: AxisSetting[], without = ""): string[] {
  const paths = axes.map((a) => a.path);
  return axes.filter((a) => a.path !== without).map((a) => `${nameOfAxis(a.path, paths)}=${a.value}`);
}

/** The stack, where the study has several, and the block, where the plan has. */
function details(c: Cohort, study: Study): string[] {
  const plan = study.cohorts.filter((other) => other.plan === c.plan);
  return [
    ...(varies(study.cohorts, (other) => other.stack) ? [c.stack] : []),
    ...(varies(plan, (other) => other.block) ? [`block ${c.block}`] : []),
  ];
}

/** What tells a cohort from others of its hardware, a line for each part: "algo\nlearning_rate=0.05\nblock 1". */
export function setting(c: Cohort, study: Study): string {
  return [c.plan, ...written(c.axes), ...details(c, study)].join("\n");
}

/** The same over all blocks of its plan. */
export function overBlocks(c: Cohort, study: Study): string {
  return [c.plan, ...written(c.axes), ...(varies(study.cohorts, (other) => other.stack) ? [c.stack] : []), "over blocks"].join("\n");
}

/** The same without the plan and the axis that a figure draws: "width=32\nblock 1", or "". */
export function besides(c: Cohort, study: Study, path: string): string {
  return [...written(c.axes, path), ...details(c, study)].join("\n");
}

/** At most so many names, in their order: of every plan the first, then of every plan the second, ... */
export function fewOfEach(all: { name: string; plan: string }[], most: number): string[] {
  const seen = new Map<string, number>();
  const turns = all.map(({ name, plan }) => {
    const turn = seen.get(plan) ?? 0;
    seen.set(plan, turn + 1);
    return { name, turn };
  });
  const chosen = [...turns].sort((a, b) => a.turn - b.turn).slice(0, most).map((t) => t.name);
  return all.map(({ name }) => name).filter((name) => chosen.includes(name));
}

/** The same of settings, whose first line is their plan. */
export function fewOfEveryPlan(settings: string[], most: number): string[] {
  return fewOfEach(settings.map((name) => ({ name, plan: name.split("\n")[0] ?? "" })), most);
}

function lines(labels: string[]): number {
  return Math.max(1, ...labels.map((label) => label.split("\n").length));
}

/** Room for a label with so many lines beside rows of dots, in pixels. */
export function rowHeight(labels: string[], dots: number): number {
  return 14 + Math.max(16 * dots, 13 * lines(labels));
}

const LETTER = 6.6; // Pixels.

/** Letters of a line beside a drawing of that width: labels have two fifths of it at most. */
function lettersBeside(width: number): number {
  return Math.floor((0.4 * width - 16) / LETTER);
}

/** Room for the longest line of the labels beside a drawing of that width, in pixels. */
export function leftMargin(labels: string[], width: number): number {
  const longest = Math.max(4, ...labels.flatMap((label) => label.split("\n")).map((line) => line.length));
  return 16 + LETTER * Math.min(longest, lettersBeside(width));
}

/** How a label is written there: a line that is too long loses its middle, which its tip has. */
export function fitted(width: number): (label: string) => string {
  const most = lettersBeside(width);
  const cut = (line: string) =>
    line.length <= most ? line : `${line.slice(0, Math.ceil(most / 2) - 1)}…${line.slice(-Math.floor(most / 2))}`;
  return (label) => label.split("\n").map(cut).join("\n");
}

/** Room above facets for the label with most lines, in pixels. */
export function topMargin(labels: string[]): number {
  return 14 + 13 * lines(labels);
}

/** "algo, block 1, cpu-intel-avx2" of a label with a line for each part. */
export function oneLine(...labels: string[]): string {
  return labels.join("\n").split("\n").filter(Boolean).join(", ");
}
