// What every view has: its place in the address bar, its life, and how it says what went wrong.
import { Child, el } from "../format";
import { Refused } from "./api";

/** Where a view draws, and until when. */
export interface Stage {
  main: HTMLElement;
  query: URLSearchParams;
  /** Aborted when another view takes its place. */
  signal: AbortSignal;
  /** Says in the page's bar whether what is shown is kept up to date. */
  live(is: boolean | undefined): void;
}

export type View = (stage: Stage) => void | Promise<void>;

/** A link inside the page. */
export function link(to: string, ...content: Child[]): HTMLElement {
  return el("a", { href: to }, ...content);
}

/** Goes there as a click on a link would; `replace`: in the place of where one is. */
export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function title(kicker: Child[], heading: string, ...below: Child[]): HTMLElement {
  document.title = `${heading}: noisefloor`;
  return el("header", {}, el("p", { class: "kicker" }, ...kicker), el("h1", {}, heading), ...below);
}

export function problem(words: string): HTMLElement {
  return el("aside", { class: "problem", role: "alert" }, words);
}

/** Text as it is; a keyboard can scroll it. */
export function plain(words: string): HTMLElement {
  return el("pre", { tabindex: "0" }, words);
}

export function inWords(error: unknown): string {
  if (error instanceof Refused && error.code === "UNAUTHENTICATED") {
    return "This page is signed in no more: open the address that the coordinator printed, or sign in anew.";
  }
  return error instanceof Error ? error.message : String(error);
}

/** Does it now and then again and again, each `ms` after it was done, while the tab is seen. */
export function everyNowAndThen(stage: Stage, ms: number, act: () => Promise<void>): void {
  let busy = false;
  let timer = 0;
  const turn = async () => {
    clearTimeout(timer);
    if (busy || stage.signal.aborted) return;
    busy = true;
    try {
      await act();
      stage.live(true);
    } catch (error) {
      if (stage.signal.aborted) return;
      stage.live(false);
      if (!stage.main.hasChildNodes()) stage.main.replaceChildren(problem(inWords(error)));
    } finally {
      busy = false;
    }
    if (!document.hidden && !stage.signal.aborted) timer = setTimeout(() => void turn(), ms);
  };
  document.addEventListener("visibilitychange", () => void (document.hidden || turn()), { signal: stage.signal });
  stage.signal.addEventListener("abort", () => clearTimeout(timer));
  void turn();
}
