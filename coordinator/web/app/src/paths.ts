// Where a record stands in the JSON, also when the page shows some of them only.
import { Study } from "./study";

const places = new WeakMap<object, string>();

/** Once, of the whole study. */
export function rememberPaths(study: Study): void {
  for (const list of ["cohorts", "blocks", "hardware", "stacks", "contrasts", "decompositions", "sensitive"] as const) {
    study[list].forEach((record, i) => places.set(record, `${list}.${i}`));
  }
  study.ensembles.cohorts.forEach((record, i) => places.set(record, `ensembles.cohorts.${i}`));
}

/** "cohorts.3" */
export function pathOf(record: object): string {
  return places.get(record) ?? "";
}
