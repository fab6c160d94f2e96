// A member's whole story: where it stands and why, what it measures, what happened, what it leaves.
import { Child, el, folded, number, section, table } from "../format";
import { coloursOf } from "../palette";
import { ask, listen, text } from "./api";
import { curve, joined, labelOf } from "./curves";
import { Artifact, Event, Member, MemberNews, RecordedValue } from "./types";
import { attach, everyNowAndThen, giveUp, link, plain, problem, redraw, Stage, title } from "./view";
import { axesText, bytesText, duration, moment, stateWord } from "./words";

const AGAIN_MS = 10_000;
const DRAW_AGAIN_MS = 500;
const ENDED = ["done", "diverged", "failed", "cancelled"];
const METRICS = ["train_loss", "test_loss", "test_top1"];

function facts(m: Member): HTMLElement {
  const rows: [string, Child][] = [
    ["plan", m.plan], ["setting", axesText(m.axes)], ["hardware", m.hardware], ["stack", m.stack],
    ["block, replicate", `${m.block}, ${m.replicate}`], ["worker", m.worker ? link(`/workers/${encodeURIComponent(m.worker)}`, m.worker) : ""],
    ["attempt", m.attempt ? String(m.attempt) : ""],
    ["weights of", m.subject ? link(`/${m.subject}`, m.subject) : m.weights_file],
    ["time", m.outcome && m.outcome.train_seconds > 0 ? duration(m.outcome.train_seconds) : ""],
    ...Object.entries(m.outcome?.metrics ?? {}).sort().map(([name, value]): [string, Child] =>
      [name, typeof value === "number" ? number(value, name.startsWith("top") ? "fraction" : "nats") : value]),
  ];
  return el("dl", { class: "facts" }, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function sources(m: Member): HTMLElement {
  return table(["Source", "State", "Lane", "Seed"], Object.keys(m.sources).sort().map((name) => {
    const { state, lane, seed } = m.sources[name] ?? { state: "", lane: 0, seed: "" };
    const off = state === "SOURCE_STATE_OFF";
    return [name, state.replace("SOURCE_STATE_", "").toLowerCase(), off ? "–" : String(lane), off ? "–" : el("code", {}, seed)];
  }), 4);
}

function artifact(m: Member, a: Artifact): Child[] {
  const there = a.collected_unix_seconds === "0";
  return [
    there ? el("a", { href: `/api/GetArtifact?member=${m.id}&kind=${encodeURIComponent(a.kind)}` }, a.kind) : a.kind,
    bytesText(Number(a.size)), there ? "" : `removed ${moment(Number(a.collected_unix_seconds))}`, el("code", {}, a.sha256.slice(0, 16)),
  ];
}

function eventLine(e: Event): HTMLElement {
  return el("li", {}, el("time", {}, moment(Number(e.unix_micros) / 1e6)), ` ${e.text}`);
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

/** What does not change while it trains, made anew when something has happened. */
function story(m: Member, events: Event[], log: HTMLElement): HTMLElement[] {
  const out = m.outcome;
  return [
    out?.message ? problem(out.cause ? `${out.cause}: ${out.message}` : out.message) : el("span", {}),
    facts(m),
    section("What happened", "", el("ol", { class: "lines" }, ...events.map(eventLine))),
    section("Log", "", log),
    section("Noise sources", "", sources(m)),
    section("Files", "", out?.artifacts.length ? table(["Kind", "Size", "", "SHA-256"], out.artifacts.map((a) => artifact(m, a)), 4) : el("p", {}, "None yet.")),
    section("What ran", "",
      folded("specification", () => plain(indented(m.specification))),
      out?.environment ? folded("environment", () => plain(indented(out.environment))) : null,
      out && Object.keys(out.hashes).length ? folded("hashes", () => table(["Of", "SHA-256"], Object.entries(out.hashes).sort().map(([of, hash]) => [of, el("code", {}, hash)]), 2)) : null),
  ];
}

export function member(id: string): (stage: Stage) => void {
  const sweep = /^s(\d+)/.exec(id)?.[1] ?? "";
  return (stage) => {
    const head = el("div", {});
    const measured = el("div", { class: "pair" });
    const drawings = section("What it measured", "", measured,
      folded("values so far", () => table(["Step", "What", "Value"], values.map((v) => [v.step, labelOf(v.name), String(v.value)]))));
    const rest = el("div", {});
    const bar = el("p", { class: "standing", "aria-live": "polite" });
    let values: RecordedValue[] = [];
    let lease = "";
    let hardware = "";
    let timer = 0;
    let drawn = -1;
    stage.signal.addEventListener("abort", () => clearTimeout(timer));

    const draw = () => {
      timer = 0;
      if (values.length === drawn) return;
      drawn = values.length;
      const curves = METRICS.map((metric) => curve(metric, [{ name: id, of: hardware, values }], coloursOf([hardware]), 470)).filter((c) => c !== null);
      measured.replaceChildren(...(curves.length ? curves : [el("p", {}, "Nothing is measured yet.")]));
    };
    const look = everyNowAndThen(stage, AGAIN_MS, async () => {
      const [{ member: m, events }, { text: explained }] = await Promise.all([
        ask<{ member: Member; events: Event[] }>("GetMember", { member: id }, stage.signal),
        ask<{ text: string }>("ExplainMember", { member: id }, stage.signal),
      ]);
      hardware = m.hardware;
      const state = stateWord(m.state);
      redraw(head, [m.state, m.hardware, explained], () => [title([link("/", "Sweeps"), " · ", link(`/s${sweep}`, `s${sweep}`), " · ", link(`/s${sweep}/members`, "members")], m.id,
        el("p", { class: "facts" }, el("span", { class: `state ${state}` }, state), ` · ${m.plan}${m.axes.length ? ` · ${axesText(m.axes)}` : ""} · ${m.hardware || "any hardware"}`),
        el("p", { class: "lead" }, explained))]);
      const kept = m.outcome?.artifacts.some((a) => a.kind === "log" && a.collected_unix_seconds === "0");
      const words = kept ? await text("GetArtifact", { member: id, kind: "log" }, stage.signal) : "";
      const log = kept ? plain(words || "It is empty.") : el("p", {}, ENDED.includes(state) ? "There is none." : "There is one when an attempt has ended.");
      redraw(rest, [{ ...m, step: "" }, events], () => story(m, events, log));
      attach(stage, head, bar, drawings, rest);
    }, true);
    listen<MemberNews>("WatchMember", { member: id }, stage.signal, {
      message: (news) => {
        values = news.lease === lease ? joined(values, news.values) : news.values;
        lease = news.lease;
        bar.textContent = stateWord(news.state) === "training" ? `step ${news.step} of ${news.steps}` : "";
        if (news.events.length) look();
        if (!timer) timer = setTimeout(draw, drawn < 0 ? 0 : DRAW_AGAIN_MS);
      },
      connected: (is) => stage.live(is),
      ended: (refused) => {
        if (refused) return giveUp(stage, refused);
        stage.live(undefined);
        look();
      },
    });
  };
}
