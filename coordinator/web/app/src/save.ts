// A figure taken away: as SVG, as PNG at 300 dots an inch, and its data as CSV.
export type DataRow = { [column: string]: string | number | undefined };

/** Offers bytes under a name. */
export function offer(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);  // The browser reads it meanwhile.
}

// Signed, as text: no spreadsheet computes anything of it.
const NUMBER = /^-((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)$/i;

/** As common/base/csv.cc does: no text is a formula. */
function field(value: string | number | undefined): string {
  const formula = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !NUMBER.test(value);
  const text = value === undefined ? "" : (formula ? "'" : "") + String(value).replaceAll("\n", ", ");
  return /[",\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(rows: DataRow[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((line) => line.map(field).join(",") + "\n").join("");
}

/** Colours as on paper, whatever the theme: a file has no style sheet. */
const ON_PAPER: { [name: string]: string } = {
  ink: "#1b1d21", soft: "#5c6370", paper: "#ffffff", line: "#d9dce1", grid: "#e2e5ea", missing: "#c9ccd1",
};

const SVG = "http://www.w3.org/2000/svg";

function svgElement(tag: string, attributes: { [name: string]: string | number }): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** The legend's dots and words, where they stand. */
function legendOf(figure: Element, left: number, top: number): SVGElement[] {
  return [...figure.querySelectorAll(".legend span")].flatMap((entry) => {
    const dot = entry.querySelector("i");
    if (!dot) return [];
    const at = dot.getBoundingClientRect();
    const text = svgElement("text", { x: at.right + 6 - left, y: at.top + at.height / 2 - top, "dominant-baseline": "central", "font-size": 13 });
    text.textContent = entry.textContent;
    return [svgElement("circle", { cx: at.left + at.width / 2 - left, cy: at.top + at.height / 2 - top, r: at.width / 2, fill: dot.style.background }), text];
  });
}

/** The letters and titles of panels. */
function panelsOf(figure: Element, left: number, top: number): SVGElement[] {
  return [...figure.querySelectorAll(".panel > p")].map((title) => {
    const at = title.getBoundingClientRect();
    const text = svgElement("text", { x: at.left - left, y: at.top + at.height / 2 - top, "dominant-baseline": "central", "font-size": 13 });
    const letter = svgElement("tspan", { "font-weight": "bold" });
    letter.textContent = title.querySelector("b")?.textContent ?? "";
    text.append(letter, (title.textContent ?? "").slice(letter.textContent.length));
    return text;
  });
}

/** All drawings of a figure as they stand on the page, in one file that needs nothing else. */
export function svgOf(figure: Element): { text: string; width: number; height: number } {
  const shown = [...figure.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width > 0);
  const boxes = [...shown, ...figure.querySelectorAll(".legend span, .panel > p")].map((e) => e.getBoundingClientRect());
  const left = Math.min(...boxes.map((b) => b.left)) - 8;
  const top = Math.min(...boxes.map((b) => b.top)) - 8;
  const width = Math.ceil(Math.max(...boxes.map((b) => b.right)) - left + 8);
  const height = Math.ceil(Math.max(...boxes.map((b) => b.bottom)) - top + 8);
  const whole = svgElement("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Helvetica, Arial, sans-serif", fill: "currentColor" });
  const caption = svgElement("desc", {});
  caption.textContent = figure.querySelector("figcaption")?.textContent ?? "";
  whole.append(caption, svgElement("rect", { width, height, fill: "var(--paper)" }), ...legendOf(figure, left, top), ...panelsOf(figure, left, top));
  for (const svg of shown) {
    const copy = svg.cloneNode(true) as SVGSVGElement;
    const at = svg.getBoundingClientRect();
    for (const [name, value] of Object.entries({ x: at.left - left, y: at.top - top, width: at.width, height: at.height })) {
      copy.setAttribute(name, String(value));
    }
    copy.style.overflow = "visible";
    whole.append(copy);
  }
  const text = new XMLSerializer().serializeToString(whole)
    .replace(/var\(--([a-z]+)\)/g, (_, name: string) => ON_PAPER[name] ?? "#1b1d21")
    .replaceAll("currentColor", ON_PAPER["ink"] ?? "").replaceAll("system-ui, sans-serif", "Helvetica, Arial, sans-serif");
  return { text, width, height };
}

const DOTS_AN_INCH = 300;
const MOST_DOTS = 16000;  // Of a side: what browsers draw.
const MOST_AREA = 2 ** 28;
const CSS_DOTS_AN_INCH = 96;

/** The CRC of PNG (ISO 3309). */
function crc(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; ++bit) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return (value ^ 0xffffffff) >>> 0;
}

/** A PNG with its resolution: chunk pHYs, dots a metre, after the header of 33 bytes. */
function withResolution(png: Uint8Array, dotsAnInch: number): Blob {
  const chunk = new DataView(new ArrayBuffer(21));
  const dotsAMetre = Math.round(dotsAnInch / 0.0254);
  chunk.setUint32(0, 9);
  chunk.setUint32(4, 0x70485973);  // "pHYs"
  chunk.setUint32(8, dotsAMetre);
  chunk.setUint32(12, dotsAMetre);
  chunk.setUint8(16, 1);
  chunk.setUint32(17, crc(new Uint8Array(chunk.buffer, 4, 13)));
  return new Blob([png.slice(0, 33), chunk.buffer, png.slice(33)], { type: "image/png" });
}

export async function pngOf(figure: Element): Promise<Blob> {
  const { text, width, height } = svgOf(figure);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  // A very large figure has fewer dots.
  const scale = Math.min(DOTS_AN_INCH / CSS_DOTS_AN_INCH, MOST_DOTS / Math.max(width, height), Math.sqrt(MOST_AREA / (width * height)));
  const canvas = Object.assign(document.createElement("canvas"), { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("the browser could not make a PNG of this size");
  return withResolution(new Uint8Array(await blob.arrayBuffer()), scale * CSS_DOTS_AN_INCH);
}
