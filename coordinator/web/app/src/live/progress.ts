// How far a sweep is, as a bar and in words.
import { el } from "../format";
import { SweepSummary } from "./types";
import { counted, duration, hasEnded, sweepState, total } from "./words";

const PARTS = ["done", "diverged", "failed", "cancelled", "leased", "waiting"] as const;
const SAID = { done: "done", diverged: "diverged", failed: "failed", cancelled: "cancelled", leased: "training", waiting: "waiting" };

/** "12 done, 2 training, 46 waiting" */
export function countsText(s: SweepSummary): string {
  return PARTS.filter((name) => s[name] > 0).map((name) => `${s[name]} ${SAID[name]}`).join(", ") || "no members";
}

export function bar(s: SweepSummary): HTMLElement {
  const all = Math.max(1, total(s));
  return el("div", { class: "bar", role: "img", "aria-label": countsText(s) },
    ...PARTS.filter((name) => s[name] > 0).map((name) => el("i", { class: name, style: `flex-grow:${s[name] / all}` })));
}

/** "training; 12 of 60 members ended" */
export function standing(s: SweepSummary): string {
  const ended = s.done + s.diverged + s.failed + s.cancelled;
  return [
    sweepState(s),
    hasEnded(s) ? countsText(s) : `${ended} of ${counted(total(s), "member")} ended`,
    s.retries > 0 ? counted(s.retries, "retry").replace("retrys", "retries") : "",
    s.archived ? "archived" : "",
  ].filter(Boolean).join("; ");
}

/** The same with what is expected: "...; about 3 h left; 4 members an hour" */
export function outlook(s: SweepSummary): string {
  return [
    standing(s),
    s.expected_seconds_left > 0 ? `about ${duration(s.expected_seconds_left)} left` : "",
    s.members_per_hour > 0 && !hasEnded(s) ? `${s.members_per_hour.toFixed(s.members_per_hour < 10 ? 1 : 0)} members an hour` : "",
  ].filter(Boolean).join("; ");
}
