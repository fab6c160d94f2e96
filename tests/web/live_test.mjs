// The page of a running coordinator in a real browser, while a worker trains and the coordinator is
// killed: what it shows is what the services tell. node live_test.mjs BIN_FOLDER
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { axe, browser, folder } from "./browser.mjs";

const bin = process.argv[2];
const program = (name) => join(bin, name);
const home = join(folder, "home");
const PATIENCE = 60_000;  // For what a loaded machine does.

const SWEEP = `name: live
notes: what a page can show
model: {name: small_cnn, batch_norm: true}
data: {name: fashion-mnist-sample, train_examples: 512, test_examples: 200}
train:
  epochs: 2
  batch_size: 64
  optimizer: {name: sgd, learning_rate: 0.05, momentum: 0.9}
noise: [control, algo]
hardware: any
replicates: 3
`;

/** A port that was free a moment ago; a coordinator that is started again needs the same one. */
async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

const started = new Set();
function start(name, args) {
  const child = spawn(program(name), args, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, HOME: folder } });
  started.add(child);
  child.on("exit", () => started.delete(child));
  return child;
}

async function ended(child, signal) {
  const gone = new Promise((done) => child.exitCode !== null || child.signalCode !== null ? done() : child.on("exit", done));
  child.kill(signal);
  await gone;
}

let ports;
async function serve() {
  const child = start("noisefloor", ["--output=json", "serve", `--home=${home}`, `--listen=127.0.0.1:${ports[0]}`, `--page=127.0.0.1:${ports[1]}`, "--log-level=off"]);
  let said = "";
  for await (const piece of child.stdout) {
    said += piece;
    try {
      return { child, url: JSON.parse(said).page };
    } catch { /* Not all of it yet. */ }
  }
  throw new Error(`serve ended: ${said}`);
}

function cli(...args) {
  return JSON.parse(execFileSync(program("noisefloor"), [`--coordinator=127.0.0.1:${ports[0]}`, "--output=json", ...args], { encoding: "utf8", maxBuffer: 64 << 20 }));
}

let coordinator;
before(async () => {
  ports = [await freePort(), await freePort()];
  coordinator = await serve();
  writeFileSync(join(folder, "sweep.yaml"), SWEEP);
  cli("submit", join(folder, "sweep.yaml"));
});
after(async () => {
  for (const child of [...started]) await ended(child, "SIGKILL");
});

/** A tab that is signed in; `heard`: what its console says and what it asks of others. */
async function open(path, { width = 1100, colorScheme = "light", signIn = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const { origin } = new URL(coordinator.url);
  const heard = [];
  page.on("console", (message) => heard.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => heard.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) heard.push(`request: ${request.url()}`);
  });
  page.setDefaultTimeout(PATIENCE);
  if (signIn) await page.goto(coordinator.url);
  if (path) await page.goto(origin + path);
  return { page, heard, context };
}

async function told(page, method, query = "") {
  return page.evaluate(async (url) => (await fetch(url)).json(), `/api/${method}?${query}`);
}

