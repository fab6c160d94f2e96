// Churn between all members.
import * as Plot from "@observablehq/plot";
import { el, figure, section, wide } from "./format";
import { INK } from "./palette";
import { finite, Study } from "./study";

/** Where one cohort ends and the next begins: [first member, label]. */
function cohortStarts(study: Study): { place: number; end: number; label: string }[] {
  const label = new Map(study.cohorts.map((c) => [c.cell, c.label]));
  const starts: { place: number; end: number; label: string }[] = [];
  study.heat_map.cells.forEach((cell, i) => {
    const last = starts.at(-1);
    if (last && study.heat_map.cells[i - 1] === cell) last.end = i + 1;
    else starts.push({ place: i, end: i + 1, label: label.get(cell) ?? `cell ${cell}` });
  });
  return starts;
}

export function heatMap(study: Study): HTMLElement {
  const map = study.heat_map;
  const count = map.members.length;
  if (count < 2) return section("All members against all", map.note || "Fewer than two members kept predictions.");
  const cells = map.values.flatMap((row, i) => row.map((v, j) => ({
    i, j, churn: i === j ? undefined : (finite(v) ?? NaN) * 100, a: map.members[i], b: map.members[j],
  })));
  const starts = cohortStarts(study);
  const size = Math.min(620, Math.max(360, count * 12));
  return section("All members against all", "",
    figure(`Churn between every two members, in the order of cohorts. A dark square on the diagonal is a cohort that agrees with itself; dark blocks off it show which cohorts answer alike.${map.left_out ? ` ${map.left_out} members are left out.` : ""} ${map.note}`,
      wide(Plot.plot({
        width: size + 250, height: size + 60, marginLeft: 10, marginTop: 10, marginRight: 240, marginBottom: 50,
        x: { domain: [0, count], axis: null },
        y: { domain: [0, count], axis: null, reverse: true },
        color: { scheme: "Viridis", legend: true, label: "churn (%)", type: "linear", unknown: "var(--missing)" },
        marks: [
          Plot.rect(cells, { x1: "i", x2: (d: { i: number }) => d.i + 1, y1: "j", y2: (d: { j: number }) => d.j + 1, fill: "churn", inset: 0, tip: true, channels: { a: "a", b: "b" } }),
          Plot.ruleX(starts.slice(1), { x: "place", stroke: "white", strokeWidth: 1 }),
          Plot.ruleY(starts.slice(1), { y: "place", stroke: "white", strokeWidth: 1 }),
          Plot.text(starts, { x: count, y: (d: { place: number; end: number }) => (d.place + d.end) / 2, text: "label", textAnchor: "start", dx: 8 }),
        ],
        style: { background: "none", color: INK, fontSize: "11px", overflow: "visible" },
        ariaLabel: "Churn between all members",
      })),
      el("p", { class: "facts" }, `${count} members.`)));
}
