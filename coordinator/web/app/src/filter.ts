// One bar that chooses what figures and tables show. What is said of the whole study at once is not
// said of a choice.
import { el } from "./format";
import { nameOfAxis } from "./labels";
import { Cohort, Comparison, Study } from "./study";

/** "plan", "hardware", or "axis PATH"; without a key: all. */
export type Choice = Map<string, string>;

interface Chooser {
  key: string;
  label: string;
  values: string[];
  of: (c: Cohort) => string | undefined;
}

function choosers(study: Study): Chooser[] {
  const values = (of: Chooser["of"]) => [...new Set(study.cohorts.flatMap((c) => of(c) ?? []))];
  const paths = [...new Set(study.cohorts.flatMap((c) => c.axes.map((a) => a.path)))];
  const all: Omit<Chooser, "values">[] = [
    { key: "plan", label: "plan", of: (c) => c.plan },
    { key: "hardware", label: "hardware", of: (c) => c.hardware },
    ...paths.map((path) => ({ key: `axis ${path}`, label: nameOfAxis(path, paths), of: (c: Cohort) => c.axes.find((a) => a.path === path)?.value })),
  ];
  return all.map((one) => ({ ...one, values: values(one.of) })).filter((one) => one.values.length > 1);
}

/** The squares of those cells; who of them has none is counted, as of the whole. */
function mapOf(map: Study["heat_map"], cohorts: Cohort[]): Study["heat_map"] {
  const cells = new Set(cohorts.map((c) => c.cell));
  const kept = map.cells.flatMap((cell, i) => (cells.has(cell) ? [i] : []));
  const left_out = cohorts.reduce((sum, c) => sum + c.counts.done, 0) - kept.length;
  const values = kept.map((i) => kept.map((j) => map.values[i]?.[j] ?? null));
  const notes = [
    left_out > 0 ? "Who is left out has no predictions, or is beyond the members that the map of the whole study has." : "",
    values.some((row, i) => row.some((v, j) => i !== j && v === null)) ? "Members are compared inside each evaluation set only." : ""];
  return { left_out, note: notes.filter(Boolean).join(" "), values,
    members: kept.map((i) => map.members[i] ?? ""), cells: kept.map((i) => map.cells[i] ?? 0) };
}

/** The study with those cohorts only that were chosen, and what is said of them. */
export function chosen(study: Study, choice: Choice): Study {
  if (choice.size === 0) return study;
  const all = choosers(study);
  const fits = (c: Cohort, without = "") => all.every((one) => one.key === without || !choice.has(one.key) || one.of(c) === choice.get(one.key));
  const cohorts = study.cohorts.filter((c) => fits(c));
  const cells = new Set(cohorts.map((c) => c.cell));
  const beside = new Set(study.cohorts.filter((c) => fits(c, "hardware")).map((c) => c.cell));
  const hardware = choice.get("hardware");
  const between = (some: number[]) => some.some((cell) => cells.has(cell)) && some.every((cell) => beside.has(cell));
  const compared = (h: Comparison) => between([...h.cells_a, ...h.cells_b]);
  const words = all.flatMap((one) => (choice.has(one.key) ? [`${one.label} ${choice.get(one.key)}`] : [])).join(", ");
  return {
    ...study,
    choice: words,
    decompositions: [],
    ensembles: { cohorts: study.ensembles.cohorts.filter((of) => cells.has(of.cell)), mixing: [] },
    hardware_tests: [],
    stack_tests: [],
    worst_classes: { text: "" },
    worst_groups: [],
    divergent: { ...study.divergent, examples: [], note: "" },
    sensitive: [],
    cohorts,
    blocks: study.blocks.filter((b) => b.cells.every((cell) => cells.has(cell))),
    controls: study.controls.filter((c) => cells.has(c.cell)),
    physical: study.physical.filter((c) => cells.has(c.cell)),
    hardware: study.hardware.filter(compared),
    stacks: study.stacks.filter(compared),
    contrasts: [],
    curves: study.curves.filter((c) => cells.has(c.cell)),
    trajectories: study.trajectories.filter((t) => (t.factor === null ? t.cells.every((cell) => cells.has(cell)) : between(t.cells))),
    heat_map: mapOf(study.heat_map, cohorts),
    environment: study.environment.filter((e) => !hardware || e.hardware === hardware),
    members: study.members.filter((m) => cells.has(m.cell)),
  };
}

/** Null where there is nothing to choose from. `changed` is called with each new choice. */
export function filterBar(study: Study, changed: (choice: Choice) => void): HTMLElement | null {
  const all = choosers(study);
  if (all.length === 0) return null;
  const choice: Choice = new Map();
  const selects = all.map((one) => {
    const select = el("select", {}, el("option", { value: "" }, "all"),
      ...one.values.map((value) => el("option", { value: `=${value}` }, value))) as HTMLSelectElement;
    select.addEventListener("change", () => {
      if (select.value === "") choice.delete(one.key);
      else choice.set(one.key, select.value.slice(1));
      changed(choice);
    });
    return el("label", {}, `${one.label} `, select);
  });
  return el("form", { class: "filter", "aria-label": "What figures and tables show" }, ...selects);
}
