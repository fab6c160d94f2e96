// What stands round the figures: title, findings, warnings, environment, members.
import { titledTable } from "./figure";
import { el, folded, number, section, table } from "./format";
import { date, isOfOthers, origin, saysWhatLearns } from "./recipe";
import { offer } from "./save";
import { Study } from "./study";

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

const SAID: { [name: string]: string } = { sgd: "SGD", momentum: "SGD with momentum", nesterov: "Nesterov's momentum", adam: "Adam", adamw: "AdamW", rmsprop: "RMSprop" };

/** What was trained, in a sentence; empty where only others, or a trainer of one's own, know. */
function abstract(study: Study): string {
  if (!saysWhatLearns(study)) return "";
  const varied = new Map(study.sweep.axes.flatMap((axis) => axis.map((c) => [c.path, c.values] as const)));
  const value = (path: string) => varied.get(path)?.join(", ") ?? study.sweep.settings.find((s) => s.path === path)?.value ?? "";
  const optimizer = value("train.optimizer.name");
  const epochs = value("train.epochs");
  const classes = new Set(study.cohorts.map((c) => c.hardware)).size;
  return `${value("model.name")} on ${value("data.name")}, ${epochs} epoch${epochs === "1" ? "" : "s"} of ${SAID[optimizer] ?? optimizer} with a learning rate of ${value("train.optimizer.learning_rate")} and batches of ${value("train.batch_size")}: ${plural(study.counts.total, "training")} on ${plural(classes, "class").replace(/classs$/, "classes")} of hardware.`;
}

/** A plan with what it frees. */
function chips(study: Study): HTMLElement {
  return el("ul", { class: "chips", "aria-label": "Plans" }, ...study.sweep.plans.map((p) => {
    const free = Object.keys(p.sources).filter((name) => p.sources[name] === "free");
    const size = `n = ${p.replicates}${p.blocks > 1 ? ` in each of ${p.blocks} blocks` : ""}`;
    return el("li", {}, el("b", {}, p.name), ` ${free.length ? `frees ${free.join(", ")}` : "frees nothing"}; ${size}`);
  }));
}

/** How to name the study elsewhere. */
function citation(study: Study): string {
  const s = study.sweep;
  return [`"${s.name}" (${s.id})`, s.noisefloor_version ? `noisefloor ${s.noisefloor_version}` : "noisefloor",
    s.ended_unix_seconds ? date(s.ended_unix_seconds) : "", s.specification_sha256 ? `specification ${s.specification_sha256}` : ""].filter(Boolean).join(", ");
}

function takeAway(study: Study, json: string): HTMLElement {
  const button = (text: string, act: (of: HTMLElement) => void) => {
    const one = el("button", { type: "button" }, text);
    one.addEventListener("click", () => act(one));
    return one;
  };
  const file = isOfOthers(study) ? "runs.csv" : "sweep.yaml";
  return el("p", { class: "tools" },
    button("study.json", () => offer("study.json", new Blob([json], { type: "application/json" }))),
    study.sweep.file ? button(file, () => offer(file, new Blob([study.sweep.file], { type: "text/plain" }))) : null,
    button("cite", (of) => {
      const text = el("code", { class: "citation" }, citation(study));
      of.replaceWith(text);
      getSelection()?.selectAllChildren(text);
    }));
}

const MOST_FINDINGS = 10;

/** Of many settings the first findings, and all others folded. */
function findings(all: string[]): HTMLElement[] {
  const list = (some: string[], start: number) => el("ol", { class: "headlines", start: String(start) }, ...some.map((h) => el("li", {}, h)));
  if (all.length <= MOST_FINDINGS + 2) return [list(all, 1)];
  return [list(all.slice(0, MOST_FINDINGS), 1), el("details", {}, el("summary", {}, `${all.length - MOST_FINDINGS} more findings`), list(all.slice(MOST_FINDINGS), MOST_FINDINGS + 1))];
}

/** `json`: the study as it lies in the page. */
export function header(study: Study, json: string): HTMLElement {
  const c = study.counts;
  const other = [
    c.diverged ? `${c.diverged} diverged` : "",
    c.failed ? `${c.failed} failed` : "",
    c.cancelled ? `${c.cancelled} cancelled` : "",
    c.missing ? `${c.missing} not finished` : "",
    c.retried ? `${c.retried} retried` : "",
  ].filter(Boolean).join(", ");
  const facts = [
    `${study.evaluation.data_set ? `${study.evaluation.data_set}, ` : ""}${study.evaluation.examples} test examples`,
    plural(study.cohorts.length, "cohort"),
    `${c.done} of ${plural(c.total, "member")} done${other ? ` (${other})` : ""}`,
    isOfOthers(study) ? "" : `seed ${study.sweep.seed}`,
  ].filter(Boolean).join(" · ");
  return el("header", {},
    el("p", { class: "kicker" }, "noisefloor · noise study"),
    el("h1", {}, study.sweep.name),
    el("p", { class: "facts" }, facts),
    el("p", { class: "facts" }, origin(study)),
    study.sweep.tags.length ? el("p", { class: "facts" }, `tags: ${study.sweep.tags.join(", ")}`) : null,
    study.sweep.notes ? el("p", { class: "notes" }, study.sweep.notes) : null,
    abstract(study) ? el("p", { class: "abstract" }, abstract(study)) : null,
    study.sweep.plans.length ? chips(study) : null,
    ...findings(study.headlines),
    ...(study.guidelines.length ? [el("h2", { class: "todo" }, "What to do"), el("ul", { class: "headlines" }, ...study.guidelines.map((g) => el("li", {}, g)))] : []),
    takeAway(study, json));
}

