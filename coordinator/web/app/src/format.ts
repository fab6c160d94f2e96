// Numbers as text, and small helpers to make elements.
import { Estimate, Num } from "./study";

type Child = Node | string | null | undefined | false;

export function el(tag: string, attributes: Record<string, string> = {}, ...children: Child[]) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children) if (child) element.append(child);
  return element;
}

/** Three significant digits, without exponent where a person would not write one. */
function digits(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000 || size < 1e-4) return value.toPrecision(3);
  return String(Number(value.toPrecision(size < 1 ? 2 : 3)));
}

export function number(value: Num, unit: string): string {
  if (value === null) return "–";
  if (typeof value === "string") return value === "nan" ? "not a number" : value.replace("inf", "∞");
  if (unit === "correlation") return value.toFixed(3).replace("-", "−");
  if (unit !== "fraction") return digits(value).replace("-", "−");
  const percent = value * 100;
  const decimals = Math.abs(percent) >= 0.095 || percent === 0 ? 1 : 3;
  return `${percent.toFixed(decimals)} %`.replace("-", "−");
}

/** "8.0 % [7.1, 8.9]", with n, method and note on hover; data-value is the exact JSON number. */
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
  cell.append(number(e.value, e.unit));
  if (e.low !== null && e.high !== null) {
    const low = number(e.low, e.unit).replace(" %", "");
    const high = number(e.high, e.unit).replace(" %", "");
    cell.append(el("span", { class: "interval" }, ` [${low}, ${high}]`));
  }
  return cell;
}

export function table(head: string[], rows: Child[][], numericFrom = 1): HTMLElement {
  const cells = (tag: string, row: Child[]) =>
    row.map((c, i) => el(tag, i >= numericFrom ? { class: "num" } : {}, c));
  return el("div", { class: "scroll", tabindex: "0" },
    el("table", {},
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

let tables = 0;

export function titledTable(caption: string, content: HTMLElement): HTMLElement {
  tables += 1;
  return el("figure", { class: "table" },
    el("figcaption", {}, el("b", {}, `Table ${tables}. `), caption), content);
}

export function section(title: string, lead: string, ...content: Child[]): HTMLElement {
  return el("section", {}, el("h2", {}, title), lead ? el("p", { class: "lead" }, lead) : null, ...content);
}
