// One sweep as it runs: how far it is, what trains, why something waits, what happens.
import { Child, el, section, table } from "../format";
import { coloursOf } from "../palette";
import { ask, glance, listen } from "./api";
import { curve, Series } from "./curves";
import { bar, standing } from "./progress";
import { MemberNews, Member, RecordedValue, SweepNews, SweepSummary } from "./types";
import { everyNowAndThen, link, problem, Stage, title } from "./view";
import { ago, axesText, hasEnded, moment } from "./words";

const AGAIN_MS = 3000;
const MOST_DRAWN = 8;  // Members whose curves are drawn while they train.
const MOST_LINES = 200;

/** Links from one view of a sweep to the others. */
export function tabs(id: string, here: string): HTMLElement {
  const views = [["", "Progress"], ["/members", "Members"], ["/report", "Report"]] as const;
  return el("nav", { class: "tabs", "aria-label": "Views of the sweep" }, ...views.map(([path, words]) =>
    el("a", { href: `/s${id}${path}`, ...(path === here ? { "aria-current": "page" } : {}) }, words)));
}

/** What every view of a sweep begins with. */
export function heading(s: SweepSummary, here: string): HTMLElement {
  const submitted = Number(s.submitted_unix_seconds);
  const facts = [s.kind === "train" ? "" : `${s.kind} of ${s.of}`, s.owner ? `of ${s.owner}` : "", `submitted ${ago(submitted)}`, s.hardware.join(", ")];
  return title([link("/", "Sweeps"), ` · s${s.id}`], s.name,
    el("p", { class: "facts", title: moment(submitted) }, facts.filter(Boolean).join(" · ")),
    s.sweep?.notes ? el("p", { class: "notes" }, s.sweep.notes) : null,
    tabs(s.id, here));
}

function trainingRow(m: Member): Child[] {
  const steps = Number(m.step_count);
  const done = steps > 0 ? Number(m.step) / steps : 0;
  return [
    link(`/${m.id}`, m.id), m.plan, axesText(m.axes) || "–", m.hardware, link(`/workers/${encodeURIComponent(m.worker)}`, m.worker),
    el("span", {}, el("meter", { min: "0", max: "1", value: String(done), "aria-label": `${m.id}: share of its steps` }), ` ${m.step} of ${m.step_count}`),
  ];
}

/** What members have measured so far, of their present leases. */
class Measured {
  private readonly of = new Map<string, { lease: string; step: number; values: RecordedValue[] }>();

  async ask(member: string, signal: AbortSignal): Promise<RecordedValue[]> {
    const before = this.of.get(member);
    const news = await glance<MemberNews>("WatchMember", { member, ...(before ? { lease: before.lease, after_step: before.step } : {}) }, signal);
    if (!news) return before?.values ?? [];
    const values = [...(before?.lease === news.lease ? before.values : []), ...news.values];
    this.of.set(member, { lease: news.lease, step: Math.max(0, ...values.slice(-1).map((v) => Number(v.step))), values });
    return values;
  }
}

export function sweep(id: string): (stage: Stage) => void {
  return (stage) => {
    const head = el("div", {});
    const now = el("div", { "aria-live": "polite" });
    const training = el("div", {});
    const why = el("pre", { class: "wrap" });
    const lines = el("ol", { class: "lines" });
    const happened = section("What happens", "From the moment this view was opened, newest first.", lines);
    let latest: SweepSummary | undefined;

    const show = (s: SweepSummary, storage: string) => {
      s.sweep ??= latest?.sweep;
      latest = s;
      head.replaceChildren(heading(s, ""));
      now.replaceChildren(storage ? problem(storage) : "", bar(s), el("p", { class: "standing" }, standing(s)));
      if (!stage.main.hasChildNodes()) stage.main.replaceChildren(head, now, section("Where it stands", "", why), training, happened);
    };
    listen<SweepNews>("WatchSweep", { sweep_id: id }, stage.signal, {
      message: (news) => {
        show(news.sweep, news.storage_problem);
        for (const [i, line] of news.lines.entries()) {
          const event = news.events[i];
          lines.prepend(el("li", {}, event ? el("time", {}, moment(Number(event.unix_micros) / 1e6).slice(11, 19)) : null, ` ${line}`));
        }
        while (lines.children.length > MOST_LINES) lines.lastElementChild?.remove();
      },
      connected: (is) => stage.live(is),
      ended: (refused) => {
        stage.live(undefined);
        if (refused) stage.main.replaceChildren(problem(refused));
      },
    });

    const measured = new Measured();
    everyNowAndThen(stage, AGAIN_MS, async () => {
      why.textContent = (await ask<{ text: string }>("ExplainSweep", { sweep_id: id }, stage.signal)).text;
      if (latest && hasEnded(latest)) {
        training.replaceChildren(section("Result", "", el("p", {}, "It has ended: ", link(`/s${id}/report`, "the report"), " says what was found.")));
        return;
      }
      const { members } = await ask<{ members: Member[] }>("ListMembers",
        { sweep_id: id, page_size: 50, "selection.states": "MEMBER_STATE_LEASED" }, stage.signal);
      const drawn = await Promise.all(members.slice(0, MOST_DRAWN).map(async (m): Promise<Series> => (
        { name: m.id, of: m.hardware, values: await measured.ask(m.id, stage.signal) })));
      const colours = coloursOf(latest?.hardware.length ? latest.hardware : members.map((m) => m.hardware));
      const curves = ["train_loss", "test_top1"].map((metric) => curve(metric, drawn, colours, 470));
      training.replaceChildren(section("Training now", members.length > drawn.length ? `Curves of the first ${drawn.length}.` : "",
        members.length ? table(["Member", "Plan", "Setting", "Hardware", "Worker", "Steps"], members.map(trainingRow), 6) : el("p", {}, "Nothing trains at present."),
        el("div", { class: "pair" }, ...curves)));
    });
  };
}