async function axeFinds(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes[0].html}`);
}

test("who has no token signs in, and comes to the view that was asked for", async () => {
  const { page, context } = await open("/s1/members?state=MEMBER_STATE_WAITING", { signIn: false });
  assert.match(await page.textContent("main"), /needs a token/);
  assert.deepEqual(await axeFinds(page), []);

  await page.fill("input[name=token]", "wrong");
  await page.click("button");
  await page.getByText("opens nothing here").waitFor();
  assert.ok(!page.url().includes("wrong"), "what was typed is not in the address");
  await page.fill("input[name=token]", new URL(coordinator.url).searchParams.get("token"));
  await page.click("button");

  await page.locator("h1", { hasText: "live" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/s1/members");
  assert.equal(new URL(page.url()).search, "?state=MEMBER_STATE_WAITING", "the token is not in the address, the filter is");
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read it");
  await context.close();
});

test("what waits says why", async () => {
  const { page, heard, context } = await open("/s1");
  await page.getByText("no worker is connected").waitFor();
  assert.match(await page.textContent(".bar + .standing"), /waiting; 0 of 6 members ended/);
  assert.deepEqual(heard, []);
  await context.close();
});

test("a sweep is watched to its end without a reload, through the death of its coordinator", async () => {
  const { page, context } = await open("/");
  await page.getByRole("link", { name: "s1 live" }).click();
  await page.getByText("no worker is connected").waitFor();
  await page.evaluate(() => { window.stayed = true; });

  await ended(coordinator.child, "SIGKILL");
  await page.locator(".live[data-live=false]", { hasText: "no connection" }).waitFor();
  const before = coordinator.url;
  coordinator = await serve();
  assert.equal(coordinator.url, before, "a restart signs nobody out");
  await page.locator(".live[data-live=true]").waitFor();

  const worker = start("noisefloor-worker", [`--coordinator=127.0.0.1:${ports[0]}`, `--state=${join(folder, "worker")}`, "--slots=1"]);
  const left = new Promise((_, fail) => worker.on("exit", (code) => fail(new Error(`the worker ended with ${code}`))));
  await Promise.race([page.getByText("It has ended: the report says").waitFor(), left]);
  worker.removeAllListeners("exit");
  await ended(worker, "SIGTERM");

  assert.equal(await page.evaluate(() => window.stayed), true);
  const { sweep } = await told(page, "GetSweep", "sweep_id=1");
  assert.equal(sweep.done, 6);
  assert.match(await page.textContent(".bar + .standing"), /^ended; 6 done/);
  assert.equal(await page.getAttribute(".bar", "aria-label"), "6 done");
  const lines = await page.locator(".lines li").allTextContents();
  for (const { id } of cli("members", "s1").members) {
    assert.equal(lines.filter((line) => line.includes(`${id} done`)).length, 1, `${id} ended once: ${lines.join("\n")}`);
  }
  await context.close();
});

test("members are filtered and sorted by the coordinator, and the address has it all", async () => {
  const { page, heard, context } = await open("/s1/members");
  const ids = async () => (await page.locator("tbody td:first-child").allTextContents()).map((text) => text.trim());
  await page.locator("tbody tr").first().waitFor();
  assert.deepEqual(await ids(), ["s1c0r0", "s1c0r1", "s1c0r2", "s1c1r0", "s1c1r1", "s1c1r2"]);

  await page.getByRole("link", { name: "Sort by Top-1" }).click();
  await page.locator("th[aria-sort=ascending]", { hasText: "Top-1" }).waitFor();
  await page.locator("tbody tr").first().waitFor();
  await page.getByRole("link", { name: "Sort by Top-1" }).click();
  await page.locator("th[aria-sort=descending]", { hasText: "Top-1" }).waitFor();
  await page.locator("tbody tr").first().waitFor();
  const { members } = await told(page, "ListMembers", "sweep_id=1&order_by=top1+desc");
  assert.deepEqual(await ids(), members.map((m) => m.id));
  const shown = await page.locator("tbody td:nth-child(8)").allTextContents();
  assert.deepEqual(shown, members.map((m) => `${(m.outcome.metrics.top1 * 100).toFixed(2)} %`));

  await page.getByLabel("Plan", { exact: true }).selectOption("algo");
  await page.locator("tbody tr").nth(2).waitFor();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 3);
  assert.ok((await ids()).every((id) => id.startsWith("s1c1")));
  assert.match(page.url(), /sort=top1\+desc&plan=algo|plan=algo&sort=top1/);
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 6);

  await page.goto(`${new URL(page.url()).origin}/s1/members?state=MEMBER_STATE_FAILED`);
  await page.getByText("No member is like that.").waitFor();
  // By class and worker, too.
  await page.goto(`${new URL(page.url()).origin}/s1/members?hardware=nothing-like-it`);
  await page.locator("[role=alert]", { hasText: "nothing-like-it" }).waitFor();
  await page.goto(`${new URL(page.url()).origin}/s1/members?worker=${members[0].worker}`);
  await page.locator("tbody tr").nth(5).waitFor();
  await page.getByLabel("Name of a worker").fill("nobody");
  await page.keyboard.press("Enter");
  await page.getByText("No member is like that.").waitFor();
  assert.equal(new URL(page.url()).search, "?worker=nobody");
  assert.deepEqual(heard.filter((line) => !line.includes("status of 4")), []);  // Of the class that is not there.
  await context.close();
});

test("a member's whole story: what it measured, its files and their content", async () => {
  const { page, heard, context } = await open("/s1c1r2");
  await page.locator("svg").nth(2).waitFor();
  assert.match(await page.textContent(".lead"), /s1c1r2 is done/);

  await page.locator("summary", { hasText: "values so far" }).click();
  const rows = await page.locator("details", { hasText: "values so far" }).first().locator("tbody tr").allTextContents();
  const { member } = await told(page, "GetMember", "member=s1c1r2");
  assert.ok(rows.length >= 8, "losses and accuracies of two epochs");
  assert.ok(rows.some((row) => row.includes("top-1") && row.includes(String(member.outcome.metrics.top1))), rows.join("\n"));

  const links = await page.locator("a[href^='/api/GetArtifact']").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
  assert.equal(links.length, member.outcome.artifacts.length);
  for (const [i, artifact] of member.outcome.artifacts.entries()) {
    const bytes = Buffer.from(await page.evaluate(async (url) => Array.from(new Uint8Array(await (await fetch(url)).arrayBuffer())), links[i]));
    assert.equal(createHash("sha256").update(bytes).digest("hex"), artifact.sha256, artifact.kind);
  }
  const states = await page.locator("tr", { has: page.locator("td:first-child", { hasText: /^init$/ }) }).first().textContent();
  assert.match(states, /free/, "init is free under algo");
  const { lane, seed } = member.sources.init;
  const sources = page.locator("section", { has: page.getByRole("heading", { name: "Noise sources" }) });
  const row = (name) => sources.locator("tr", { has: page.locator("td:first-child", { hasText: new RegExp(`^${name}$`) }) }).locator("td").allTextContents();
  assert.deepEqual(await row("init"), ["init", "free", String(lane), seed]);
  assert.deepEqual(await row("poke"), ["poke", "off", "–", "–"]);
  assert.deepEqual(heard, []);
  await context.close();
});

test("the report is that of the report file", async () => {
  const { page, heard, context } = await open("/s1/report");
  await page.locator("#report figure svg").first().waitFor();
  const study = await told(page, "GetStudy", "sweep_id=1&form=FORM_JSON");
  const findings = await page.locator("#report ol.headlines li").allTextContents();
  assert.deepEqual(findings, study.headlines);
  assert.match(await page.locator("p.tools[role=status]").first().textContent(), /All results so far are in it/);
  assert.deepEqual(heard, []);

  const file = join(folder, "file.html");
  execFileSync(program("noisefloor"), [`--coordinator=127.0.0.1:${ports[0]}`, "report", "s1", `--to=${file}`], { stdio: "ignore" });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "as one file" }).click()]);
  assert.equal(readFileSync(await download.path(), "utf8"), readFileSync(file, "utf8"));
  await context.close();
});

test("workers and what they have", async () => {
  const { page, heard, context } = await open("/workers");
  const [worker] = (await told(page, "ListWorkers")).workers;
  await page.getByRole("link", { name: worker.name }).click();
  await page.getByText("What it has").waitFor();
  for (const { hardware_class } of worker.inventory.offers) {
    assert.ok((await page.textContent("main")).includes(hardware_class));
  }
  assert.deepEqual(heard, []);
  await context.close();
});

test("what is not there is said", async () => {
  for (const [path, words] of [["/s9", /s9|no sweep/i], ["/s9/members", /s9|no sweep/i], ["/s9/report", /s9|no sweep/i], ["/s1c9r9", /s1c9r9/], ["/nothing", /no such view/], ["/workers/nobody", /nobody/]]) {
    const { page, context } = await open(path);
    await page.locator("[role=alert]").waitFor();
    assert.match(await page.locator("[role=alert]").textContent(), words, path);
    await context.close();
  }
});

for (const width of [400, 900, 1400]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`every view at ${width} pixels, ${colorScheme}: nothing serious, nothing wider than the window`, async () => {
      const { page, heard, context } = await open("", { width, colorScheme });
      for (const [path, drawn] of [["/", "tbody tr"], ["/s1", ".bar"], ["/s1/members", "tbody tr"], ["/s1c1r2", "svg"], ["/workers", "tbody tr"], ["/s1/report", "#report figure svg"]]) {
        await page.goto(new URL(path, coordinator.url).href);
        await page.locator(drawn).first().waitFor();
        assert.deepEqual(await axeFinds(page), [], path);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${path} is ${overflow} pixels wider than the window`);
        assert.deepEqual(heard, [], path);
      }
      await context.close();
    });
  }
}

