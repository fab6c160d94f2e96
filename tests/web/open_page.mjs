// A browser for the page's tests, and pages of studies in it. Run with RENDER_PAGE STUDY.json.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

const [renderPage, studyPath] = process.argv.slice(2);
const app = new URL("../../coordinator/web/app/package.json", import.meta.url);
const { chromium } = createRequire(app)("playwright-core");

/** The source of axe-core: rules for what everybody can use. */
export const axe = readFileSync(createRequire(app).resolve("axe-core/axe.min.js"), "utf8");

const folder = mkdtempSync(join(tmpdir(), "noisefloor-page-"));
const browserPath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
let browser;

export const study = JSON.parse(readFileSync(studyPath, "utf8"));

before(async () => {
  assert.ok(browserPath, "no Chromium: deploy/setup --check installs it");
  browser = await chromium.launch({
    executablePath: browserPath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
      "--disable-component-update", "--no-first-run"],
  });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

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
