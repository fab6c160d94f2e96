// What every view has: its place in the address bar, its life, and how it says what went wrong.
import { Child, el } from "../format";
import { isPassing, Refused } from "./api";

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

/** Goes there as a click on a link would. */
export function go(to: string): void {
  history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function title(kicker: Child[], heading: string, ...below: Child[]): HTMLElement {
  document.title = `${heading}: noisefloor`;
  return el("header", {}, el("p", { class: "kicker" }, ...kicker), el("h1", {}, heading), ...below);
}

/** Puts a view's parts in their place, unless they are there: something else may have been said. */
export function attach(stage: Stage, ...parts: HTMLElement[]): void {
  if (!parts[0]?.isConnected) stage.main.replaceChildren(...parts);
}

const drawn = new WeakMap<Element, string>();

/** Draws what an element holds when what it tells has changed: whoever reads or has the focus there keeps it. */
export function redraw(of: HTMLElement, told: unknown, make: () => Child[]): void {
  const now = JSON.stringify(told);
  if (drawn.get(of) === now) return;
  drawn.set(of, now);
  of.replaceChildren(...make().filter((part): part is Node | string => !!part));
}

/** Changes each minute: with it what is so long ago is told anew. */
export function minute(): number {
  return Math.floor(Date.now() / 60_000);
}

/** The page is asked for anew, and a form comes instead. */
function signIn(): HTMLElement {
  const button = el("button", { type: "button" }, "Sign in");
  button.addEventListener("click", () => location.reload());
  return el("p", {}, button);
}

/** The view ends with these words. */
export function giveUp(stage: Stage, error: unknown): void {
  stage.live(undefined);
  stage.main.replaceChildren(problem(inWords(error)),
    ...(error instanceof Refused && ["UNAUTHENTICATED", "PERMISSION_DENIED"].includes(error.code) ? [signIn()] : []));
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
    return `This page is signed in no more: ${error.message}.`;
  }
  return error instanceof Error ? error.message : String(error);
}

/**
 * Does it now and then again and again, each `ms` after it was done, while the tab is seen; what is returned does it
 * at once. `quiet`: somebody else says whether the view is kept up to date.
 */
export function everyNowAndThen(stage: Stage, ms: number, act: () => Promise<void>, quiet = false): () => void {
  let busy = false;
  let again = false;
  let timer = 0;
  const turn = async () => {
    clearTimeout(timer);
    if (stage.signal.aborted) return;
    again = busy;
    if (busy) return;
    busy = true;
    try {
      await act();
      if (!quiet) stage.live(true);
    } catch (error) {
      if (stage.signal.aborted) return;
      if (!isPassing(error)) return giveUp(stage, error);
      if (!quiet) stage.live(false);
      if (!stage.main.hasChildNodes()) stage.main.replaceChildren(problem(inWords(error)));
    } finally {
      busy = false;
    }
    if (again) return void turn();
    if (!document.hidden && !stage.signal.aborted) timer = setTimeout(() => void turn(), ms);
  };
  document.addEventListener("visibilitychange", () => void (document.hidden || turn()), { signal: stage.signal });
  stage.signal.addEventListener("abort", () => clearTimeout(timer));
  void turn();
  return () => void turn();
}