const MOST_SUBJECTS = 4;

/** What is said of many cells in the same words is said once, of all of them; an error names each. */
function merged(warnings: Study["warnings"]): { severity: string; text: string; subjects: string[] }[] {
  const alike = new Map<string, { severity: string; text: string; subjects: string[] }>();
  for (const { severity, text, subject } of warnings) {
    const key = `${severity}\n${text}`;
    const entry = alike.get(key) ?? { severity, text, subjects: [] };
    entry.subjects.push(subject);
    alike.set(key, entry);
  }
  return [...alike.values()];
}

/** Whole on hover where it is cut. */
function subjectsOf(severity: string, subjects: string[]): HTMLElement {
  if (severity === "error" || subjects.length <= MOST_SUBJECTS) return el("b", {}, `${subjects.join(", ")}: `);
  const shown = subjects.slice(0, MOST_SUBJECTS - 1);
  return el("b", { title: subjects.join("\n") }, `${shown.join(", ")} and ${subjects.length - shown.length} more: `);
}

export function warnings(study: Study): HTMLElement {
  if (study.warnings.length === 0) return el("aside", { class: "calm" }, "No warnings.");
  const item = (w: ReturnType<typeof merged>[number]) =>
    el("li", { class: w.severity }, subjectsOf(w.severity, w.subjects), w.text);
  const loud = merged(study.warnings.filter((w) => w.severity !== "note"));
  const notes = merged(study.warnings.filter((w) => w.severity === "note"));
  return el("aside", { class: "warnings", "aria-label": "Warnings" },
    loud.length ? el("ul", {}, ...loud.map(item)) : null,
    notes.length
      ? el("details", {}, el("summary", {}, plural(notes.length, "note")), el("ul", {}, ...notes.map(item)))
      : null);
}

/** A long hash in short, whole on hover. */
function fact(values: string[]): HTMLElement {
  const text = values.join(" | ");
  const short = values.map((v) => (/^[0-9a-f]{64}$/.test(v) ? v.slice(0, 12) : v)).join(" | ");
  return el("span", short === text ? {} : { title: text }, short);
}

export function environment(study: Study): HTMLElement {
  const classes = study.environment;
  const keys = [...new Set(classes.flatMap((c) => c.facts.map((f) => f.key)))];
  const values = (key: string) => classes.map((c) => c.facts.find((f) => f.key === key)?.values ?? ["–"]);
  const equal = keys.filter((key) => values(key).every((v) => v.length === 1 && v[0] === values(key)[0]?.[0]));
  const differing = keys.filter((key) => !equal.includes(key));
  return section("What ran", "The environment of every hardware class, as each trainer read it back.",
    differing.length === 0 && classes.every((c) => c.summaries.every((text) => text === ""))
      ? el("p", {}, "Nobody told what ran.")
      : titledTable("What differs between hardware classes or within one; several values in one field mean that members of the class differ, – beside others that some of them did not tell it.",
      table(["fact", ...classes.map((c) => `${c.hardware} (${plural(c.members, "member")})`)],
        [["in short", ...classes.map((c) => c.summaries.join(" | "))],
          ...differing.map((key) => [key, ...values(key).map(fact)])], 99)),
    equal.length === 0 ? null : el("details", {}, el("summary", {}, `${plural(equal.length, "fact")} that every member has in common`),
      table(["fact", "value"], equal.map((key) => [key, fact(values(key)[0] ?? [])]), 99)),
    el("p", { class: "facts" }, `Data identity ${study.evaluation.identity}`));
}

export function members(study: Study): HTMLElement {
  const label = new Map(study.cohorts.map((c) => [c.cell, c.label]));
  const rows = () => study.members.map((m) => [
    m.id, label.get(m.cell) ?? "", m.failure ? `${m.state}: ${m.failure}` : m.state, el("code", { title: m.hashes.weights }, m.hashes.weights.slice(0, 12)),
    number(m.final_metrics["top1"] ?? null, "fraction"), number(m.final_metrics["loss"] ?? null, "nats"),
    number(m.seconds, "seconds"), String(m.attempts),
  ]);
  return section("Members", "",
    folded(`All ${plural(study.members.length, "member")}, with the hash of their final weights`,
      () => table(["member", "cohort", "state", "weights", "top-1", "loss", "time", "attempts"], rows(), 4)));
}