/** A sweep of two plans that waits: no worker is there any more. */
function submit(name, replicates) {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, SWEEP.replace("name: live", `name: ${name}`).replace("replicates: 3", `replicates: ${replicates}`));
  return cli("submit", path).sweep;
}

test("pages of many members follow each other, and another choice begins with the first", async () => {
  const id = submit("many", 110);
  const all = cli("members", id).members.map((m) => m.id);
  assert.equal(all.length, 220);
  const { page, heard, context } = await open(`/${id}/members`);
  const shows = (wanted) => page.waitForFunction((ids) =>
    [...document.querySelectorAll("tbody td:first-child")].map((cell) => cell.textContent.trim()).join() === ids, wanted.join());
  const turn = (name) => page.getByRole("link", { name, exact: true }).click();

  await shows(all.slice(0, 100));
  await turn("next page");
  await shows(all.slice(100, 200));
  await turn("next page");
  await shows(all.slice(200));
  await turn("first page");
  await shows(all.slice(0, 100));
  await turn("next page");
  await shows(all.slice(100, 200));
  await page.getByLabel("Plan", { exact: true }).selectOption("algo");
  await shows(all.slice(110, 210));
  assert.deepEqual(heard, []);
  await context.close();
});

test("curves have all of a step whose values come in two messages", async () => {
  const id = submit("halves", 1);
  const { page, heard, context } = await open("");
  const { members: [waiting] } = await told(page, "ListMembers", `sweep_id=${id.slice(1)}`);
  const trains = { ...waiting, state: "MEMBER_STATE_LEASED", attempt: 1, worker: "box", step: "10", step_count: "16" };
  const value = (step, name) => ({ step: String(step), name, value: 0.5 });
  const measured = [value(5, "train_loss"), value(10, "train_loss")];
  await page.route(/\/api\/ListMembers\?/, (route) => route.fulfill({ json: { members: [trains], next_page_token: "" } }));
  await page.route(/\/api\/WatchMember\?/, async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const values = measured.filter((v) => query.get("lease") !== "7" || Number(v.step) > Number(query.get("after_step")));
    const news = { state: trains.state, lease: "7", attempt: 1, step: "10", steps: "16", values, events: [] };
    await route.fulfill({ contentType: "text/event-stream", body: `data: ${JSON.stringify(news)}\n\n` });
    if (measured.length === 2) measured.push(value(10, "test_top1"));  // For whoever looks again.
  });

  await page.goto(new URL(`/${id}`, coordinator.url).href);
  await page.getByLabel("top-1 (%) over steps").waitFor();
  assert.equal(await page.getByLabel("training loss (nats) over steps").count(), 1);
  assert.deepEqual(heard, []);
  await context.close();
});

