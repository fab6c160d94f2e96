// Figures and tables with numbers, captions, anchors, and a way to take them away.
import { Child, el, estimates, exact } from "./format";
import { Palette } from "./palette";
import { finite } from "./study";
import { csvOf, offer, pngOf, DataRow, svgOf } from "./save";

let figures = 0;
let tables = 0;
let study = "study";
let choice = "";

/** Numbers begin anew: the page is drawn again. Files are called after the study and what is chosen of it. */
export function beginFigures(name: string, chosen = ""): void {
  figures = tables = 0;
  study = [name, chosen].filter(Boolean).join("-").replace(/[^A-Za-z0-9._-]+/g, "-");
  choice = chosen;
}

function captionOf(name: string, caption: string): HTMLElement {
  return el("figcaption", {}, el("b", {}, `${name}. `), caption, choice ? ` Only ${choice}.` : null);
}

function tool(text: string, said: string, act: () => void): HTMLElement {
  const button = el("button", { type: "button", "aria-label": said }, text);
  button.addEventListener("click", act);
  return button;
}

function anchor(id: string, name: string): HTMLElement {
  return el("a", { href: `#${id}`, "aria-label": `Link to ${name}` }, "#");
}

/** A numbered figure with its caption; `rows`: what it draws, for its CSV, asked for when it is saved. */
export function figure(caption: string, rows: () => DataRow[], ...content: Child[]): HTMLElement {
  figures += 1;
  const name = `Figure ${figures}`;
  const id = `figure-${figures}`;
  const file = `${study}-${id}`;
  const whole: HTMLElement = el("figure", { id }, ...content,
    captionOf(name, caption),
    el("div", { class: "tools" },
      ...(content.some((c) => c instanceof Element && (c.matches("svg") || c.querySelector("svg")))
        ? [tool("SVG", `Save ${name} as SVG`, () => offer(`${file}.svg`, new Blob([svgOf(whole).text], { type: "image/svg+xml" }))),
          tool("PNG", `Save ${name} as PNG, 300 dots an inch`, () => void pngOf(whole).then((png) => offer(`${file}.png`, png),
            (error: Error) => whole.querySelector(".tools")?.append(el("span", { role: "alert" }, `No PNG: ${error.message}; take the SVG.`))))]
        : []),
      tool("CSV", `Save the data of ${name} as CSV`, () => offer(`${file}.csv`, new Blob([csvOf(rows())], { type: "text/csv" }))),
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
  const heads = [...table.tHead?.rows[0]?.cells ?? []].map((cell, i) =>
    cell.textContent?.replaceAll("\u2011", "-").replaceAll("\u00a0", " ").trim() || `column ${i + 1}`);
  const names = heads.map((head, i) => (heads.filter((other) => other === head).length > 1 ? `${heads[i - 1]} ${head}` : head));
  return [...table.tBodies[0]?.rows ?? []].map((row) => {
    const record: DataRow = {};
    [...row.cells].forEach((cell, i) => {
      const name = names[i] ?? `column ${i + 1}`;
      const found = [...cell.querySelectorAll(".estimate")].map((e) => estimates.get(e)).find((e) => e !== undefined);
      const p = cell.querySelector(".p");
      if (!found) {
        const text = cell.textContent ?? "";
        record[name] = p ? exact.get(p) ?? "" : text === "–" ? "" : text;
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

/** By the numbers that cells begin with, where all do that hold something, else as text; what is absent comes last. */
function sort(table: HTMLTableElement, column: number, down: boolean): void {
  const body = table.tBodies[0];
  if (!body) return;
  const rows = [...body.rows].map((row) => {
    const cell = row.cells[column];
    const found = cell ? estimates.get(cell.querySelector(".estimate") ?? cell) : undefined;
    const text = cell?.textContent?.replace("−", "-").trim() ?? "";
    const number = found ? finite(found.value) : /^-?[\d.]+(e-?\d+)?/.test(text) ? Number.parseFloat(text) : undefined;
    return { row, text, number, absent: found ? number === undefined : text === "" || text.startsWith("–") };
  });
  const numeric = rows.every((r) => r.absent || r.number !== undefined);
  rows.sort((a, b) => {
    if (a.absent || b.absent) return Number(a.absent) - Number(b.absent);
    const order = numeric ? (a.number ?? 0) - (b.number ?? 0) : a.text.localeCompare(b.text, "en", { numeric: !/\d\.\d/.test(a.text + b.text) });
    return down ? -order : order;
  });
  body.append(...rows.map((r) => r.row));
}

function makeSortable(table: HTMLTableElement): void {
  if ((table.tBodies[0]?.rows.length ?? 0) < 3) return;
  [...table.tHead?.rows[0]?.cells ?? []].forEach((head, column) => {
    // Over the words, not round them: headers that are printed again on each page keep text only.
    const button = el("button", { type: "button", class: "sort", "aria-label": `Sort by ${head.textContent || "the first column"}` });
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead?.rows[0]?.cells ?? []) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    });
  });
}

/** `all`: where the page shows the first rows only, the table of all, for the CSV. */
export function titledTable(caption: string, content: HTMLElement, all = content): HTMLElement {
  tables += 1;
  const name = `Table ${tables}`;
  const id = `table-${tables}`;
  const of = content.querySelector("table");
  if (of) makeSortable(of);
  const whole = all.querySelector("table");
  return el("figure", { class: "table", id },
    captionOf(name, caption), content,
    el("div", { class: "tools" },
      whole ? tool("CSV", `Save ${name} as CSV`, () => offer(`${study}-${id}.csv`, new Blob([csvOf(rowsOf(whole))], { type: "text/csv" }))) : null,
      anchor(id, name)));
}
