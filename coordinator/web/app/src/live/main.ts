// The page of a running coordinator: which view the address names, and the bar above all of them.
import "../page.css";
import "./live.css";
import { el } from "../format";
import { unfoldToPrint } from "../print";
import { listenForTips } from "../tip";
import { member } from "./member";
import { members } from "./members";
import { report } from "./study";
import { sweep } from "./sweep";
import { sweeps } from "./sweeps";
import { link, problem, Stage, View } from "./view";
import { worker, workers } from "./workers";

const ROUTES: [RegExp, (...parts: string[]) => View][] = [
  [/^\/$/, () => sweeps],
  [/^\/workers$/, () => workers],
  [/^\/workers\/([^/]+)$/, (name) => worker(decodeURIComponent(name ?? ""))],
  [/^\/s(\d+)$/, (id) => sweep(id ?? "")],
  [/^\/s(\d+)\/members$/, (id) => members(id ?? "")],
  [/^\/s(\d+)\/report$/, (id) => report(id ?? "")],
  [/^\/(s\d+c\d+r\d+)$/, (id) => member(id ?? "")],
];

function viewOf(path: string): View {
  for (const [pattern, make] of ROUTES) {
    const found = pattern.exec(path);
    if (found) return make(...found.slice(1));
  }
  return (stage) => stage.main.replaceChildren(problem(`${path}: there is no such view.`));
}

const status = el("span", { role: "status", class: "live" });
const main = el("main", { id: "page" });
let leave = new AbortController();
let shown = "";

/** `undefined`: nothing more will change. */
function live(is: boolean | undefined): void {
  const words = is === undefined ? "" : is ? "live" : "no connection to the coordinator, trying again";
  if (status.textContent !== words) status.textContent = words;
  status.dataset["live"] = String(is);
}

function show(): void {
  const where = location.pathname + location.search;
  if (where === shown) return;  // An anchor inside the view.
  shown = where;
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  main.replaceChildren();
  live(undefined);
  const stage: Stage = { main, query: new URLSearchParams(location.search), signal, live: (is) => signal.aborted || live(is) };
  void viewOf(location.pathname)(stage);
  scrollTo(0, 0);
}

/** Clicks on links to views change the view and not the page. */
function followLinks(): void {
  document.addEventListener("click", (event) => {
    const to = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!to || !plain || to.origin !== location.origin || to.pathname.startsWith("/api/") || to.hasAttribute("download") || to.hash) return;
    event.preventDefault();
    history.pushState(null, "", to.href);
    show();
  });
  addEventListener("popstate", show);
}

(document.getElementById("app") ?? document.body).append(
  el("nav", { class: "top", "aria-label": "Views" }, link("/", "Sweeps"), link("/workers", "Workers"), status), main);
listenForTips();
unfoldToPrint();
followLinks();
show();
