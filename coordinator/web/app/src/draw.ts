// Drawings by Observable Plot, so that people who do not see or point can read them, too.
import * as Plot from "@observablehq/plot";
import { explain } from "./tip";

/** Titles of marks become what the page's own tooltip and a screen reader say. */
function finish(svg: SVGSVGElement, said: string): void {
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", said);
  // Marks and groups without a role may have no label (WAI-ARIA 1.2); what they are is kept as data.
  for (const group of svg.querySelectorAll("[aria-label], [aria-description]")) {
    group.setAttribute("data-mark", group.getAttribute("aria-label") ?? "");
    group.removeAttribute("aria-label");
    group.removeAttribute("aria-description");
  }
  [...svg.querySelectorAll("title")].forEach((title, i) => {
    const mark = title.parentElement;
    if (mark && title.textContent) explain(mark, title.textContent, i === 0);
    title.remove();
  });
}

/** `said`: what the drawing shows, in a few words. With a legend: a figure of legend and drawing. */
export function plot(said: string, options: Plot.PlotOptions): Element {
  const drawing = Plot.plot(options);
  if (drawing instanceof SVGSVGElement) finish(drawing, said);
  else for (const svg of drawing.querySelectorAll("svg")) finish(svg, said);
  return drawing;
}
