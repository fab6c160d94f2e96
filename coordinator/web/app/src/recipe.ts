// What was trained: the settings, what each plan frees and fixes, and the sweep file itself.
import { titledTable } from "./figure";
import { el, number, section, table } from "./format";
import { Study } from "./study";

/** Said even where they are the defaults. */
const ALWAYS = ["model.name", "data.name", "train.epochs", "train.batch_size", "train.optimizer.name",
  "train.optimizer.learning_rate"];
const RANDOM_AUGMENTATION = ["augment.crop_padding", "augment.flip", "augment.cutout"];

export function date(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Submitted when, reported by which version, under which hash. */
export function origin(study: Study): string {
  const s = study.sweep;
  return [
    s.submitted_unix_seconds ? `submitted ${date(s.submitted_unix_seconds)}` : "",
    s.ended_unix_seconds ? `last result ${date(s.ended_unix_seconds)}` : "",
    s.noisefloor_version ? `noisefloor ${s.noisefloor_version}` : "",
    s.specification_sha256 ? `specification ${s.specification_sha256.slice(0, 12)}` : "",
  ].filter(Boolean).join(" · ");
}

type Row = [string, string];

/** Runs that others trained: a table says what they were, no sweep. */
export function isOfOthers(study: Study): boolean {
  return study.sweep.settings.length === 0;
}

/** Settings have the names that this page knows: a trainer of one's own may have none of them, and augment as it likes. */
export function saysWhatLearns(study: Study): boolean {
  const paths = new Set([...study.sweep.settings, ...study.sweep.axes.flat()].map((s) => s.path));
  return ALWAYS.every((path) => paths.has(path));
}

/** What is not the default, the settings that everybody asks for, and what varies. */
export function recipeRows(study: Study): Row[] {
  const varied = new Map(study.sweep.axes.flatMap((axis) => axis.map((c) => [c.path, c.values] as const)));
  const rows: Row[] = study.sweep.settings
    .filter((s) => varied.has(s.path) || s.changed || ALWAYS.includes(s.path))
    .map((s) => {
      const values = varied.get(s.path);
      return [s.path, values ? `${values.join(", ")} (varied)` : s.value];
    });
  const augmented = rows.some(([path]) => RANDOM_AUGMENTATION.includes(path));
  return augmented || !saysWhatLearns(study) ? rows : [...rows, ["augmentation", "none"]];
}

/** Axes of several settings, which walk in step. */
function inStep(study: Study): string {
  const zipped = study.sweep.axes.filter((axis) => axis.length > 1);
  return zipped.map((axis) => `${axis.map((c) => c.path).join(", ")} walk in step. `).join("");
}

function plans(study: Study): HTMLElement {
  const of = (sources: Record<string, string>, state: string) =>
    Object.keys(sources).filter((name) => sources[name] === state).join(", ") || "nothing";
  return titledTable("What each plan leaves free (every replicate has draws of its own, or the machine decides), what it holds fixed, and what it leaves off.",
    table(["plan", "free", "fixed", "off", "blocks", "replicates"],
      study.sweep.plans.map((p) => [p.name, of(p.sources, "free"), of(p.sources, "fixed"), of(p.sources, "off"),
        String(p.blocks), String(p.replicates)]), 4));
}

/** Copies by the clipboard where there is one, else selects, so that a key does. */
function copyButton(text: HTMLElement): HTMLElement {
  const button = el("button", { type: "button" }, "copy");
  button.addEventListener("click", () => {
    getSelection()?.selectAllChildren(text);
    void navigator.clipboard?.writeText(text.textContent ?? "").catch(() => undefined);
  });
  return button;
}

function file(study: Study): HTMLElement | null {
  const s = study.sweep;
  if (!s.file) return null;
  const text = el("pre", { id: "sweep-file", tabindex: "0" }, s.file);
  const what = isOfOthers(study) ? "The table of runs" : s.file_submitted ? "The sweep file, as it was submitted" : "The sweep as a file, with every default filled in (it was submitted without one)";
  return el("details", {}, el("summary", {}, what), copyButton(text), text);
}

export function recipe(study: Study): HTMLElement {
  const s = study.sweep;
  const rows: Row[] = [...recipeRows(study)];
  if (study.evaluation.identity) rows.push(["data identity", study.evaluation.identity]);
  if (s.reference_accuracy !== null) rows.push(["reference_accuracy", String(s.reference_accuracy)]);
  if (s.until) rows.push(["until", `${s.until.figure} within ${number(s.until.half_width, "fraction")} to either side, at most ${s.until.most} replicates`]);
  if (!isOfOthers(study)) rows.push(["seed", s.seed]);
  if (s.specification_sha256) rows.push(["specification hash", s.specification_sha256]);
  return section("What was trained", "",
    rows.length === 0 ? null : titledTable(`The training that all members share: what differs from the defaults, and the settings that are always asked for. ${inStep(study)}`,
      table(["setting", "value"], rows, 99)),
    plans(study),
    file(study));
}
