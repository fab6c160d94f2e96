// The report: reads the Study that lies in the page and draws it. Makes no request.
import "./page.css";
import { classes } from "./classes";
import { contrasts } from "./contrasts";
import { curves } from "./curves";
import { decompositions } from "./decompositions";
import { divergent } from "./divergent";
import { el } from "./format";
import { hardware, stacks } from "./hardware";
import { heatMap } from "./heat_map";
import { header, environment, members, warnings } from "./frame";
import { hardwarePalette } from "./palette";
import { recipe } from "./recipe";
import { control, sources } from "./sources";
import { Study } from "./study";

function main(): void {
  const text = document.getElementById("study")?.textContent ?? "";
  const study = JSON.parse(text) as Study;
  const page = el("main", { id: "page" });
  (document.getElementById("app") ?? document.body).append(page);
  if (study.study_version !== 2) {
    page.append(el("p", {}, `This page draws studies of version 2; this one is ${study.study_version}.`));
    return;
  }
  const palette = hardwarePalette(study);
  page.append(
    header(study),
    warnings(study),
    recipe(study),
    control(study),
    sources(study, palette),
    ...[decompositions(study)].filter((part) => part !== null),
    ...[contrasts(study)].filter((part) => part !== null),
    hardware(study),
    ...[stacks(study)].filter((part) => part !== null),
    curves(study, palette),
    heatMap(study),
    classes(study, palette),
    divergent(study),
    environment(study),
    members(study),
  );
  page.dataset["drawn"] = "yes";
}

main();