/** The news of a sweep, as if the coordinator had told them; the connection ends, and the page comes back. */
async function tell(page, sweep) {
  const news = { sweep, lines: [], events: [], storage_problem: "" };
  await page.route(/\/api\/WatchSweep\?/, (route) => route.fulfill({ contentType: "text/event-stream", body: `data: ${JSON.stringify(news)}\n\n` }));
}

test("of more members that train than are listed it is said how many there are", async () => {
  const id = submit("crowd", 1);
  const { page, context } = await open("");
  const { members: [waiting] } = await told(page, "ListMembers", `sweep_id=${id.slice(1)}`);
  const { sweep } = await told(page, "GetSweep", `sweep_id=${id.slice(1)}`);
  const trains = { ...waiting, state: "MEMBER_STATE_LEASED", attempt: 1, worker: "box", step: "10", step_count: "16" };
  let listed = 50;
  await page.route(/\/api\/ListMembers\?/, (route) => {
    const members = Array.from({ length: listed }, (_, i) => ({ ...trains, id: `${id}c0r${i}` }));
    return route.fulfill({ json: { members, next_page_token: listed === 50 ? "more" : "" } });
  });
  const nothing = { state: trains.state, lease: "7", attempt: 1, step: "10", steps: "16", values: [], events: [] };
  await page.route(/\/api\/WatchMember\?/, (route) => route.fulfill({ contentType: "text/event-stream", body: `data: ${JSON.stringify(nothing)}\n\n` }));
  await tell(page, { ...sweep, waiting: 0, leased: 73 });

  await page.goto(new URL(`/${id}`, coordinator.url).href);
  const lead = page.locator("section", { has: page.getByRole("heading", { name: "Training now" }) }).locator(".lead");
  await lead.getByText("The first 50 of 73. Curves of the first 8.", { exact: true }).waitFor();
  listed = 9;
  await lead.getByText("Curves of the first 8.", { exact: true }).waitFor();
  await context.close();
});

test("a sweep that has yet to decide how many more it trains has not ended", async () => {
  const { page, context } = await open("");
  const { sweep } = await told(page, "GetSweep", "sweep_id=1");
  assert.equal(sweep.done, 6);
  await tell(page, { ...sweep, undecided: true });

  await page.goto(new URL("/s1", coordinator.url).href);
  await page.getByText("Nothing trains at present.").waitFor();
  assert.match(await page.textContent(".bar + .standing"), /^deciding how many more; 6 of 6 members ended/);
  await context.close();
});

