// Numbers as text, and small helpers to make elements.
import { Estimate, finite, Num } from "./study";

type Child = Node | string | null | undefined | false;

export function el(tag: string, attributes: Record<string, string> = {}, ...children: Child[]) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children) if (child) element.append(child);
  return element;
}

interface Style {
  factor: number;
  digits: number;
  suffix: string;
}

const PLAIN: Style = { factor: 1, digits: 3, suffix: "" };
const STYLES: Record<string, Style> = {
  fraction: { factor: 100, digits: 2, suffix: " %" },
  seconds: { factor: 1, digits: 1, suffix: " s" },
  ratio: { factor: 1, digits: 2, suffix: "" },
};

/**
 * Digits after the point, the same for a value and its bounds: two digits of the largest, one of the
 * smallest that is not zero. The tables have the same rule (StyleOf in coordinator/report/words.cc).
 */
function decimals(values: Num[], style: Style): number {
  const sizes = values.map((v) => Math.abs(finite(v) ?? 0) * style.factor).filter((size) => size > 1e-6);
  if (sizes.length === 0) return style.digits;
  const place = (size: number) => -Math.floor(Math.log10(size));
  const most = Math.max(...sizes);
  const digits = most >= 1000 ? 0 : most < 0.1 ? place(most) + 1 : style.digits;
  return Math.min(9, Math.max(digits, place(Math.min(...sizes))));
}

/** As toFixed, but what lies half-way goes to the even digit, as in the tables. */
function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const scaled = value * 2 ** (digits + 1);  // Exact; half-way, it is a whole number.
  const halfWay = Number.isInteger(scaled) && Math.abs((scaled * 5 ** digits) % 2) === 1;
  if (!halfWay || /[02468]$/.test(text)) return text;
  return (value - Math.sign(value) * 0.25 * 10 ** -digits).toFixed(digits);
}

function shown(value: Num, style: Style, digits: number): string {
  if (value === null) return "–";
  if (typeof value === "string") return value === "nan" ? "not a number" : value.replace("inf", "∞").replace("-", "−");
  const text = fixed(value * style.factor, digits);
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
}

export function number(value: Num, unit: string): string {
  const style = STYLES[unit] ?? PLAIN;
  const text = shown(value, style, decimals([value], style));
  return finite(value) === undefined ? text : text + style.suffix;
}

/** "8.00 % [7.10, 8.90]", with n, method and note on hover; data-value is the exact JSON number. */
export function estimate(e: Estimate, path: string): HTMLElement {
  const title = [
    `n = ${e.n}`,
    e.method,
    e.detectable === null ? "" : `n = ${e.n} could have seen ${e.detectable_kind} ${number(e.detectable, e.detectable_kind === "ratio" ? "ratio" : e.unit)}`,
    e.note,
  ].filter(Boolean).join("; ");
  const cell = el("span", { class: "estimate", title, "data-path": path, "data-value": String(e.value) });
  if (e.value === null) {
    cell.append(el("span", { class: "absent" }, "–"), el("span", { class: "sr" }, ` ${e.note}`));
    return cell;
  }
  const style = STYLES[e.unit] ?? PLAIN;
  const digits = decimals([e.value, e.low, e.high], style);
  cell.append(shown(e.value, style, digits) + (finite(e.value) === undefined ? "" : style.suffix));
  if (e.low !== null && e.high !== null) {
    cell.append(el("span", { class: "interval" }, ` [${shown(e.low, style, digits)}, ${shown(e.high, style, digits)}]`));
  }
  return cell;
}

export function table(head: string[], rows: Child[][], numericFrom = 1): HTMLElement {
  const cells = (tag: string, row: Child[]) =>
    row.map((c, i) => el(tag, i >= numericFrom ? { class: "num" } : {}, c));
  return el("div", { class: "scroll", tabindex: "0" },
    el("table", numericFrom < head.length ? {} : { class: "text" },
      el("thead", {}, el("tr", {}, ...head.map((h, i) => el("th", i >= numericFrom ? { class: "num", scope: "col" } : { scope: "col" }, h)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells("td", row))))));
}

let figures = 0;

/** A numbered figure with its caption. */
export function figure(caption: string, ...content: Child[]): HTMLElement {
  figures += 1;
  return el("figure", {}, ...content,
    el("figcaption", {}, el("b", {}, `Figure ${figures}. `), caption));
}

/** Drawings that a narrow window scrolls rather than shrinks beyond reading. */
export function wide(...drawings: Child[]): HTMLElement {
  return el("div", { class: "scroll wide", tabindex: "0" }, ...drawings);
}

let tables = 0;

export function titledTable(caption: string, content: HTMLElement): HTMLElement {
  tables += 1;
  return el("figure", { class: "table" },
    el("figcaption", {}, el("b", {}, `Table ${tables}. `), caption), content);
}

export function section(title: string, lead: string, ...content: Child[]): HTMLElement {
  return el("section", {}, el("h2", {}, title), lead ? el("p", { class: "lead" }, lead) : null, ...content);
}
