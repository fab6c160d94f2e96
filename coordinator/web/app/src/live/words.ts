// Times, states and settings in words.
import { Setting, SweepSummary, Value } from "./types";

/** "3 h 20 min", "45 s" */
export function duration(seconds: number): string {
  if (seconds < 1) return "less than a second";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** "2026-11-26 14:41:51 UTC" */
export function moment(unixSeconds: number): string {
  return `${new Date(unixSeconds * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** "12 min ago" */
export function ago(unixSeconds: number): string {
  return `${duration(Math.max(0, Date.now() / 1000 - unixSeconds))} ago`;
}

/** "MEMBER_STATE_DONE" -> "done"; a member that is leased is training. */
export function stateWord(state: string): string {
  return state.replace("MEMBER_STATE_", "").toLowerCase().replace("leased", "training");
}

export function total(s: SweepSummary): number {
  return s.waiting + s.leased + s.done + s.diverged + s.failed + s.cancelled;
}

export function hasEnded(s: SweepSummary): boolean {
  return s.waiting + s.leased === 0 && !s.undecided;
}

export function sweepState(s: SweepSummary): string {
  if (hasEnded(s)) return s.failed + s.cancelled > 0 ? "ended, not whole" : "ended";
  if (s.paused) return "paused";
  if (s.leased > 0) return "training";
  return s.waiting === 0 ? "deciding how many more" : "waiting";
}

export function valueText(v: Value): string {
  const one = v.boolean ?? v.integer ?? v.number ?? v.text;
  return one === undefined ? `[${(v.list?.values ?? []).join(", ")}]` : String(one);
}

/** "learning_rate=0.05, width=64" */
export function axesText(axes: Setting[]): string {
  return axes.map((a) => `${a.path.split(".").at(-1)}=${valueText(a.value)}`).join(", ");
}

/** "1.2 MB" */
export function bytesText(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let place = 0;
  let size = bytes;
  for (; size >= 1000 && place < units.length - 1; ++place) size /= 1000;
  return `${place === 0 ? size : size.toFixed(1)} ${units[place]}`;
}

export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