test("a report says how many results came since it was drawn, and is drawn again", async () => {
  const { page, heard, context } = await open("");
  const { sweep } = await told(page, "GetSweep", "sweep_id=1");
  await tell(page, { ...sweep, done: sweep.done + 1, diverged: sweep.diverged + 1 });
  await page.goto(new URL("/s1/report", coordinator.url).href);
  await page.getByText("2 results more since this was drawn.").waitFor();
  const headline = page.locator("#report ol.headlines li").first();
  await headline.waitFor();
  await page.evaluate(() => document.querySelector("#report ol.headlines").remove());
  await page.getByRole("button", { name: "draw again" }).click();
  await headline.waitFor();

  // One that cannot be drawn anew stays.
  await page.route(/\/api\/GetStudy\?/, (route) => route.fulfill({ status: 503, json: { error: { code: "UNAVAILABLE", message: "later" } } }));
  await page.getByRole("button", { name: "draw again" }).click();
  await page.getByText("It could not be drawn anew.").waitFor();
  assert.ok(await headline.isVisible());
  await page.unroute(/\/api\/GetStudy\?/);
  await page.getByRole("button", { name: "draw again" }).click();
  await page.getByText("2 results more since this was drawn.").waitFor();
  assert.deepEqual(heard.filter((line) => !line.includes("503")), []);
  await context.close();
});

test("of a worker it is said what it trains, on how many of its slots, and why it gets nothing", async () => {
  const { page, heard, context } = await open("");
  const now = Date.now() / 1000;
  const worker = (name, more) => ({ name, connected: true, draining: false, running: [], seen_unix_seconds: String(Math.floor(now)), version: "1", paused: [],
    inventory: { devices: [], offers: [{ hardware_class: "cpu-a", stack: "x" }, { hardware_class: "cpu-a", stack: "y" }], slots: [{}, {}, {}], withheld: [] }, ...more });
  const workers = [worker("busy", { running: Array.from({ length: 10 }, (_, i) => `s1c0r${i}`), paused: [{ unit: "gpu-0", reason: "too hot" }] }),
    worker("drains", { draining: true }), worker("gone", { connected: false, seen_unix_seconds: String(Math.floor(now - 49 * 3600)), inventory: undefined })];
  await page.route(/\/api\/ListWorkers\?/, (route) => route.fulfill({ json: { workers, storage_problem: "the disk is full" } }));

  await page.goto(new URL("/workers", coordinator.url).href);
  await page.locator("tbody tr").nth(2).waitFor();
  assert.deepEqual(await page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))), [
    ["busy", "connected; gpu-0: too hot", "cpu-a", "10 of 3", `${Array.from({ length: 8 }, (_, i) => `s1c0r${i}`).join(", ")} and 2 more`, "now"],
    ["drains", "draining", "cpu-a", "0 of 3", "–", "now"],
    ["gone", "not connected", "–", "0 of 0", "–", "2 days ago"]]);
  assert.equal(await page.locator("[role=alert]").textContent(), "the disk is full");
  assert.equal(await page.getByRole("link", { name: "s1c0r7" }).getAttribute("href"), "/s1c0r7");
  assert.deepEqual(heard, []);
  await context.close();
});

test("sweeps that are archived, and older ones, are asked for as the address says", async () => {
  const { page, heard, context } = await open("");
  const { sweep } = await told(page, "GetSweep", "sweep_id=1");
  const asked = [];
  await page.route(/\/api\/ListSweeps\?/, (route) => {
    asked.push(Object.fromEntries(new URL(route.request().url()).searchParams));
    return route.fulfill({ json: { sweeps: [{ ...sweep, kind: "replay", of: "s1c0r0", owner: "ann" }], next_page_token: "to&ken", storage_problem: "" } });
  });
  await page.goto(new URL("/", coordinator.url).href);
  await page.getByRole("link", { name: "archived ones, too" }).click();
  await page.getByRole("link", { name: "without archived ones" }).waitFor();
  await page.getByRole("link", { name: "older" }).click();
  await page.getByRole("link", { name: "newest" }).waitFor();
  assert.equal(new URL(page.url()).search, "?archived=true&page=to%26ken");
  const [row] = await page.locator("tbody tr").evaluateAll((rows) => rows.map((one) => [...one.cells].map((cell) => cell.textContent)));
  assert.deepEqual(row.slice(0, 3), ["s1 live replay of s1c0r0", `ended; ${sweep.done} done`, "ann"]);
  await page.getByRole("link", { name: "newest" }).click();
  await page.waitForURL((url) => url.search === "?archived=true");
  for (const want of [{ archived: "false", page_token: "" }, { archived: "true", page_token: "" }, { archived: "true", page_token: "to&ken" }]) {
    assert.ok(asked.some((one) => one.archived === want.archived && one.page_token === want.page_token), JSON.stringify(want));
  }
  assert.deepEqual(heard, []);
  await context.close();
});
