// The report of a sweep as it stands, by the code of the report file.
import { el } from "../format";
import { showReport } from "../report";
import { Study } from "../study";
import { ask, listen, text } from "./api";
import { heading } from "./sweep";
import { SweepNews, SweepSummary } from "./types";
import { attach, giveUp, inWords, problem, redraw, Stage } from "./view";
import { counted } from "./words";

/** Kinds whose study is not a `Study`: their page is shown as it is. */
const OTHER_STUDIES = ["infer", "measure"];

const urlOf = (id: string, form: string) => `/api/GetStudy?sweep_id=${id}&form=${form}`;

const results = (s: SweepSummary) => s.done + s.diverged;

export function report(id: string): (stage: Stage) => Promise<void> {
  return async (stage) => {
    const bar = el("p", { class: "tools", role: "status" });
    const head = el("div", {});
    const page = el("div", { id: "report" });
    let drawnWith = -1;
    let latest: SweepSummary | undefined;
    let failed = false;

    const again = el("button", { type: "button" }, "draw again");
    const tell = () => {
      const more = latest ? results(latest) - drawnWith : 0;
      bar.replaceChildren(
        failed ? "It could not be drawn anew. " : drawnWith < 0 ? "" : more > 0 ? `${counted(more, "result")} more since this was drawn. ` : "All results so far are in it. ",
        ...(failed || (more > 0 && drawnWith >= 0) ? [again] : []),
        ...["FORM_PAGE", "FORM_CSV", "FORM_JSON"].map((form) =>
          el("a", { href: urlOf(id, form), ...(form === "FORM_PAGE" ? { download: `s${id}.html` } : {}) },
            { FORM_PAGE: "as one file", FORM_CSV: "CSV", FORM_JSON: "JSON" }[form] ?? form)));
    };
    const draw = async () => {
      again.setAttribute("disabled", "");
      try {
        const { sweep } = await ask<{ sweep: SweepSummary }>("GetSweep", { sweep_id: id }, stage.signal);
        latest = sweep;
        failed = false;
        redraw(head, [sweep.name, sweep.sweep?.notes, sweep.hardware, sweep.archived], () => [heading(sweep, "/report")]);
        attach(stage, head, bar, page);
        if (OTHER_STUDIES.includes(sweep.kind)) {
          page.replaceChildren(el("iframe", { title: `Report of s${id}`, src: urlOf(id, "FORM_PAGE") }));
          drawnWith = results(sweep);
          return;
        }
        if (!page.hasChildNodes()) page.append(el("p", { role: "status" }, "The study is being computed."));
        const json = await text("GetStudy", { sweep_id: id, form: "FORM_JSON" }, stage.signal);
        const study = JSON.parse(json) as Study;
        drawnWith = results(sweep);
        showReport(study, json, page);
        document.getElementById(location.hash.slice(1))?.scrollIntoView();
      } catch (error) {
        if (stage.signal.aborted) return;
        failed = true;
        // A report that stands there stays.
        if (drawnWith < 0) page.replaceChildren(problem(inWords(error)));
        attach(stage, head, bar, page);
      } finally {
        again.removeAttribute("disabled");
        tell();
      }
    };
    again.addEventListener("click", () => void draw());
    await draw();
    if (stage.signal.aborted) return;
    listen<SweepNews>("WatchSweep", { sweep_id: id }, stage.signal, {
      message: (news) => {
        latest = news.sweep;
        tell();
      },
      connected: (is) => stage.live(is),
      ended: (refused) => {
        if (refused && drawnWith < 0) return giveUp(stage, refused);
        stage.live(undefined);
        if (refused) page.before(problem(inWords(refused)));
      },
    });
  };
}
