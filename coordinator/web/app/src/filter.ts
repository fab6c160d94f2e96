// One bar that chooses what all figures and tables show.
import { el } from "./format";
import { Cohort, Comparison, Study } from "./study";

/** By name of what is chosen: "plan", "hardware", or the path of an axis; without a key: all. */
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
    ...paths.map((path) => ({ key: path, label: path.split(".").at(-1) ?? path, of: (c: Cohort) => c.axes.find((a) => a.path === path)?.value })),
  ];
  return all.map((one) => ({ ...one, values: values(one.of) })).filter((one) => one.values.length > 1);
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
  const compared = (h: Comparison) => [...h.cells_a, ...h.cells_b].some((cell) => cells.has(cell)) &&
    [...h.cells_a, ...h.cells_b].every((cell) => beside.has(cell));
  const kept = study.heat_map.cells.flatMap((cell, i) => (cells.has(cell) ? [i] : []));
  const plan = choice.get("plan");
  return {
    ...study,
    cohorts,
    blocks: study.blocks.filter((b) => b.cells.every((cell) => cells.has(cell))),
    controls: study.controls.filter((c) => cells.has(c.cell)),
    physical: study.physical.filter((c) => cells.has(c.cell)),
    hardware: study.hardware.filter(compared),
    stacks: study.stacks.filter(compared),
    contrasts: study.contrasts.filter((c) => (!plan || c.plan === "" || c.plan === plan) &&
      (!hardware || c.question !== "hardware" || c.a === hardware || c.b === hardware)),
    curves: study.curves.filter((c) => cells.has(c.cell)),
    heat_map: {
      ...study.heat_map,
      members: kept.map((i) => study.heat_map.members[i] ?? ""),
      cells: kept.map((i) => study.heat_map.cells[i] ?? 0),
      values: kept.map((i) => kept.map((j) => study.heat_map.values[i]?.[j] ?? null)),
    },
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
