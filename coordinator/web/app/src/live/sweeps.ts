// All sweeps, newest first.
import { Child, el, table } from "../format";
import { ask } from "./api";
import { bar, outlook } from "./progress";
import { SweepSummary } from "./types";
import { attach, everyNowAndThen, link, minute, problem, redraw, Stage, title } from "./view";
import { ago, moment } from "./words";

const AGAIN_MS = 3000;
const PAGE = 50;

function row(s: SweepSummary): Child[] {
  const submitted = Number(s.submitted_unix_seconds);
  return [
    el("span", {}, link(`/s${s.id}`, `s${s.id} ${s.name}`), s.kind === "train" ? null : el("span", { class: "soft" }, ` ${[s.kind, s.of].filter(Boolean).join(" of ")}`)),
    el("div", { class: "standing" }, bar(s), el("span", { class: "soft" }, outlook(s))),
    s.owner || "–",
    el("span", { title: moment(submitted) }, ago(submitted)),
  ];
}

function empty(): HTMLElement {
  return el("p", {}, "No sweeps yet. ", el("code", {}, "noisefloor submit sweep.yaml"), " gives this coordinator one, ",
    el("code", {}, "noisefloor-worker"), " trains it.");
}

export function sweeps(stage: Stage): void {
  const archived = stage.query.get("archived") === "true";
  const page = stage.query.get("page") ?? "";
  const view = el("div", {});
  everyNowAndThen(stage, AGAIN_MS, async () => {
    const told = await ask<{ sweeps: SweepSummary[]; next_page_token: string; storage_problem: string }>(
      "ListSweeps", { page_size: PAGE, archived, page_token: page }, stage.signal);
    const query = (to: Record<string, string>) => `/?${new URLSearchParams({ ...(archived ? { archived: "true" } : {}), ...to })}`;
    attach(stage, view);
    redraw(view, [told, minute()], () => [
      title(["noisefloor"], "Sweeps"),
      told.storage_problem ? problem(told.storage_problem) : "",
      told.sweeps.length ? table(["Sweep", "Progress", "Owner", "Submitted"], told.sweeps.map(row), 4) : empty(),
      el("p", { class: "tools" },
        page ? link(query({}), "newest") : null,
        told.next_page_token ? link(query({ page: told.next_page_token }), "older") : null,
        archived ? link("/", "without archived ones") : link("/?archived=true", "archived ones, too"))]);
  });
}
