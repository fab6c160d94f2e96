// Numbers as text, and small helpers to make elements.
import { Estimate, finite, Num, Study } from "./study";

export type Child = Node | string | null | undefined | false;

export function el(tag: string, attributes: Record<string, string> = {}, ...children: Child[]) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children) if (child) element.append(child);
  return element;
}

/** A share of the terms that a number is made of; terms: of a fraction or a correlation they go up to 1. */
const ROUNDING = 1e-12;
/** An estimate whose numbers are all less has powers of ten, and one number far less than the others. */
const LEAST_IN_DIGITS = 1e-4;
const LEAST_BESIDE_OTHERS = 1e-6;
const LEAST_OF_LARGEST = 1e-5;

interface Style {
  factor: number;
  digits: number;
  suffix: string;
  terms: number;
}

const PLAIN: Style = { factor: 1, digits: 3, suffix: "", terms: 0 };
const STYLES: Record<string, Style> = {
  fraction: { factor: 100, digits: 2, suffix: " %", terms: 100 },
  correlation: { factor: 1, digits: 3, suffix: "", terms: 1 },
  seconds: { factor: 1, digits: 1, suffix: " s", terms: 0 },
  ratio: { factor: 1, digits: 2, suffix: "", terms: 0 },
};

/** How the numbers of one estimate are written; sizes are after multiplying with the factor. */
interface Format {
  factor: number;
  digits: number;
  suffix: string;
  zeroTo: number;
  powersBelow: number;
}

/**
 * Digits after the point, the same for a value and its bounds: two digits of the largest, one of the
 * smallest that is not zero. The tables have the same rule (StyleOf in coordinator/report/words.cc);
 * tests/web/figures.json holds both to it.
 */
function formatOf(values: Num[], unit: string): Format {
  const { factor, digits, suffix, terms } = STYLES[unit] ?? PLAIN;
  const sizes = values.map((v) => Math.abs(finite(v) ?? 0) * factor);
  const most = Math.max(...sizes);
  const zeroTo = ROUNDING * Math.max(terms, most);
  const rest = { factor, suffix, zeroTo };
  if (most <= zeroTo) return { ...rest, digits, powersBelow: 0 };
  if (most < LEAST_IN_DIGITS) return { ...rest, digits: 0, powersBelow: LEAST_IN_DIGITS };
  const place = (size: number) => -Math.floor(Math.log10(size));
  const powersBelow = Math.max(LEAST_BESIDE_OTHERS, LEAST_OF_LARGEST * most);
  const least = Math.min(...sizes.filter((size) => size > zeroTo && size >= powersBelow));
  const own = most >= 1000 ? 0 : most < 0.1 ? place(most) + 1 : digits;
  return { ...rest, digits: Math.max(own, place(least)), powersBelow };
}

/** "1.2e-08" */
function withPower(value: number): string {
  return value.toExponential(1).replace(/-(\d)$/, "-0$1");
}

/** As toFixed, but what lies half-way goes to the even digit, as in the tables. */
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const scaled = value * 2 ** (digits + 1);  // Exact; half-way, it is a whole number.
  const halfWay = Number.isInteger(scaled) && Math.abs((scaled * 5 ** digits) % 2) === 1;
  if (!halfWay || /[02468]$/.test(text)) return text;
  return (value - Math.sign(value) * 0.25 * 10 ** -digits).toFixed(digits);
}

function shown(value: Num, format: Format): string {
  if (value === null) return "–";
  if (typeof value === "string") return value === "nan" ? "not a number" : value.replace("inf", "∞").replace("-", "−");
  const scaled = value * format.factor;
  const size = Math.abs(scaled);
  if (size <= format.zeroTo) return (0).toFixed(format.digits);
  return (size < format.powersBelow ? withPower(scaled) : fixed(scaled, format.digits)).replace(/^-/, "−");
}

export function number(value: Num, unit: string): string {
  const format = formatOf([value], unit);
  return shown(value, format) + (finite(value) === undefined ? "" : format.suffix);
}

/** "8.00 %" and " [7.10, 8.90]"; the second is empty without an interval. */
function parts(e: Estimate): [string, string] {
  const format = formatOf([e.value, e.low, e.high], e.unit);
  const value = shown(e.value, format) + (finite(e.value) === undefined ? "" : format.suffix);
  if (e.low === null || e.high === null) return [value, ""];
  return [value, ` [${shown(e.low, format)}, ${shown(e.high, format)}]`];
}

/** "8.00 % [7.10, 8.90]" */
export function withInterval(e: Estimate): string {
  return parts(e).join("");
}

/** What an element shows. */
export const estimates = new WeakMap<Element, Estimate>();

/** The same as an element, with n, method and note on hover; data-value is the exact JSON number. */
export function estimate(e: Estimate, path: string): HTMLElement {
  const title = [
    `n = ${e.n}`,
    e.method,
    e.detectable === null ? "" : `n = ${e.n} could have seen ${e.detectable_kind} ${number(e.detectable, e.detectable_kind === "ratio" ? "ratio" : e.unit)}`,
    e.note,
  ].filter(Boolean).join("; ");
  const cell = el("span", { class: "estimate", title, "data-path": path, "data-value": String(e.value) });
  estimates.set(cell, e);
  if (e.value === null) {
    cell.append(el("span", { class: "absent" }, "–"), el("span", { class: "sr" }, ` ${e.note}`));
    return cell;
  }
  const [value, interval] = parts(e);
  cell.append(value);
  if (interval) cell.append(el("span", { class: "interval" }, interval));
  return cell;
}

export function table(head: string[], rows: Child[][], numericFrom = 1): HTMLElement {
  const cells = (tag: string, row: Child[]) =>
    row.map((c, i) => el(tag, i >= numericFrom ? { class: "num" } : {}, c));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    el("table", numericFrom < head.length ? {} : { class: "text" },
      el("thead", {}, el("tr", {}, ...head.map((h, i) => el("th", i >= numericFrom ? { class: "num", scope: "col" } : { scope: "col" }, h)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells("td", row))))));
}

/** Folded away, and made when its summary is clicked, as printing does, too: tables of all members are large. */
export function folded(title: string, make: () => Child): HTMLElement {
  const summary = el("summary", {}, title);
  const details = el("details", {}, summary);
  summary.addEventListener("click", () => {
    const content = make();
    if (content) details.append(content);
  }, { once: true });
  return details;
}

/** Why a section is empty: of the whole study, or of what was chosen. */
export function nothing(study: Study, ofTheWhole: string): string {
  return study.choice ? `Nothing of this is among what is chosen (${study.choice}).` : ofTheWhole;
}

/** "what-does-the-hardware-change" */
function slug(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

export function section(title: string, lead: string, ...content: Child[]): HTMLElement {
  return el("section", {}, el("h2", { id: slug(title) }, title), lead ? el("p", { class: "lead" }, lead) : null, ...content);
}

/** Two digits of a p, half-way to the even one as in the findings; a dash where there is none. */
function pValue(p: Num): string {
  const value = finite(p);
  if (value === undefined) return "–";
  if (value < 0.0001) return value.toExponential(1);
  return String(Number(fixed(value, 1 - Math.floor(Math.log10(value)))));
}

/** What a cell shows of a number, whole. */
export const exact = new WeakMap<Element, Num>();

export function pCell(p: Num, path: string, attributes: Record<string, string> = {}, mark = ""): HTMLElement {
  const cell = el("span", { class: "p", "data-p": path, ...attributes }, pValue(p) + mark);
  exact.set(cell, p);
  return cell;
}
