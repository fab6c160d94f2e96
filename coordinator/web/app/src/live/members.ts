// Members of a sweep: filtered, sorted, a page at a time; the address has it all.
import { Child, el, number, table } from "../format";
import { ask } from "./api";
import { heading } from "./sweep";
import { Member, SweepSummary } from "./types";
import { attach, everyNowAndThen, go, link, redraw, Stage } from "./view";
import { axesText, duration, stateWord } from "./words";

const AGAIN_MS = 5000;
const PAGE = 100;
const STATES = ["WAITING", "LEASED", "DONE", "DIVERGED", "FAILED", "CANCELLED"];
/** Columns, and what the coordinator sorts them by. */
const COLUMNS: [string, string][] = [["Member", "member"], ["Plan", ""], ["Setting", ""], ["Hardware", ""], ["State", "state"], ["Attempt", "attempt"], ["Worker", "worker"], ["Top-1", "top1"], ["Loss", ""], ["Time", ""]];

function row(m: Member): Child[] {
  const metric = (name: string, unit: string) => {
    const value = m.outcome?.metrics[name];
    return value === undefined ? "–" : typeof value === "number" ? number(value, unit) : value;
  };
  const state = stateWord(m.state);
  return [
    link(`/${m.id}`, m.id), m.plan, axesText(m.axes) || "–", m.hardware || "any",
    el("span", { class: `state ${state}` }, state === "training" ? `training, ${m.step} of ${m.step_count}` : state),
    m.attempt ? String(m.attempt) : "–",
    m.worker ? link(`/workers/${encodeURIComponent(m.worker)}`, m.worker) : "–",
    metric("top1", "fraction"), metric("loss", "nats"),
    m.outcome && m.outcome.train_seconds > 0 ? duration(m.outcome.train_seconds) : "–",
  ];
}

export function members(id: string): (stage: Stage) => void {
  return (stage) => {
    const asked = (name: string) => stage.query.get(name) ?? "";
    const to = (changes: Record<string, string>) => {
      const query = new URLSearchParams(stage.query);
      query.delete("page");
      for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name);
      return `/s${id}/members${query.size ? `?${query}` : ""}`;
    };
    const choose = (name: string, words: string, options: string[]) => {
      const select = el("select", { "aria-label": words }, el("option", { value: "" }, `${words}: all`),
        ...options.map((o) => el("option", { value: o, ...(asked(name) === o ? { selected: "" } : {}) }, name === "state" ? stateWord(o) : o))) as HTMLSelectElement;
      select.addEventListener("change", () => go(to({ [name]: select.value })));
      return select;
    };
    const worker = el("input", { type: "search", placeholder: "worker", "aria-label": "Name of a worker", value: asked("worker") }) as HTMLInputElement;
    worker.addEventListener("change", () => go(to({ worker: worker.value.trim() })));

    const head = (row: HTMLElement) => {
      for (const [i, cell] of [...row.querySelectorAll("th")].entries()) {
        const by = COLUMNS[i]?.[1];
        if (!by) continue;
        const [now, turned] = (asked("sort") || "member").split(" ");
        const next = now === by && !turned ? `${by} desc` : by;
        if (now === by) cell.setAttribute("aria-sort", turned ? "descending" : "ascending");
        const button = el("a", { href: to({ sort: next === "member" ? "" : next }), class: "sort", "aria-label": `Sort by ${cell.textContent}` });
        cell.append(button);
      }
      return row;
    };

    const list = el("div", {});
    const top = el("div", {});
    everyNowAndThen(stage, AGAIN_MS, async () => {
      const selection = { "selection.states": asked("state") ? [asked("state")] : [], "selection.plans": asked("plan") ? [asked("plan")] : [],
        "selection.hardware": asked("hardware") ? [asked("hardware")] : [], "selection.workers": asked("worker") ? [asked("worker")] : [] };
      const [{ sweep }, told] = await Promise.all([
        ask<{ sweep: SweepSummary }>("GetSweep", { sweep_id: id }, stage.signal),
        ask<{ members: Member[]; next_page_token: string }>("ListMembers",
          { sweep_id: id, page_size: PAGE, order_by: asked("sort"), page_token: asked("page"), ...selection }, stage.signal),
      ]);
      const plans = sweep.sweep?.noise.map((p) => p.name) ?? [];
      const classes = [...new Set([...sweep.hardware, ...told.members.map((m) => m.hardware), asked("hardware")])].filter(Boolean).sort();
      redraw(top, [sweep.name, sweep.sweep?.notes, plans, classes], () => [heading(sweep, "/members"),
        el("div", { class: "filter", role: "group", "aria-label": "Which members" },
          choose("state", "State", STATES.map((s) => `MEMBER_STATE_${s}`)), choose("plan", "Plan", plans),
          choose("hardware", "Hardware", classes), worker)]);
      attach(stage, top, list);
      redraw(list, told, () => [
        told.members.length ? head(table(COLUMNS.map(([name]) => name), told.members.map(row), 7)) : el("p", {}, "No member is like that."),
        el("p", { class: "tools" },
          asked("page") ? link(to({}), "first page") : null,
          told.next_page_token ? link(`${to({})}${to({}).includes("?") ? "&" : "?"}page=${encodeURIComponent(told.next_page_token)}`, "next page") : null)]);
    });
  };
}
