// Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), one per hardware class.
import { Study } from "./study";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6f00", "#666666"];

export interface Palette {
  domain: string[];
  range: string[];
}

export function hardwarePalette(study: Study): Palette {
  const domain = [...new Set(study.cohorts.map((c) => c.hardware))].sort();
  return { domain, range: domain.map((_, i) => COLOURS[i % COLOURS.length] ?? "#666666") };
}

/** Of what is no class of hardware: in another hue than all of them. */
export const ACCENT = "#7b4fa3";
export const ACCENT_LIGHT = "#c27bd1";

export const INK = "currentColor";
export const GRID = "var(--grid)";
