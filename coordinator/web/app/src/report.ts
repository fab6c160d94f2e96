// A study, drawn: what the report file and the live page have in common.
import { classes } from "./classes";
import { contrasts } from "./contrasts";
import { curves } from "./curves";
import { decompositions } from "./decompositions";
import { divergent } from "./divergent";
import { ensembles } from "./ensembles";
import { beginFigures } from "./figure";
import { chosen, filterBar } from "./filter";
import { el } from "./format";
import { header, environment, members, warnings } from "./frame";
import { hardware, stacks } from "./hardware";
import { heatMap } from "./heat_map";
import { hardwarePalette, Palette } from "./palette";
import { rememberPaths } from "./paths";
import { recipe } from "./recipe";
import { sensitive } from "./sensitive";
import { control, sources } from "./sources";
import { answered, Study } from "./study";
import { trajectories } from "./trajectories";

function parts(study: Study, palette: Palette): HTMLElement[] {
  beginFigures(study.sweep.name, study.choice);
  return [
    control(study),
    sources(study, palette),
    decompositions(study),
    contrasts(study),
    hardware(study),
    stacks(study),
    curves(study, palette),
    trajectories(study, palette),
    heatMap(study),
    ensembles(study, palette),
    classes(study, palette),
    divergent(study),
    sensitive(study),
    recipe(study),
    environment(study),
    members(study),
  ].filter((part) => part !== null);
}

/** Links to the sections, in their order. */
function contents(sections: HTMLElement[]): HTMLElement {
  return el("nav", { class: "contents", "aria-label": "Contents" }, ...sections.map((section) => {
    const title = section.querySelector("h2");
    return el("a", { href: `#${title?.id}` }, title?.textContent ?? "");
  }));
}

/** Draws it into `page`; `text`: its JSON, as it came. */
export function showReport(study: Study, text: string, page: HTMLElement): void {
  if (study.study_version !== 2) {
    page.replaceChildren(el("p", {}, `This page draws studies of version 2; this one is ${study.study_version}.`));
    return;
  }
  rememberPaths(study);
  const palette = hardwarePalette(study);
  const body = el("div", {});
  const draw = (some: Study) => {
    const sections = parts(some, palette);
    const told = some.choice ? el("p", { class: "lead chosen", role: "status" }, `Only ${some.choice}. What is said of the whole study at once (contrasts, shares of the sources, tests of all classes, the worst classes, the ${answered(some).one}s that flip) is left out.`) : null;
    body.replaceChildren(...(told ? [told] : []), contents(sections), ...sections);
  };
  draw(study);
  const bar = filterBar(study, (choice) => draw(chosen(study, choice)));
  page.replaceChildren(header(study, text), warnings(study), ...(bar ? [bar] : []), body);
}
