// Pages of studies in a browser. Run with RENDER_PAGE STUDY.json.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { browser, folder } from "./browser.mjs";

export { axe } from "./browser.mjs";

const [renderPage, studyPath] = process.argv.slice(2);

export const study = JSON.parse(readFileSync(studyPath, "utf8"));

/** The page's file, as the program writes it. */
export function write(value) {
  const json = join(folder, "study.json");
  const html = join(folder, "page.html");
  writeFileSync(json, JSON.stringify(value));
  execFileSync(renderPage, [json, html, value.title]);
  return html;
}

/** Opens the page of a study; collects what the console says and what is asked for. */
export async function open(value, { width = 1100, colorScheme = "light", drawn = "main[data-drawn=yes]", script = true } = {}) {
  const html = write(value);
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, javaScriptEnabled: script });
  const page = await context.newPage();
  const heard = [];
  page.on("console", (message) => heard.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => heard.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file://") && !request.url().startsWith("data:")) {
      heard.push(`request: ${request.url()}`);
    }
  });
  page.on("close", () => context.close().catch(() => {}));  // The browser may be gone before it.
  await page.goto(pathToFileURL(html).href);
  await page.waitForSelector(drawn, { state: "attached" });
  return { page, heard };
}

/** A scroll is told with the next frame, and moves or hides the tip: it must have been before one looks. */
export const scrolled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** What a button beside a figure saves. */
export async function saved(page, figure, name) {
  const [download] = await Promise.all([page.waitForEvent("download"), figure.locator(".tools button", { hasText: name }).click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Lines of CSV as the texts of their fields. */
export const fields = (csv) => csv.trim().split("\n").map((line) => [...`${line},`.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*)),/g)].map((m) => m[1]?.replaceAll('""', '"') ?? m[2]));

/** The figures whose caption or drawing says so. */
export const figureOf = (page, words) => page.locator("figure", { hasText: words });

/** The sample with each cohort at three learning rates and two widths, in two blocks. */
export function wide() {
  const value = structuredClone(study);
  value.cohorts = [];
  for (const cohort of study.cohorts) {
    for (const [k, rate] of ["0.01", "0.03", "0.1"].entries()) {
      for (const block of [0, 1]) {
        for (const [w, width] of ["narrow", "broad"].entries()) {
          value.cohorts.push({ ...structuredClone(cohort), cell: cohort.cell + 9 * (k + 3 * block + 6 * w), block,
            axes: [{ path: "train.optimizer.learning_rate", value: rate }, { path: "model.width", value: width }],
            axes_label: `learning_rate=${rate}, width=${width}`, label: `${cohort.label}, ${rate}, ${width}, block ${block}` });
        }
      }
    }
  }
  return value;
}

/** Gives every estimate of a list of records a value of its own, so that a swap shows. */
export function distinct(records) {
  let k = 0;
  const visit = (value) => {
    if (value === null || typeof value !== "object") return;
    if ("value" in value && "low" in value && "method" in value) {
      k += 1;
      const spot = 0.05 + (0.9 * ((k * 619) % 997)) / 997;
      Object.assign(value, { value: spot, low: 0.8 * spot, high: 1.1 * spot, n: 1000 + k });
    } else {
      Object.values(value).forEach(visit);
    }
  };
  visit(records);
}
