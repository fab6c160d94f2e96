// The page in a real browser: it draws at three widths and in both themes, logs nothing, asks for
// nothing, and every figure it shows is the JSON's. node page_test.mjs RENDER_PAGE STUDY.json
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { pathToFileURL } from "node:url";

const [renderPage, studyPath] = process.argv.slice(2);
const app = new URL("../../coordinator/web/app/package.json", import.meta.url);
const { chromium } = createRequire(app)("playwright-core");
const folder = mkdtempSync(join(tmpdir(), "noisefloor-page-"));
const study = JSON.parse(readFileSync(studyPath, "utf8"));
const browserPath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
let browser;

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

/** Opens the page of a study; collects what the console says and what is asked for. */
async function open(value, { width = 1100, colorScheme = "light" } = {}) {
  const json = join(folder, "study.json");
  const html = join(folder, "page.html");
  writeFileSync(json, JSON.stringify(value));
  execFileSync(renderPage, [json, html]);
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const heard = [];
  page.on("console", (message) => heard.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => heard.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith("file://") && !request.url().startsWith("data:")) {
      heard.push(`request: ${request.url()}`);
    }
  });
  await page.goto(pathToFileURL(html).href);
  await page.waitForSelector("main[data-drawn=yes]");
  return { page, heard };
}

function at(value, path) {
  return path.split(".").reduce((inner, key) => inner?.[key], value);
}

for (const width of [390, 800, 1400]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`draws at ${width} pixels, ${colorScheme}, and says nothing`, async () => {
      const { page, heard } = await open(study, { width, colorScheme });

      assert.deepEqual(heard, []);
      assert.ok((await page.locator("figure svg").count()) >= 6, "figures are drawn");
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than the window`);
      await page.close();
    });
  }
}

test("every figure on the page is the JSON's", async () => {
  const { page } = await open(study);

  const shown = await page.$$eval("[data-path]", (elements) =>
    elements.map((e) => ({ path: e.dataset.path, value: e.dataset.value, text: e.textContent })));

  assert.ok(shown.length >= study.cohorts.length * 6);
  for (const { path, value, text } of shown) {
    const estimate = at(study, path);
    assert.ok(estimate, `${path} is in the JSON`);
    assert.equal(value, String(estimate.value), path);
    if (typeof estimate.value !== "number") continue;
    const scale = estimate.unit === "fraction" ? 100 : 1;
    const printed = Number(text.split(" ")[0].replace("−", "-").replace(/[^-0-9.e+]/g, ""));
    const difference = Math.abs(printed - estimate.value * scale);
    assert.ok(difference <= Math.max(0.051, Math.abs(estimate.value * scale) * 0.006),
      `${path}: shows ${text}, JSON has ${estimate.value}`);
  }
  await page.close();
});

test("dots stand where the JSON says", async () => {
  const { page } = await open(study);
  const drawn = await page.locator("figure svg").first().locator("circle").count();
  const expected = study.cohorts.filter((c) => typeof c.churn.value === "number").length;
  assert.equal(drawn, expected);
  await page.close();
});

test("the most divergent images are drawn from their pixels", async () => {
  const { page } = await open(study);
  const example = study.divergent.examples[0];
  const first = Buffer.from(example.picture.pixels, "base64");

  const bytes = await page.$eval(".card canvas", (canvas) =>
    [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data]);

  const pixels = example.picture.width * example.picture.height;
  for (let p = 0; p < pixels; ++p) {
    assert.equal(bytes[4 * p], first[p * example.picture.channels], `pixel ${p}`);
  }
  await page.close();
});

test("text from a sweep cannot become markup", async () => {
  const hostile = structuredClone(study);
  hostile.sweep.name = "</script><img src=x onerror=alert(1)>";
  hostile.sweep.notes = "<b id=bold>bold</b> ' \" & \u2028";
  const { page, heard } = await open(hostile);

  assert.deepEqual(heard, []);
  assert.equal(await page.locator("h1").textContent(), hostile.sweep.name);
  assert.equal(await page.locator("#bold").count(), 0);
  await page.close();
});

test("a study in which nothing finished is drawn in words", async () => {
  const empty = structuredClone(study);
  for (const list of ["cohorts", "controls", "physical", "hardware", "curves", "environment", "members"]) {
    empty[list] = [];
  }
  empty.divergent.examples = [];
  empty.heat_map = { members: [], cells: [], values: [], left_out: 0, note: "No member has finished." };
  const { page, heard } = await open(empty);

  assert.deepEqual(heard, []);
  assert.match(await page.locator("main").textContent(), /No member has finished/);
  await page.close();
});

test("values that are not finite and absent ones are shown as such", async () => {
  const odd = structuredClone(study);
  odd.cohorts[0].loss.value = "nan";
  odd.cohorts[0].accuracy = { ...odd.cohorts[0].accuracy, value: null, low: null, high: null, note: "all diverged" };
  odd.members[0].final_metrics.loss = "inf";
  const { page, heard } = await open(odd);

  assert.deepEqual(heard, []);
  assert.match(await page.locator("[data-path='cohorts.0.accuracy']").textContent(), /– all diverged/);
  await page.locator("main details summary").last().click();
  assert.match(await page.locator("section:last-of-type").textContent(), /∞/);
  await page.close();
});

test("a study of another version is refused in words", async () => {
  const { page: other } = await open({ ...study, study_version: 1 });
  await other.close();
  const html = join(folder, "page.html");
  const json = join(folder, "study.json");
  writeFileSync(json, JSON.stringify({ ...study, study_version: 99 }));
  execFileSync(renderPage, [json, html]);
  const page = await browser.newPage();
  await page.goto(pathToFileURL(html).href);
  assert.match(await page.locator("main").textContent(), /studies of version 1; this one is 99/);
  await page.close();
});
