// One sweep as it runs: how far it is, what trains, why something waits, what happens.
import { Child, el, section, table } from "../format";
import { coloursOf } from "../palette";
import { ask, glance, listen } from "./api";
import { curve, joined, Series } from "./curves";
import { bar, standing } from "./progress";
import { MemberNews, Member, RecordedValue, SweepNews, SweepSummary } from "./types";
import { attach, everyNowAndThen, giveUp, link, minute, problem, redraw, Stage, title } from "./view";
import { ago, axesText, hasEnded, moment } from "./words";

const AGAIN_MS = 3000;
const MOST_LISTED = 50;  // Members that train.
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
  const facts = [s.kind === "train" ? "" : [s.kind, s.of].filter(Boolean).join(" of "), s.owner ? `of ${s.owner}` : "", `submitted ${ago(submitted)}`, s.hardware.join(", "), s.archived ? "archived" : ""];
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

/** How many of how many are told, and how many of these drawn. */
function shares(listed: number, training: number, drawn: number): string {
  return [training > listed ? `The first ${listed} of ${training}.` : "", listed > drawn ? `Curves of the first ${drawn}.` : ""].filter(Boolean).join(" ");
}

/** What members that train have measured so far, of their present leases. */
class Measured {
  private of = new Map<string, { lease: string; values: RecordedValue[] }>();

  async ask(members: Member[], signal: AbortSignal): Promise<Series[]> {
    const known = new Map(await Promise.all(members.map(async (m) => [m.id, await this.askOne(m.id, signal)] as const)));
    this.of = known;
    return members.map((m) => ({ name: m.id, of: m.hardware, values: known.get(m.id)?.values ?? [] }));
  }

  private async askOne(member: string, signal: AbortSignal): Promise<{ lease: string; values: RecordedValue[] }> {
    const before = this.of.get(member) ?? { lease: "0", values: [] };
    const last = Number(before.values.at(-1)?.step ?? 0);
    // Of its last step more may have come.
    const news = await glance<MemberNews>("WatchMember", { member, lease: before.lease, after_step: last - 1 }, signal);
    if (!news) return before;
    return { lease: news.lease, values: before.lease === news.lease ? joined(before.values, news.values) : news.values };
  }
}

export function sweep(id: string): (stage: Stage) => void {
  return (stage) => {
    const head = el("div", {});
    const now = el("div", { "aria-live": "polite" });
    const training = el("div", {});
    const why = el("pre", { class: "wrap", tabindex: "0" });
    const lines = el("ol", { class: "lines" });
    const happened = section("What happens", "From the moment this view was opened, newest first.", lines);
    const standsAt = section("Where it stands", "", why);
    const measured = new Measured();
    let latest: SweepSummary | undefined;

    const lookAgain = everyNowAndThen(stage, AGAIN_MS, async () => {
      if (!latest) return;
      why.textContent = (await ask<{ text: string }>("ExplainSweep", { sweep_id: id }, stage.signal)).text;
      if (hasEnded(latest)) {
        redraw(training, "ended", () => [section("Result", "", el("p", {}, "It has ended: ", link(`/s${id}/report`, "the report"), " says what was found."))]);
        return;
      }
      const { members, next_page_token } = await ask<{ members: Member[]; next_page_token: string }>("ListMembers",
        { sweep_id: id, page_size: MOST_LISTED, "selection.states": "MEMBER_STATE_LEASED" }, stage.signal);
      const drawn = await measured.ask(members.slice(0, MOST_DRAWN), stage.signal);
      const colours = coloursOf(latest.hardware.length ? latest.hardware : members.map((m) => m.hardware));
      const said = shares(members.length, next_page_token ? latest.leased : 0, drawn.length);
      redraw(training, [said, members, drawn], () => [section("Training now", said,
        members.length ? table(["Member", "Plan", "Setting", "Hardware", "Worker", "Steps"], members.map(trainingRow), 6) : el("p", {}, "Nothing trains at present."),
        el("div", { class: "pair" }, ...["train_loss", "test_top1"].map((metric) => curve(metric, drawn, colours, 470))))]);
    }, true);

    listen<SweepNews>("WatchSweep", { sweep_id: id }, stage.signal, {
      message: (news) => {
        const s = { ...news.sweep, sweep: news.sweep.sweep ?? latest?.sweep };
        latest = s;
        redraw(head, [s.name, s.sweep?.notes, s.hardware, s.archived, minute()], () => [heading(s, "")]);
        redraw(now, [s, news.storage_problem], () => [news.storage_problem ? problem(news.storage_problem) : null, bar(s), el("p", { class: "standing" }, standing(s))]);
        attach(stage, head, now, standsAt, training, happened);
        for (const [i, line] of news.lines.entries()) {
          const event = news.events[i];
          lines.prepend(el("li", {}, event ? el("time", {}, moment(Number(event.unix_micros) / 1e6).slice(11, 19)) : null, ` ${line}`));
        }
        while (lines.children.length > MOST_LINES) lines.lastElementChild?.remove();
        lookAgain();
      },
      connected: (is) => stage.live(is),
      ended: (refused) => {
        if (refused) giveUp(stage, refused);
        else stage.live(undefined);
      },
    });
  };
}
