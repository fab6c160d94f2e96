// Churn between all members: between cohorts at first, between single members when asked.
import * as Plot from "@observablehq/plot";
import { plot } from "./draw";
import { figure, wide } from "./figure";
import { el, nothing, number, section } from "./format";
import { INK } from "./palette";
import { finite, Study } from "./study";

const MOST_NUMBERS = 14;  // Cohorts, up to which squares hold their number.
const MOST_COLUMNS = 30;  // Whose numbers have room; beyond, every fifth has one.

interface Run {
  place: number;  // The first member.
  end: number;
  label: string;
}

/** Where one cohort ends and the next begins. */
function runs(study: Study): Run[] {
  const label = new Map(study.cohorts.map((c) => [c.cell, c.label]));
  const found: Run[] = [];
  study.heat_map.cells.forEach((cell, i) => {
    const last = found.at(-1);
    if (last && study.heat_map.cells[i - 1] === cell) last.end = i + 1;
    else found.push({ place: i, end: i + 1, label: label.get(cell) ?? `cell ${cell}` });
  });
  return found;
}

interface Square {
  i: number;
  j: number;
  churn: number | undefined;  // In per cent.
  text: string;
}

/** Means over the pairs of two cohorts; of a cohort with itself over pairs of two members. */
function betweenCohorts(study: Study, all: Run[]): Square[] {
  return all.flatMap((a, i) => all.map((b, j) => {
    const pairs: number[] = [];
    for (let m = a.place; m < a.end; ++m) {
      for (let n = b.place; n < b.end; ++n) {
        const value = m === n ? undefined : finite(study.heat_map.values[m]?.[n]);
        if (value !== undefined) pairs.push(value);
      }
    }
    const mean = pairs.length ? pairs.reduce((sum, v) => sum + v, 0) / pairs.length : undefined;
    const of = i === j ? `inside ${a.label}` : `${a.label}\nagainst ${b.label}`;
    const count = i === j ? pairs.length / 2 : pairs.length;
    return { i, j, churn: mean === undefined ? undefined : mean * 100,
      text: mean === undefined ? `${of}\nno pair` : `${of}\nchurn ${number(mean, "fraction")}, mean of ${count} pair${count === 1 ? "" : "s"}` };
  }));
}

function betweenMembers(study: Study): Square[] {
  const map = study.heat_map;
  return map.values.flatMap((row, i) => row.map((v, j) => ({
    i, j, churn: i === j ? undefined : (finite(v) ?? NaN) * 100,
    text: i === j ? `${map.members[i]}` : `${map.members[i]} and ${map.members[j]}\nchurn ${number(v, "fraction")}`,
  })));
}

const COLOUR: Plot.ScaleOptions = { scheme: "Viridis", legend: true, label: "churn (%)", type: "linear", zero: true, unknown: "var(--missing)" };

function square(squares: Square[], count: number, side: number, top: number, said: string, marks: Plot.Markish[]): Element {
  const at = { x1: "i", x2: (d: Square) => d.i + 1, y1: "j", y2: (d: Square) => d.j + 1, fill: "churn", inset: 0 };
  return plot(said, {
    width: side + 270, height: side + top + 16, marginLeft: 10, marginTop: top, marginRight: 260, marginBottom: 16,
    x: { domain: [0, count], axis: null },
    y: { domain: [0, count], axis: null, reverse: true },
    color: COLOUR,
    marks: [Plot.rect(squares, squares.length <= (2 * MOST_NUMBERS) ** 2 ? { ...at, title: "text" } : at), ...marks],
    style: { background: "none", color: INK, fontSize: "11px", overflow: "visible" },
  });
}

function cohorts(study: Study, all: Run[]): Element {
  const squares = betweenCohorts(study, all);
  const middle = squares.reduce((most, s) => Math.max(most, s.churn ?? 0), 0) / 2;  // Colours begin at 0.
  const numbers = all.map((run, i) => ({ i, label: `${i + 1}  ${run.label}` }));
  const centre = (d: { i: number }) => d.i + 0.5;
  return square(squares, all.length, Math.min(560, Math.max(300, all.length * 44)), 28, "Churn between cohorts", [
    ...(all.length <= MOST_NUMBERS
      ? [Plot.text(squares.filter((s) => s.churn !== undefined), { x: centre, y: (d: Square) => d.j + 0.5, pointerEvents: "none", fontSize: 10,
        text: (d: Square) => (d.churn ?? 0).toFixed(1), fill: (d: Square) => ((d.churn ?? 0) > middle ? "#1b1d21" : "#ffffff") })]
      : []),
    Plot.text(numbers.filter((d) => all.length <= MOST_COLUMNS || (d.i + 1) % 5 === 0), { x: centre, y: 0, dy: -10, text: (d) => String(d.i + 1) }),
    Plot.text(numbers, { x: all.length, y: centre, text: "label", textAnchor: "start", dx: 8 }),
  ]);
}

function members(study: Study, all: Run[]): Element {
  const squares = betweenMembers(study);
  const count = study.heat_map.members.length;
  return square(squares, count, Math.min(620, Math.max(360, count * 12)), 10, "Churn between all members", [
    Plot.ruleX(all.slice(1), { x: "place", stroke: "white", strokeWidth: 1 }),
    Plot.ruleY(all.slice(1), { y: "place", stroke: "white", strokeWidth: 1 }),
    Plot.text(all, { x: count, y: (d: Run) => (d.place + d.end) / 2, text: "label", textAnchor: "start", dx: 8 }),
    ...(squares.length > (2 * MOST_NUMBERS) ** 2
      ? [Plot.tip(squares, Plot.pointer({ x: (d: Square) => d.i + 0.5, y: (d: Square) => d.j + 0.5, title: "text" }))]
      : []),
  ]);
}

export function heatMap(study: Study): HTMLElement {
  const map = study.heat_map;
  if (map.members.length < 2) return section("All members against all", nothing(study, map.note || "Fewer than two members kept predictions."));
  const all = runs(study);
  const drawing = wide(cohorts(study, all));
  const button = el("button", { type: "button", class: "toggle" }, "Show every member");
  let single = false;
  button.addEventListener("click", () => {
    single = !single;
    drawing.replaceChildren(single ? members(study, all) : cohorts(study, all));
    button.textContent = single ? "Show cohorts" : "Show every member";
  });
  const rows = () => (single
    ? betweenMembers(study).map((s) => ({ a: map.members[s.i], b: map.members[s.j], churn_percent: s.churn }))
    : betweenCohorts(study, all).map((s) => ({ a: all[s.i]?.label, b: all[s.j]?.label, churn_percent: s.churn })));
  return section("All members against all", "",
    figure(`Churn between cohorts, the mean over their pairs of members; on the diagonal inside a cohort. Dark squares off it show which cohorts answer alike. Of every member: a dark stripe beside the diagonal is members that share their draws on another class. ${map.members.length}${map.left_out ? ` of ${map.members.length + map.left_out}` : ""} members that are done. ${map.note}`,
      rows, button, drawing));
}
