// Colours that colour-blind readers can tell apart (Okabe and Ito, 2008), one per hardware class;
// beyond eight classes some are told apart by the words only.
import { Study } from "./study";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a6f00", "#666666",
  "#332288", "#117733", "#882255", "#aa4499", "#b8a13c", "#661100", "#5b8c8c", "#a0522d"];

export interface Palette {
  domain: string[];
  range: string[];
}

/** Of these classes, of which some may be named more than once. */
export function coloursOf(classes: string[]): Palette {
  const domain = [...new Set(classes)].sort();
  return { domain, range: domain.map((_, i) => COLOURS[i % COLOURS.length] ?? "#666666") };
}

export function hardwarePalette(study: Study): Palette {
  return coloursOf(study.cohorts.map((c) => c.hardware));
}

/** Of what is no class of hardware: in another hue than all of them. */
export const ACCENT = "#7b4fa3";
export const ACCENT_LIGHT = "#c27bd1";

export const INK = "currentColor";
export const GRID = "var(--grid)";
