// The test images that members disagree on most, with what each member said.
import { figure, titledTable } from "./figure";
import { el, estimate, folded, number, pCell, section, table } from "./format";
import { answered, DivergentExample, DivergentGroup, finite, Study } from "./study";

const CLASS_COLOURS = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#6b6b6b"];

const SHOWN = 16;

function classColour(label: number): string {
  return CLASS_COLOURS[label % CLASS_COLOURS.length] ?? "#6b6b6b";
}

function draw(picture: DivergentExample["picture"], label: string): HTMLElement {
  const canvas = el("canvas", { width: String(picture.width), height: String(picture.height), role: "img", "aria-label": label }) as HTMLCanvasElement;
  const context = canvas.getContext("2d");
  if (!context || picture.pixels === "") return canvas;
  const bytes = Uint8Array.from(atob(picture.pixels), (c) => c.charCodeAt(0));
  const image = context.createImageData(picture.width, picture.height);
  for (let p = 0; p < picture.width * picture.height; ++p) {
    for (let c = 0; c < 3; ++c) {
      image.data[4 * p + c] = bytes[p * picture.channels + Math.min(c, picture.channels - 1)] ?? 0;
    }
    image.data[4 * p + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Counts of each answer, most frequent first. */
function votes(said: number[]): [number, number][] {
  const counts = new Map<number, number>();
  for (const label of said) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

function nameOf(study: Study, label: number): string {
  return label < 0 ? "undefined" : study.evaluation.class_names[label] ?? String(label);
}

function shade(label: number): string {
  return `background:${label < 0 ? "var(--missing)" : classColour(label)}`;
}

const MOST_FIELDS = 200;  // Beyond, a field of a member is narrower than a pixel.

/** A field for each member; of many a stretch for each answer of a cohort, as wide as it has members. */
function strip(study: Study, e: DivergentExample): HTMLElement {
  const { members, cells } = study.divergent;
  const field = (label: number, title: string, wide = 1) =>
    el("i", { style: `${shade(label)}${wide > 1 ? `;flex-grow:${wide}` : ""}`, title: `${title}: ${nameOf(study, label)}` });
  const stretches = (cell: number) => {
    const said = e.said.filter((_, i) => cells[i] === cell);
    const cohort = study.cohorts.find((c) => c.cell === cell)?.label ?? String(cell);
    return votes(said).map(([label, count]) => field(label, `${count} of ${said.length} of ${cohort}`, count));
  };
  return el("div", { class: "strip", "aria-hidden": "true" }, ...(members.length <= MOST_FIELDS
    ? e.said.map((label, i) => field(label, members[i] ?? ""))
    : [...new Set(cells)].flatMap(stretches)));
}

function card(study: Study, e: DivergentExample): HTMLElement {
  const list = votes(e.said).slice(0, 4).map(([label, count]) =>
    el("li", { class: label === e.label ? "right" : "" },
      el("i", { style: shade(label) }), `${nameOf(study, label)} ${count}`));
  const disagreement = finite(e.disagreement.value);
  const { one } = answered(study);
  return el("div", { class: "card" },
    draw(e.picture, `test ${one} ${e.example}, label ${e.label_name}`),
    el("div", {},
      el("p", {}, el("b", {}, e.label_name), ` · ${one === "example" ? "" : `${one} `}#${e.example}`),
      el("p", { class: "facts" }, disagreement === undefined ? "no pair to measure on" : `${number(e.disagreement.value, "fraction")} disagree`),
      el("ul", {}, ...list)),
    strip(study, e));
}

const MOST_GROUPS = 12;

/** Classes and groups among the examples that all members disagree on most, farthest from their share first. */
function groups(study: Study): HTMLElement[] {
  const d = study.divergent;
  const far = (g: DivergentGroup) => finite(g.p) ?? 1;
  const rows = d.groups.map((g, i) => ({ g, path: `divergent.groups.${i}` })).sort((a, b) => far(a.g) - far(b.g));
  if (rows.length === 0) return [];
  const tableOf = (some: typeof rows) => table(["group", "examples", "among them", "times its share", "p", "p, Holm"],
    some.map(({ g, path }) => [`${g.column || "class"}: ${g.name}`, String(g.examples), String(g.divergent),
      estimate(g.ratio, `${path}.ratio`), pCell(g.p, `${path}.p`), pCell(g.p_holm, `${path}.p_holm`)]));
  return [
    el("h3", {}, "Who is among them?"),
    d.groups_text ? el("p", {}, d.groups_text) : null,
    titledTable(`Classes and groups among the ${d.by_all} examples that all members together disagree on most: exact p of examples that are drawn whatever their group, after Holm over all ${rows.length}; Wilson's intervals. Of examples, for these members.${rows.length > MOST_GROUPS ? ` The first ${MOST_GROUPS} of ${rows.length}.` : ""}`,
      tableOf(rows.slice(0, MOST_GROUPS)), rows.length > MOST_GROUPS ? tableOf(rows) : undefined),
  ].filter((part) => part !== null);
}

export function divergent(study: Study): HTMLElement {
  const d = study.divergent;
  const { one } = answered(study);
  const title = `The ${one}s that flip`;
  if (d.examples.length === 0) {
    return section(title, study.choice ? `The ${one}s are chosen and measured on the whole study.` : d.note || `No ${one} was answered in two ways.`);
  }
  return section(title, d.note,
    el("p", {}, `On so many, measured on members that did not choose them, each in its turn (n = ${d.subset_disagreement.n} replicates): two members of a cohort disagree on `,
      estimate(d.subset_disagreement, "divergent.subset_disagreement"), ", accuracy ",
      estimate(d.subset_accuracy, "divergent.subset_accuracy"), "."),
    figure(`The most divergent ${one === "example" ? "test images" : `${one}s`}: true label, the four answers given most often (${d.members.length} of them; the strip has ${d.members.length <= MOST_FIELDS ? "one field a member, in the order of cohorts" : "for every cohort in its order a stretch for each answer, as wide as members gave it"}), and how often two measuring members of one cohort disagree.`,
      () => d.examples.flatMap((e) => e.said.map((label, i) => ({ [one]: e.example, label: e.label_name, member: d.members[i], said: nameOf(study, label) }))),
      el("div", { class: "cards" }, ...d.examples.slice(0, SHOWN).map((e) => card(study, e))),
      d.examples.length > SHOWN
        ? folded(`${d.examples.length - SHOWN} more`, () => el("div", { class: "cards" }, ...d.examples.slice(SHOWN).map((e) => card(study, e))))
        : null),
    ...groups(study));
}
