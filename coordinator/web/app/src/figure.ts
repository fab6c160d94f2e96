// Figures and tables with numbers, captions, anchors, and a way to take them away.
import { Child, el, estimates } from "./format";
import { Palette } from "./palette";
import { csvOf, offer, pngOf, DataRow, svgOf } from "./save";

let figures = 0;
let tables = 0;
let study = "study";

/** Numbers begin anew: the page is drawn again. Files are called after the study. */
export function beginFigures(name: string): void {
  figures = tables = 0;
  study = name.replace(/[^A-Za-z0-9._-]+/g, "-");
}

function tool(text: string, said: string, act: () => void): HTMLElement {
  const button = el("button", { type: "button", "aria-label": said }, text);
  button.addEventListener("click", act);
  return button;
}

function anchor(id: string, name: string): HTMLElement {
  return el("a", { href: `#${id}`, "aria-label": `Link to ${name}` }, "#");
}

/** A numbered figure with its caption; `rows`: what it draws, for its CSV. */
export function figure(caption: string, rows: DataRow[], ...content: Child[]): HTMLElement {
  figures += 1;
  const name = `Figure ${figures}`;
  const id = `figure-${figures}`;
  const file = `${study}-${id}`;
  const whole: HTMLElement = el("figure", { id }, ...content,
    el("figcaption", {}, el("b", {}, `${name}. `), caption),
    el("div", { class: "tools" },
      ...(content.some((c) => c instanceof Element && (c.matches("svg") || c.querySelector("svg")))
        ? [tool("SVG", `Save ${name} as SVG`, () => offer(`${file}.svg`, new Blob([svgOf(whole).text], { type: "image/svg+xml" }))),
          tool("PNG", `Save ${name} as PNG, 300 dots an inch`, () => void pngOf(whole).then((png) => offer(`${file}.png`, png)))]
        : []),
      rows.length ? tool("CSV", `Save the data of ${name} as CSV`, () => offer(`${file}.csv`, new Blob([csvOf(rows)], { type: "text/csv" }))) : null,
      anchor(id, name)));
  return whole;
}

/** Drawings that a narrow window scrolls rather than shrinks beyond reading. */
export function wide(...drawings: Child[]): HTMLElement {
  return el("div", { class: "scroll wide", tabindex: "0", role: "region", "aria-label": "Drawing" }, ...drawings);
}

export function legend(palette: Palette): HTMLElement {
  return el("div", { class: "legend" }, ...palette.domain.map((name, i) =>
    el("span", {}, el("i", { style: `background:${palette.range[i]}` }), name)));
}

/** Cells as they are shown; of an estimate its exact value, its interval and n. */
function rowsOf(table: HTMLTableElement): DataRow[] {
  const heads = [...table.tHead?.rows[0]?.cells ?? []].map((cell, i) => cell.textContent?.trim() || `column ${i + 1}`);
  const names = heads.map((head, i) => (heads.indexOf(head) === i ? head : `${heads[i - 1]} ${head}`));
  return [...table.tBodies[0]?.rows ?? []].map((row) => {
    const record: DataRow = {};
    [...row.cells].forEach((cell, i) => {
      const name = names[i] ?? `column ${i + 1}`;
      const found = [...cell.querySelectorAll(".estimate")].map((e) => estimates.get(e)).find((e) => e !== undefined);
      if (!found) {
        record[name] = cell.textContent ?? "";
        return;
      }
      record[name] = found.value ?? "";
      record[`${name} low`] = found.low ?? "";
      record[`${name} high`] = found.high ?? "";
      record[`${name} n`] = found.n;
    });
    return record;
  });
}

/** By number where both are, else by text; what has no number comes last. */
function sort(table: HTMLTableElement, column: number, down: boolean): void {
  const key = (row: HTMLTableRowElement): number | string => {
    const cell = row.cells[column];
    const found = cell ? estimates.get(cell.querySelector(".estimate") ?? cell) : undefined;
    const text = cell?.textContent?.replace("−", "-").trim() ?? "";
    if (found) return typeof found.value === "number" ? found.value : Infinity;
    return /^-?[\d.]+(e-?\d+)?( %)?$/.test(text) ? Number.parseFloat(text) : text;
  };
  const body = table.tBodies[0];
  if (!body) return;
  const rows = [...body.rows].map((row) => ({ row, key: key(row) }));
  rows.sort((a, b) => {
    if (a.key === Infinity || b.key === Infinity) return Number(a.key === Infinity) - Number(b.key === Infinity);
    const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key), "en", { numeric: true });
    return down ? -order : order;
  });
  body.append(...rows.map((r) => r.row));
}

function makeSortable(table: HTMLTableElement): void {
  if ((table.tBodies[0]?.rows.length ?? 0) < 3) return;
  [...table.tHead?.rows[0]?.cells ?? []].forEach((head, column) => {
    const button = el("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead?.rows[0]?.cells ?? []) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    });
  });
}

export function titledTable(caption: string, content: HTMLElement): HTMLElement {
  tables += 1;
  const name = `Table ${tables}`;
  const id = `table-${tables}`;
  const of = content.querySelector("table");
  if (of) makeSortable(of);
  return el("figure", { class: "table", id },
    el("figcaption", {}, el("b", {}, `${name}. `), caption), content,
    el("div", { class: "tools" },
      of ? tool("CSV", `Save ${name} as CSV`, () => offer(`${study}-${id}.csv`, new Blob([csvOf(rowsOf(of))], { type: "text/csv" }))) : null,
      anchor(id, name)));
}
