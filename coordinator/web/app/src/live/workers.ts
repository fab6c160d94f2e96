// Workers: what they have, what they do, and why one gets nothing.
import { Child, el, section, table } from "../format";
import { ask } from "./api";
import { Worker } from "./types";
import { attach, everyNowAndThen, link, minute, problem, redraw, Stage, title } from "./view";
import { ago, moment } from "./words";

const AGAIN_MS = 3000;
const MOST_NAMED = 8;  // Members that a row names.

function standing(w: Worker): string {
  if (!w.connected) return "not connected";
  return [w.draining ? "draining" : "connected", ...w.paused.map((p) => `${p.unit}: ${p.reason}`)].join("; ");
}

function running(w: Worker): Child {
  const named = w.running.slice(0, MOST_NAMED).flatMap((m, i): Child[] => [i ? ", " : null, link(`/${m}`, m)]);
  return el("span", {}, ...named, w.running.length > MOST_NAMED ? ` and ${w.running.length - MOST_NAMED} more` : w.running.length ? "" : "–");
}

function row(w: Worker): Child[] {
  const seen = Number(w.seen_unix_seconds);
  return [
    link(`/workers/${encodeURIComponent(w.name)}`, w.name),
    el("span", { class: w.connected ? "" : "soft" }, standing(w)),
    [...new Set(w.inventory?.offers.map((o) => o.hardware_class))].join(", ") || "–",
    `${w.running.length} of ${w.inventory?.slots.length ?? 0}`, running(w),
    w.connected ? "now" : el("span", { title: moment(seen) }, ago(seen)),
  ];
}

export function workers(stage: Stage): void {
  const view = el("div", {});
  everyNowAndThen(stage, AGAIN_MS, async () => {
    const told = await ask<{ workers: Worker[]; storage_problem: string }>("ListWorkers", {}, stage.signal);
    attach(stage, view);
    redraw(view, [told, minute()], () => [
      title(["noisefloor"], "Workers"),
      told.storage_problem ? problem(told.storage_problem) : "",
      told.workers.length ? table(["Worker", "State", "Hardware", "Slots", "Trains", "Seen"], told.workers.map(row), 6)
        : el("p", {}, "None has come yet. ", el("code", {}, "noisefloor-worker --coordinator=HOST:PORT"), " is one.")]);
  });
}

export function worker(name: string): (stage: Stage) => void {
  return (stage) => {
    const view = el("div", {});
    everyNowAndThen(stage, AGAIN_MS, async () => {
      const [{ workers: all }, { text }] = await Promise.all([
        ask<{ workers: Worker[] }>("ListWorkers", {}, stage.signal),
        ask<{ text: string }>("ExplainWorker", { worker: name }, stage.signal),
      ]);
      const w = all.find((one) => one.name === name);
      attach(stage, view);
      redraw(view, [w, text, minute()], () => [
        title([link("/workers", "Workers")], name),
        el("pre", { class: "wrap" }, text),
        w ? section("Now", "", el("p", {}, standing(w), `; version ${w.version || "not known"}`), el("p", {}, "Trains: ", running(w))) : "",
        w?.inventory ? section("What it has", "",
          table(["Device", "Unit", "Hardware", "Note"], w.inventory.devices.map((d) => [d.model, d.unit, d.hardware_classes.join(", "), d.note]), 4),
          table(["Offers", "Stack"], w.inventory.offers.map((o) => [o.hardware_class, o.stack]), 2)) : "",
        w?.inventory?.withheld.length ? section("What it withholds", "", table(["What", "Why"], w.inventory.withheld.map((x) => [x.what, x.reason]), 2)) : ""]);
    });
  };
}
