// The page in a real browser: it draws at three widths and in both themes, logs nothing, asks for
// nothing, and every figure it shows is the JSON's. node page_test.mjs RENDER_PAGE STUDY.json
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { gzipSync } from "node:zlib";

import { axe, distinct, fields, figureOf, open, saved, scrolled, study, wide } from "./open_page.mjs";

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

/** "16.67 % [15.14, 18.20]" as a number for each number in it. */
function numbersIn(text) {
  return [...text.replaceAll("−", "-").matchAll(/-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?/g)].map((match) => match[0]);
}

/** What its last digit counts: 0.01 of "15.14", 1e-9 of "1.2e-08". */
function lastPlace(number) {
  const [digits, power] = number.split("e");
  return 10 ** (Number(power ?? 0) - (digits.split(".")[1]?.length ?? 0));
}

test("every figure on the page is the JSON's, to the last digit shown", async () => {
  const { page } = await open(study);

  const shown = await page.$$eval("[data-path]", (elements) =>
    elements.map((e) => ({ path: e.dataset.path, value: e.dataset.value, text: e.textContent })));

  assert.ok(shown.length >= study.cohorts.length * 6 + study.hardware.length * 7);
  for (const { path, value, text } of shown) {
    const estimate = at(study, path);
    assert.ok(estimate, `${path} is in the JSON`);
    assert.equal(value, String(estimate.value), path);
    if (typeof estimate.value !== "number") continue;
    const scale = estimate.unit === "fraction" ? 100 : 1;
    const printed = numbersIn(text);
    const exact = [estimate.value, estimate.low, estimate.high].filter((v) => v !== null).map((v) => v * scale);
    assert.equal(printed.length, estimate.low === null ? 1 : 3, `${path}: ${text}`);
    printed.forEach((number, i) => {
      assert.ok(Math.abs(Number(number) - exact[i]) <= 0.51 * lastPlace(number), `${path}: shows ${text}, JSON has ${exact[i]}`);
      assert.ok(lastPlace(number) <= 0.01 || Math.abs(exact[0]) >= 1000, `${path}: ${text}`);
    });
  }
  await page.close();
});

const COLUMNS = {
  cohorts: { "top-1": "accuracy", "SD of top\u20111": "accuracy_sd", "by flips": "flip_sd", churn: "churn", "any differ": "any_disagreement", "any of 3": "any_of_3", "L2, unit norm": "l2_normalised", loss: "loss" },
  blocks: { "top-1": "accuracy", "SD inside a block": "accuracy_sd", churn: "churn" },
  hardware: { "top-1, B\u00a0−\u00a0A": "accuracy_difference", "churn, same replicate": "churn_paired", "other replicates": "churn_unpaired", "shift of the mean": "churn_excess",
    "r of top-1": "accuracy_correlation", "r of logits, same": "logits_correlation_paired", other: "logits_correlation_unpaired" },
};

test("every estimate of the tables stands in the column of its name, with its n", async () => {
  const value = structuredClone(study);
  value.blocks = value.cohorts.slice(3, 5).map((c) => ({ label: c.label, cells: [c.cell, c.cell + 9],
    accuracy: { ...c.accuracy }, accuracy_sd: { ...c.accuracy_sd }, churn: { ...c.churn } }));
  for (const list of Object.keys(COLUMNS)) distinct(value[list]);
  const { page } = await open(value);
  for (const [list, columns] of Object.entries(COLUMNS)) {
    const table = page.locator("table", { has: page.locator(`[data-path^='${list}.']`) });
    const header = await table.locator("th").allTextContents();
    for (const [i, record] of value[list].entries()) {
      const cells = table.locator("tbody tr").nth(i).locator("td");
      for (const [name, field] of Object.entries(columns)) {
        assert.ok(header.includes(name), `${list}: ${header.join(" | ")}`);
        const shown = cells.nth(header.indexOf(name)).locator("[data-path]");
        assert.equal(await shown.getAttribute("data-path"), `${list}.${i}.${field}`);
        assert.equal(await shown.getAttribute("data-value"), String(record[field].value), name);
        assert.match(await shown.getAttribute("title"), new RegExp(`^n = ${record[field].n};`), name);
      }
    }
  }
  await page.close();
});

test("figures have as many digits as in the findings, which the tables write", async () => {
  const small = structuredClone(study);
  small.cohorts[0].accuracy_sd = { ...small.cohorts[3].accuracy_sd, value: 0.00153, low: 0.0011, high: 0.00244 };
  small.cohorts[0].churn = { ...small.cohorts[3].churn, value: 0.004, low: 0.00003, high: 0.0079 };
  small.cohorts[0].loss = { ...small.cohorts[3].churn, value: 0.00625, low: -0.00375, high: 0.01125 };
  small.cohorts[0].any_disagreement = { ...small.cohorts[3].churn, value: 0.00003, low: null, high: null };
  const { page } = await open(small);
  const text = async (path) => (await page.locator(`[data-path='${path}']`).textContent()).replaceAll("\u00a0", " ");

  const loud = study.cohorts.filter((c) => c.plan === "algo").sort((a, b) => b.churn.value - a.churn.value)[0];
  const churn = await text(`cohorts.${study.cohorts.indexOf(loud)}.churn`);
  assert.ok(study.headlines.some((h) => h.includes(` to ${churn.split(" [")[0]}; n = `)), churn);
  assert.equal(await text("cohorts.0.accuracy_sd"), "0.15 % [0.11, 0.24]");
  assert.equal(await text("cohorts.0.churn"), "0.400 % [0.003, 0.790]");
  assert.equal(await text("cohorts.0.any_disagreement"), "0.0030 %");
  assert.equal(await text("cohorts.0.loss"), "0.62 % [−0.38, 1.12]");  // Half-way: to the even digit.
  await page.close();
});

test("figures are written as in the tables", async () => {
  // tests/coordinator/report/render_test.cc holds the tables to the same file.
  const figures = JSON.parse(readFileSync(new URL("figures.json", import.meta.url), "utf8"));
  const many = structuredClone(study);
  many.cohorts = figures.map(({ text, ...numbers }, i) =>
    ({ ...study.cohorts[3], cell: i, loss: { ...study.cohorts[3].loss, ...numbers } }));
  const { page, heard } = await open(many);

  assert.deepEqual(heard, []);
  assert.ok(figures.length >= 20);
  for (const [i, figure] of figures.entries()) {
    const shown = await page.locator(`[data-path='cohorts.${i}.loss']`).textContent();
    assert.equal(shown.replaceAll("\u00a0", " ").replaceAll("−", "-"), figure.text);
  }
  await page.close();
});

test("n is the number of members that are done, with diverged ones beside", async () => {
  const some = structuredClone(study);
  Object.assign(some.cohorts[3].counts, { total: 10, done: 4, diverged: 6 });
  const { page } = await open(some);

  for (const [i, cohort] of some.cohorts.entries()) {
    const n = page.locator(`[data-count='cohorts.${i}.counts.done']`);
    assert.equal(await n.textContent(), String(cohort.counts.done));
    assert.equal(cohort.counts.done, cohort.accuracy.n);
  }
  const cell = page.locator("td", { has: page.locator("[data-count='cohorts.3.counts.done']") });
  assert.equal(await cell.textContent(), "4 (6 diverged)");
  await page.close();
});

test("the shift of the mean answer is in its table, with its draws and both p", async () => {
  const some = structuredClone(study);
  some.hardware[4].shift = { ...some.hardware[4].shift, p: 0.03125, p_holm: 0.09375 };
  some.hardware[5].shift = { ...some.hardware[5].shift, p: 0.00001, p_holm: null, note: "too few" };
  const { page } = await open(some);
  const p = (i, which) => page.locator(`[data-p='hardware.${i}.shift.${which}']`);
  for (const [i, h] of some.hardware.entries()) {
    assert.equal(await page.locator(`[data-path='hardware.${i}.churn_excess']`).count(), 1);
    assert.equal(await page.locator(`[data-count='hardware.${i}.draws']`).textContent(), String(h.draws));
  }
  assert.equal(await p(4, "p").textContent(), "0.031");
  assert.equal(await p(4, "p_holm").textContent(), "0.094");
  assert.equal(await p(5, "p").textContent(), "1.0e-5");
  assert.equal(await p(5, "p_holm").textContent(), "–");
  assert.equal(await p(5, "p_holm").getAttribute("title"), "too few");
  for (const { text } of some.hardware_tests) {
    assert.equal(await page.locator("li", { hasText: text }).count(), 1);
  }
  await page.close();
});

test("a line against an axis joins cohorts that differ in nothing else", async () => {
  const value = wide();
  for (const cohort of value.cohorts.filter((c) => c.plan === "control")) cohort.any_disagreement.n = 3;
  const { page, heard } = await open(value);
  const figure = figureOf(page, "not all n members agree");

  assert.deepEqual(heard, []);
  const lines = await figure.locator("[data-mark=line] path").evaluateAll((paths) => paths.map((p) => p.getAttribute("d")));
  assert.equal(lines.length, 9 * 4);  // A line for each plan, class, width and block.
  for (const line of lines) assert.equal(line.split(",").length - 1, 3, line);  // Three rates.
  const text = await figure.textContent();
  assert.match(text, /width=broad/);
  assert.match(text, /block 1/);
  assert.match(text, /n, which is 3 to 4/);
  const circle = figure.locator("circle").first();  // Of control.
  await circle.scrollIntoViewIfNeeded();
  await scrolled(page);
  await circle.hover({ force: true });
  assert.match(await page.locator("#tip").textContent(), /n = 3/);
  await page.close();
});

test("who pays: no under-trained cohort, and every setting has its own labelled column", async () => {
  const value = wide();
  for (const cohort of value.cohorts) {
    cohort.under_trained = cohort.axes[0].value === "0.1";
    cohort.churn.value = cohort.plan === "algo" && cohort.block === 1 && cohort.axes[1].value === "broad" ? 0.9 : 0.1;
  }
  const { page, heard } = await open(value);
  const figure = figureOf(page, "Churn within each class");

  assert.deepEqual(heard, []);
  const text = await figure.textContent();
  assert.match(text, /4 noisiest of 16 plans and settings/);
  assert.match(text, /learning_rate=0.01/);
  assert.match(text, /width=broad/);
  assert.match(text, /block 1/);
  assert.doesNotMatch(text, /learning_rate=0.1\b|control/);
  const drawn = await figure.locator("circle").count();
  assert.equal(drawn, 4 * 3 * 10);  // Settings, classes of hardware, classes of the data set.
  await page.close();
});

test("comparisons of several blocks are not drawn upon each other", async () => {
  const value = structuredClone(study);
  value.hardware = value.hardware.flatMap((h) => [0, 1].map((block) => ({ ...h, block, setting: `${h.plan}, block ${block}` })));
  const { page } = await open(value);
  const text = await figureOf(page, "Churn between two hardware classes").textContent();
  assert.match(text, /algo, block 0, avx2 – avx512/);
  assert.match(text, /algo, block 1, avx2 – avx512/);
  await page.close();
});

test("means over blocks have a table, where there are blocks", async () => {
  const { page: without } = await open(study);
  assert.equal(await figureOf(without, "Over blocks").count(), 0);
  await without.close();
  const value = wide();
  const [a, b] = [study.cohorts[3], study.cohorts[6]];
  value.blocks = [a, b].map((c) => ({ label: `${c.plan}, ${c.hardware}`, cells: [c.cell, c.cell + 27],
    accuracy: { ...c.accuracy, n: 2 }, accuracy_sd: { ...c.accuracy_sd, n: 2 }, churn: { ...c.churn, n: 2 } }));
  value.blocks[1].cells.push(b.cell + 9);  // A block of which nothing is done is in no mean.
  const { page, heard } = await open(value);
  const table = figureOf(page, "Over blocks");

  assert.deepEqual(heard, []);
  assert.equal(await table.locator("tbody tr").count(), 2);
  for (const [i, c] of [a, b].entries()) {
    const cells = await table.locator("tbody tr").nth(i).locator("td").allTextContents();
    assert.deepEqual(cells.slice(0, 2), [`${c.plan}, ${c.hardware}`, "2"]);
    for (const name of ["accuracy", "accuracy_sd", "churn"]) {
      const shown = table.locator(`[data-path='blocks.${i}.${name}']`);
      assert.equal(await shown.getAttribute("data-value"), String(c[name].value));
      assert.equal(await shown.textContent(), await page.locator(`[data-path='cohorts.${value.cohorts.findIndex((d) => d.cell === c.cell)}.${name}']`).textContent());
    }
  }
  await page.close();
});

test("the interval of any-disagreement is said to be over examples", async () => {
  const { page } = await open(wide());
  for (const words of ["Every cohort, with", "not all n members agree, against"]) {
    assert.match(await figureOf(page, words).first().textContent(), /over examples, not/);
  }
  const title = await page.locator("[data-path='cohorts.3.any_disagreement']").getAttribute("title");
  assert.match(title, /Wilson over examples, not members/);
  await page.close();
});

test("the most divergent images are drawn from their pixels", async () => {
  const value = structuredClone(study);
  value.divergent.examples[1].picture = { width: 2, height: 2, channels: 3, pixels: Buffer.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).toString("base64") };
  const { page } = await open(value);
  const example = study.divergent.examples[0];
  const first = Buffer.from(example.picture.pixels, "base64");

  const bytes = await page.$eval(".card canvas", (canvas) =>
    [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data]);

  const pixels = example.picture.width * example.picture.height;
  for (let p = 0; p < pixels; ++p) {
    assert.equal(bytes[4 * p], first[p * example.picture.channels], `pixel ${p}`);
  }
  const colours = await page.$$eval(".card canvas", (all) => [...all[1].getContext("2d").getImageData(0, 0, 2, 2).data]);
  assert.deepEqual(colours, [1, 2, 3, 255, 4, 5, 6, 255, 7, 8, 9, 255, 10, 11, 12, 255]);
  await page.close();
});

test("examples that go with the hardware are marked, with what each side answers", async () => {
  const some = structuredClone(study);
  const of = some.sensitive[0];
  of.tested = 2;
  of.found = [77, ...Array.from({ length: of.most.length }, (_, i) => 1000 + i)];
  Object.assign(of.most[0], { p: 0.0005, p_fdr: 0.001, flips: 3, said_a: "Coat", said_b: "undefined", example: 77 });
  Object.assign(of.most[1], { p: 0.04, p_fdr: 0.08 });
  for (const e of of.most.slice(2)) Object.assign(e, { p: null, p_fdr: null });
  some.sensitive[1].flipped = 0;  // Nothing to show.
  const { page } = await open(some);
  const section = page.locator("section", { has: page.getByRole("heading", { name: "Which examples does the hardware change?" }) });
  assert.equal(await section.locator("h3").count(), some.sensitive.filter((s) => s.flipped > 0).length);
  const table = section.locator("table").first();
  assert.deepEqual((await table.locator("th").allTextContents()).slice(0, 6), ["example", "label", of.side_a, of.side_b, "flips", "rate, shrunk"]);
  const cells = await table.locator("tbody tr").first().locator("td").allTextContents();
  assert.deepEqual(cells.slice(0, 5), ["#77", of.most[0].label_name, "Coat", "undefined", `3 of ${of.draws}`]);
  assert.deepEqual(cells.slice(6), ["0.0005", "0.001 *"]);
  assert.equal(await table.locator("tbody tr").count(), 10);
  assert.equal((await saved(page, section.locator("figure.table").first(), "CSV")).bytes.toString().trim().split("\n").length, 1 + of.most.length);
  assert.equal(await section.locator("details summary").textContent(), `All ${of.found.length} that were found`);
  assert.equal(await section.locator("details p").textContent(), of.found.map((e) => `#${e}`).join(", "));
  assert.equal(await page.locator("[data-p='sensitive.0.most.1.p_fdr']").first().textContent(), "0.08");
  assert.equal(await page.locator("[data-p='sensitive.0.most.2.p']").first().textContent(), "–");
  await page.close();
});

test("who is among the divergent: the farthest from their share first, with both p", async () => {
  const some = structuredClone(study);
  for (const [i, g] of some.divergent.groups.entries()) Object.assign(g, { p: 0.5, p_holm: 1, divergent: i });
  Object.assign(some.divergent.groups[6], { p: 0.0002, p_holm: 0.002 });
  some.divergent.groups_text = "Among them more often: six.";
  const { page } = await open(some);
  const table = page.locator("table", { has: page.locator("[data-path='divergent.groups.6.ratio']") });
  const first = await table.locator("tbody tr").first().locator("td").allTextContents();
  const six = some.divergent.groups[6];
  assert.deepEqual(first.slice(0, 3), [`class: ${six.name}`, String(six.examples), "6"]);
  assert.deepEqual(first.slice(4), ["0.0002", "0.002"]);
  assert.equal(await page.getByText("Among them more often: six.").count(), 1);
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

test("a study of one hardware class, which is compared with none", async () => {
  const value = structuredClone(study);
  const only = value.cohorts[0].hardware;
  const cells = new Set(value.cohorts.filter((c) => c.hardware === only).map((c) => c.cell));
  value.cohorts = value.cohorts.filter((c) => cells.has(c.cell));
  value.curves = value.curves.filter((c) => cells.has(c.cell));
  value.hardware = value.stacks = [];
  const { page, heard } = await open(value);

  assert.deepEqual(heard, []);
  assert.ok((await page.locator("figure svg").count()) >= 4, "figures are drawn");
  assert.equal(await page.locator("figure .legend span").first().textContent(), only);
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

test("very many members are drawn", async () => {
  const many = structuredClone(study);
  const curve = many.curves.find((c) => c.metric === "train_loss");
  const [member] = many.members.filter((m) => m.cell === curve.cell && m.state === "done");
  const points = curve.epochs.length;
  curve.members = Array.from({ length: Math.ceil(150000 / points) }, (_, i) => ({ id: `s9c0r${i}`, values: curve.epochs.map((e) => 1 / (1 + e)) }));
  many.members.push(...curve.members.map(({ id }) => ({ ...member, id })));
  const { page, heard } = await open(many);

  assert.deepEqual(heard, []);
  assert.ok((await figureOf(page, "Each thin line is a member").locator("svg").count()) >= 2);
  await page.close();
});

test("a member that diverged does not decide what the curves show", async () => {
  const value = structuredClone(study);
  const curve = value.curves.find((c) => c.metric === "train_loss");
  const id = curve.members[0].id;
  value.members.find((m) => m.id === id).state = "diverged";
  curve.members[0].values = curve.members[0].values.map(() => 1e26);
  const { page } = await open(value);

  const text = await figureOf(page, "Each thin line is a member").textContent();
  assert.doesNotMatch(text, /e\+2[0-9]/, "the axis ends at what finished");
  await page.close();
});

test("alike warnings are one, whole on hover; an error names all that it is about", async () => {
  const value = structuredClone(study);
  const cells = Array.from({ length: 6 }, (_, i) => `cell ${i}`);
  value.warnings = ["error", "warning"].flatMap((severity) => cells.map((subject) => ({ severity, subject, text: `An ${severity}.` })));
  for (const text of ["One.", "Two."]) value.warnings.push({ severity: "note", subject: "sweep", text });
  const { page } = await open(value);

  assert.equal(await page.locator("aside details summary").textContent(), "2 notes");
  assert.deepEqual(await page.locator("aside details li").allTextContents(), ["sweep: One.", "sweep: Two."]);
  assert.deepEqual(await page.locator("aside > ul li").allTextContents(),
    ["cell 0, cell 1, cell 2, cell 3, cell 4, cell 5: An error.", "cell 0, cell 1, cell 2 and 3 more: An warning."]);
  assert.equal(await page.locator("aside li b[title]").getAttribute("title"), cells.join("\n"));
  await page.close();
});

test("what could not be compared or measured is not drawn", async () => {
  const value = structuredClone(study);
  const absent = { value: null, low: null, high: null };
  value.hardware[0].pairs = 0;
  for (const c of value.cohorts.filter((cohort) => cohort.plan === value.cohorts[0].plan)) {
    Object.assign(c.churn, absent);
    Object.assign(c.accuracy_sd, absent);
    c.counts.done = 0;
  }
  const { page, heard } = await open(value);

  assert.deepEqual(heard, []);
  assert.equal(await page.locator("[data-path='hardware.0.churn_excess']").count(), 0);
  assert.equal(await page.locator("[data-path='hardware.1.churn_excess']").count(), 1);
  assert.match(await figureOf(page, "top-1 of every member").textContent(), /Without 1 of 3 plans and settings/);
  value.hardware.forEach((h) => { h.pairs = 0; });
  const none = await open(value);
  assert.match(await none.page.locator("main").textContent(), /No replicate with equal lanes is done on two/);
  await none.page.close();
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
  const { page: other } = await open({ ...study, study_version: 2 });
  await other.close();
  const { page } = await open({ ...study, study_version: 99 }, { drawn: "main" });
  assert.match(await page.locator("main").textContent(), /studies of version 2; this one is 99/);
  await page.close();
});

test("what was trained stands on the page: settings, plans, origin, and the file byte for byte", async () => {
  const value = structuredClone(study);
  value.sweep.axes = [[{ path: "train.optimizer.learning_rate", values: ["0.1", "0.5"] }, { path: "train.epochs", values: ["1", "2"] }]];
  value.sweep.reference_accuracy = 0.85;
  value.sweep.until = { figure: "churn", half_width: 0.0125, most: 20, settled: true };
  value.cohorts.forEach((c, i) => Object.assign(c.target_epochs, { value: 2 + i, low: null, high: null }));
  const { page, heard } = await open(value);
  const section = page.locator("section", { hasText: "What was trained" });

  assert.deepEqual(heard, []);
  const rows = await section.locator("figure").first().locator("tbody tr").evaluateAll((trs) =>
    trs.map((tr) => [...tr.children].map((td) => td.textContent)));
  assert.deepEqual(rows, [
    ["model.name", "small_cnn"], ["data.name", "fashion-mnist-sample"], ["augment.flip", "true"],
    ["train.epochs", "1, 2 (varied)"], ["train.batch_size", "64"], ["train.optimizer.name", "sgd"],
    ["train.optimizer.learning_rate", "0.1, 0.5 (varied)"], ["data identity", study.evaluation.identity],
    ["reference_accuracy", "0.85"], ["until", "churn within 1.25 % to either side, at most 20 replicates"], ["seed", "0"], ["specification hash", study.sweep.specification_sha256]]);
  assert.match(await section.textContent(), /train.optimizer.learning_rate, train.epochs walk in step/);
  const plans = await section.locator("figure").nth(1).locator("tbody tr").evaluateAll((trs) =>
    trs.map((tr) => [...tr.children].map((td) => td.textContent)));
  assert.deepEqual(plans[1], ["algo", "init, data_order, augment, dropout", "kernels, autotune, reduce_order, threads", "poke", "1", "4"]);
  assert.equal(await section.locator("pre").textContent(), study.sweep.file);
  assert.equal(await section.locator("pre b").count(), 0);
  const header = await page.locator("header").textContent();
  assert.match(header, /submitted 2023-11-14 22:13 UTC · last result 2023-11-14 22:16 UTC · noisefloor 0\.1\.0/);
  assert.match(header, /tags: example, cpu/);
  const cohorts = page.locator("figure", { hasText: "Every cohort, with" });
  const column = (await cohorts.locator("th").allTextContents()).indexOf("epochs to 85 %");
  assert.deepEqual((await cohorts.locator("tbody tr").evaluateAll((trs, i) => trs.map((tr) => tr.cells[i].textContent), column)).map(Number), value.cohorts.map((_, i) => 2 + i));
  await page.close();
});

test("its title is there before the script has run", async () => {
  const { page } = await open(study, { script: false, drawn: "#app" });
  assert.equal(await page.title(), "first-study (s1): noise study");
  await page.close();
});

test("every member has its row, and why one failed stands beside it", async () => {
  const value = structuredClone(study);
  Object.assign(value.members[1], { final_metrics: { top1: 0.875, loss: 0.25, top5: 0.99 }, seconds: 12.34, attempts: 3 });
  Object.assign(value.members[2], { state: "failed", failure: "data: t10k-images is truncated" });
  const { page } = await open(value);
  await page.locator("main details summary").last().click();
  const section = page.locator("section:last-of-type");
  assert.match(await section.textContent(), /failed: data: t10k-images is truncated/);
  assert.equal(await section.locator("tbody tr").count(), value.members.length);
  const { id, hashes } = value.members[1];
  assert.deepEqual(await section.locator("th").allTextContents(), ["member", "cohort", "state", "weights", "top-1", "loss", "time", "attempts"]);
  assert.deepEqual(await section.locator("tbody tr").nth(1).locator("td").allTextContents(),
    [id, value.cohorts[0].label, "done", hashes.weights.slice(0, 12), "87.50 %", "0.250", "12.3 s", "3"]);
  await page.close();
});

for (const [width, colorScheme] of [[400, "light"], [900, "dark"], [1400, "light"]]) {
  test(`axe finds nothing serious at ${width} pixels, ${colorScheme}`, async () => {
    const { page } = await open(study, { width, colorScheme });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
    assert.deepEqual(serious.map((v) => `${v.id}, ${v.nodes.length}: ${v.nodes[0].html.slice(0, 200)}`), []);
    await page.close();
  });
}

test("a figure is saved as an SVG that needs nothing else, and as a PNG of 300 dots an inch", async () => {
  const { page, heard } = await open(study, { colorScheme: "dark" });
  const figure = figureOf(page, "top-1 of every member");
  const svg = await saved(page, figure, "SVG");
  assert.equal(svg.name, "first-study-figure-1.svg");
  const text = svg.bytes.toString();
  assert.doesNotMatch(text, /var\(|currentColor|href="http/);
  const shape = await page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    return { error: parsed.querySelector("parsererror")?.textContent, circles: parsed.querySelectorAll("circle").length, inner: parsed.querySelectorAll("svg svg").length,
      width: Number(parsed.documentElement.getAttribute("width")), words: parsed.documentElement.textContent };
  }, text);
  assert.equal(shape.error, undefined);
  assert.equal(shape.inner, 4);
  assert.equal(shape.circles, await figure.locator("circle").count() + 3);  // And the legend's.
  for (const hardware of new Set(study.cohorts.map((c) => c.hardware))) assert.ok(shape.words.includes(hardware), hardware);
  for (const title of ["a Every member", "b Spread of accuracy", "c Churn inside a class", "d Changing only the hardware"]) assert.ok(shape.words.includes(title), title);

  const { bytes } = await saved(page, figure, "PNG");
  assert.equal(bytes.toString("latin1", 37, 41), "pHYs");
  assert.deepEqual([bytes.readUInt32BE(41), bytes.readUInt32BE(45), bytes[49]], [11811, 11811, 1]);  // Dots a metre, both ways.
  // Who finds another length or sum skips it; gzip ends with the same sum, and a length.
  assert.deepEqual([bytes.readUInt32BE(33), bytes.readUInt32BE(50)], [9, gzipSync(bytes.subarray(37, 50)).subarray(-8).readUInt32LE()]);
  assert.equal(bytes.readUInt32BE(16), Math.round(shape.width * 300 / 96));
  const decoded = await page.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const data = context.getImageData(0, 0, image.width, image.height).data;
    const has = (r, g, b) => data.some((_, i) => i % 4 === 0 && data[i] === r && data[i + 1] === g && data[i + 2] === b);
    return { corner: [...data.slice(0, 4)], blue: has(0, 114, 178), orange: has(213, 94, 0) };
  }, bytes.toString("base64"));
  assert.deepEqual(decoded, { corner: [255, 255, 255, 255], blue: true, orange: true });
  assert.deepEqual(heard.filter((h) => !h.includes("blob:")), []);
  await page.close();
});

test("data of figures and tables are saved whole and exact", async () => {
  const { page } = await open(study);
  const figure = (await saved(page, figureOf(page, "top-1 of every member"), "CSV")).bytes.toString();
  const rows = figure.trim().split("\n");
  assert.equal(rows[0], "panel,setting,row,member,value_percent,low_percent,high_percent,n");
  assert.equal(rows.filter((r) => r.startsWith("every member,")).length, study.members.filter((m) => m.state === "done").length);
  const loud = study.cohorts[3];
  assert.ok(rows.includes(`churn inside a class,${loud.plan},${loud.hardware},,${100 * loud.churn.value},${100 * loud.churn.low},${100 * loud.churn.high},${loud.churn.n}`));

  const table = (await saved(page, page.locator("figure", { hasText: "Every cohort, with" }), "CSV")).bytes.toString();
  const [head, ...lines] = fields(table);
  assert.equal(lines.length, study.cohorts.length);
  const column = head.indexOf("churn");
  assert.deepEqual(head.slice(column, column + 4), ["churn", "churn low", "churn high", "churn n"]);
  study.cohorts.forEach((c, i) => {
    const { value, low, high, n } = c.churn;
    assert.deepEqual(lines[i].slice(column, column + 4), [value, low ?? "", high ?? "", n].map(String), c.label);
  });
  assert.ok(study.cohorts.some((c) => c.churn.low !== null && c.churn.low !== c.churn.high));
  const compared = (await saved(page, page.locator("figure.table", { hasText: "Two sides over the independent draws" }), "CSV")).bytes.toString();
  const [names, ...pairs] = fields(compared);
  study.hardware.forEach((h, i) => assert.equal(pairs[i][names.indexOf("p")], String(h.shift.p ?? "")));
  const contrasts = fields((await saved(page, page.locator("figure.table", { hasText: "B minus A; of the SD" }), "CSV")).bytes.toString());
  assert.ok(contrasts[0].includes("churn p") && contrasts[0].includes("top-1 p"), contrasts[0].join());
  await page.close();
});

test("no text of a CSV is a formula: an apostrophe stands before what a spreadsheet would compute", async () => {
  const value = structuredClone(study);
  const plans = { control: "=1+1", algo: "-2.5e3", impl: "@sum,2" };
  for (const c of value.cohorts) c.plan = plans[c.plan];
  value.cohorts[3].label = "-inf";
  value.cohorts[4].label = "+1";
  value.cohorts[5].label = "-x";
  const { page } = await open(value);
  const [head, ...rows] = fields((await saved(page, figureOf(page, "top-1 of every member"), "CSV")).bytes.toString());
  assert.deepEqual([...new Set(rows.map((row) => row[head.indexOf("setting")]))].sort(), ["'=1+1", "'@sum,2", "-2.5e3"]);
  const [, ...cohorts] = fields((await saved(page, page.locator("figure", { hasText: "Every cohort, with" }), "CSV")).bytes.toString());
  assert.deepEqual(cohorts.slice(3, 6).map(([label]) => label), ["-inf", "'+1", "'-x"]);
  // Numbers stay numbers.
  const contrasts = (await saved(page, figureOf(page, "B minus A with"), "CSV")).bytes.toString();
  assert.match(contrasts, /,-\d/);
  assert.doesNotMatch(contrasts, /'-\d/);
  await page.close();
});

test("study and sweep file are in the page, byte for byte", async () => {
  const { page } = await open(study);
  const header = page.locator("header");
  assert.deepEqual(JSON.parse((await saved(page, header, "study.json")).bytes), study);
  assert.equal((await saved(page, header, "sweep.yaml")).bytes.toString(), study.sweep.file);
  await header.locator("button", { hasText: "cite" }).click();
  assert.match(await header.locator(".citation").textContent(), new RegExp(`^"first-study" \\(s1\\), noisefloor 0.1.0, .*${study.sweep.specification_sha256}$`));
  await page.close();
});

test("a choice acts on every figure and table, and back", async () => {
  const { page, heard } = await open(study);
  const labels = () => page.locator("figure", { hasText: "Every cohort, with" }).locator("[data-path$='.churn']").evaluateAll((all) => all.map((e) => e.dataset.path));
  const before = await page.locator("main").textContent();
  await page.locator(".filter label", { hasText: "hardware" }).locator("select").selectOption("=cpu-intel-sse");
  await page.locator(".filter label", { hasText: "plan" }).locator("select").selectOption("=algo");
  const kept = study.cohorts.flatMap((c, i) => (c.plan === "algo" && c.hardware === "cpu-intel-sse" ? [`cohorts.${i}.churn`] : []));
  assert.deepEqual(await labels(), kept);
  for (const path of kept) {  // The path is still that of the JSON.
    assert.equal(await page.locator(`[data-path='${path}']`).getAttribute("data-value"), String(at(study, path).value));
  }
  const one = figureOf(page, "top-1 of every member");
  assert.equal(await one.locator("svg").first().locator("circle").count(), 4);
  assert.equal(await one.locator("figcaption b").textContent(), "Figure 1. ");
  const pairs = await page.locator("[data-path$='.churn_paired']").evaluateAll((all) => all.map((e) => e.dataset.path));
  assert.deepEqual(pairs, study.hardware.flatMap((h, i) => (h.plan === "algo" && [h.hardware_a, h.hardware_b].includes("cpu-intel-sse") ? [`hardware.${i}.churn_paired`] : [])));
  assert.match(await figureOf(page, "Churn between cohorts").textContent(), /\. 4 members/);
  // What is said is said of the choice.
  const text = await page.locator("main").textContent();
  assert.match(await one.locator("figcaption").textContent(), /Only plan algo, hardware cpu-intel-sse\.$/);
  assert.match(text, /Only plan algo, hardware cpu-intel-sse\. What is said of the whole study at once/);
  for (const whole of ["has no control cohort", "ran on one hardware class", "No evaluation was recorded", ...study.hardware_tests.map((t) => t.text)]) {
    assert.ok(!(await page.locator("section").allTextContents()).join().includes(whole), whole);
  }
  assert.equal(await page.locator(".card").count(), 0);
  const csv = await saved(page, one, "CSV");
  assert.equal(csv.name, "first-study-plan-algo-hardware-cpu-intel-sse-figure-1.csv");
  assert.doesNotMatch(csv.bytes.toString(), /control|impl|,cpu-intel-avx2,/);
  await page.locator(".filter select").first().selectOption("");
  await page.locator(".filter select").last().selectOption("");
  assert.equal(await page.locator("main").textContent(), before);
  assert.deepEqual(heard, []);
  await page.close();
});

test("what the hardware changes is drawn for either side of a chosen class, and over blocks where it is", async () => {
  const { page } = await open(study);
  const select = page.locator(".filter label", { hasText: "hardware" }).locator("select");
  for (const hardware of new Set(study.cohorts.map((c) => c.hardware))) {
    await select.selectOption(`=${hardware}`);
    const drawn = await figureOf(page, "top-1 of every member").locator("svg").nth(3).locator("circle").count();
    assert.equal(drawn, study.hardware.filter((h) => h.hardware_a === hardware || h.hardware_b === hardware).length, hardware);
  }
  await page.close();
  const value = wide();
  const first = value.cohorts.filter((c) => c.plan === "algo" && c.hardware === "cpu-intel-avx2" && c.axes[0].value === "0.01" && c.axes[1].value === "narrow");
  assert.equal(first.length, 2);
  value.hardware = [{ ...study.hardware[3], cells_a: first.map((c) => c.cell), cells_b: [] }];
  const blocks = await open(value);
  const csv = (await saved(blocks.page, figureOf(blocks.page, "top-1 of every member"), "CSV")).bytes.toString();
  const rows = csv.split("\n").filter((r) => r.startsWith("only the hardware,"));
  assert.equal(rows.length, 1);
  assert.match(rows[0], /^only the hardware,"algo, learning_rate=0.01, width=narrow, over blocks",/);
  await blocks.page.close();
});

/** "b Spread of accuracy" of each panel of a figure. */
const panelsOf = (figure) => figure.locator(".panel > p").allTextContents();

test("panels of Figure 1 that have nothing to show are left out, and letters follow", async () => {
  const value = structuredClone(study);
  const none = { value: null, low: null, high: null };
  for (const c of value.cohorts) for (const estimate of [c.accuracy_sd, c.churn]) Object.assign(estimate, none);
  for (const h of value.hardware) for (const estimate of [h.churn_within_a, h.churn_within_b]) Object.assign(estimate, none);
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  const figure = figureOf(page, "top-1 of every member");
  assert.deepEqual(await panelsOf(figure), ["a Every member", "b Changing only the hardware"]);
  const caption = await figure.locator("figcaption").textContent();
  assert.match(caption, /^Figure 1\. a: top-1 of every member \(circles\) and its mean\. b: churn of pairs that share every draw/);
  assert.doesNotMatch(caption, /standard deviation|two members of a cohort|noise floor| [cd]: /);
  const [, ...rows] = fields((await saved(page, figure, "CSV")).bytes.toString());
  assert.deepEqual([...new Set(rows.map(([panel]) => panel))], ["every member", "mean of top-1", "only the hardware"]);
  await page.close();

  // Nothing has an interval, either.
  value.hardware = [];
  const { page: alone } = await open(value);
  assert.deepEqual(await panelsOf(figureOf(alone, "top-1 of every member")), ["a Every member"]);
  assert.equal(await figureOf(alone, "top-1 of every member").locator("figcaption").textContent(), "Figure 1. a: top-1 of every member (circles) and its mean.");
  await alone.close();
});

test("what only the hardware changes is drawn without pairs whose stacks differ as well", async () => {
  const value = structuredClone(study);
  value.hardware[3].mixes_stacks = true;
  const { page } = await open(value);
  const figure = figureOf(page, "top-1 of every member");
  assert.equal(await figure.locator("svg").nth(3).locator("circle").count(), value.hardware.length - 1);
  assert.match(await figure.locator("figcaption").textContent(), /Without pairs of classes whose stacks differ as well\./);
  const rows = (await saved(page, figure, "CSV")).bytes.toString().split("\n").filter((r) => r.startsWith("only the hardware,"));
  assert.equal(rows.length, value.hardware.length - 1);
  await page.close();
});

test("contrasts without a value are not drawn, and without any there is no figure", async () => {
  const value = structuredClone(study);
  const absent = (name) => {
    for (const c of value.contrasts) {
      for (const f of c.figures.filter((of) => of.figure === name)) Object.assign(f.estimate, { value: null, low: null, high: null });
    }
  };
  const drawings = (page) => figureOf(page, "B minus A with").locator("svg").evaluateAll((all) => all.map((svg) => svg.getAttribute("aria-label")));
  absent("churn");
  const { page } = await open(value);
  assert.deepEqual(await drawings(page), ["top-1, B − A (% of the answers)"]);
  await page.close();
  absent("accuracy");
  const { page: none, heard } = await open(value);
  assert.deepEqual(heard, []);
  assert.equal(await figureOf(none, "B minus A with").count(), 0);
  assert.equal(await figureOf(none, "B minus A; of the SD").count(), 1);
  await none.close();
});

test("a contrast whose name has no room in a line has two, whole and inside the drawing", async () => {
  const value = structuredClone(study);
  Object.assign(value.contrasts[1], { b: "nvidia-h100-sxm", a: "nvidia-a100-pcie", plan: "everything", over: "the mean of 12 settings" });
  const { page } = await open(value);
  const figure = figureOf(page, "B minus A with");
  const labels = await figure.locator("svg").first().locator("[data-mark='y-axis tick label'] text").evaluateAll((all) => all.map((text) => ({
    lines: [...text.querySelectorAll("tspan")].map((line) => line.textContent),
    room: text.getBoundingClientRect().left - text.closest("svg").getBoundingClientRect().left })));
  assert.equal(labels.length, value.contrasts.length);
  const [sides, of] = ["hardware: nvidia-h100-sxm − nvidia-a100-pcie", "everything, the mean of 12 settings"];
  assert.equal(labels.filter(({ lines }) => lines.join("|") === `${sides}|${of}`).length, 1);
  for (const { room } of labels) assert.ok(room >= 0, `a label begins ${room} pixels from the edge`);
  const [head, ...rows] = fields((await saved(page, figure, "CSV")).bytes.toString());
  assert.ok(rows.some((row) => row[head.indexOf("contrast")] === `${sides}, ${of}`));
  await page.close();
});

test("pairs of classes that end alike are told apart", async () => {
  const value = structuredClone(study);
  const names = { "cpu-intel-sse": "nvidia-a100-pcie", "cpu-intel-avx2": "nvidia-h100-pcie", "cpu-intel-avx512": "nvidia-h100-sxm" };
  for (const c of value.cohorts) c.hardware = names[c.hardware];
  for (const h of value.hardware) Object.assign(h, { hardware_a: names[h.hardware_a], hardware_b: names[h.hardware_b] });
  const { page } = await open(value);
  const pairs = new Set(await figureOf(page, "top-1 of every member").locator("svg").nth(3).locator("[data-mark='y-axis tick label'] text").allTextContents());
  assert.deepEqual([...pairs].sort(), ["h100-pcie – a100-pcie", "h100-pcie – h100-sxm", "h100-sxm – a100-pcie"]);
  await page.close();
});

test("labels that are long leave room for what they are of", async () => {
  const value = structuredClone(study);
  const long = (text, i) => `${text}_${"long_".repeat(18)}${i}`;
  const plans = new Map([...new Set(value.cohorts.map((c) => c.plan))].map((plan, i) => [plan, long(plan, i)]));
  const hardware = new Map([...new Set(value.cohorts.map((c) => c.hardware))].map((name, i) => [name, long(name, i)]));
  for (const c of value.cohorts) Object.assign(c, { plan: plans.get(c.plan), hardware: hardware.get(c.hardware) });
  for (const h of value.hardware) {
    Object.assign(h, { plan: plans.get(h.plan), hardware_a: hardware.get(h.hardware_a), hardware_b: hardware.get(h.hardware_b) });
  }
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  const frames = await figureOf(page, "top-1 of every member").locator("svg [data-mark='frame']")
    .evaluateAll((all) => all.map((rect) => rect.getBoundingClientRect().width));
  assert.ok(frames.length >= 4, `${frames.length} frames`);
  for (const width of frames) assert.ok(width > 60, `a frame is ${width} pixels wide`);
  await page.close();
});

test("what is cut on the page is whole in its CSV", async () => {
  const value = structuredClone(study);
  const loud = value.cohorts.filter((c) => !c.all_fixed && c.per_group.length > 0);
  for (const c of loud) c.per_group = Array.from({ length: 30 }, (_, i) => ({ ...c.per_group[0], name: `g${i}` }));
  const { page } = await open(value);
  const figure = page.locator("figure.table", { hasText: "Each group in each cohort" });
  assert.equal(await figure.locator("tbody tr").count(), 100);
  assert.equal((await saved(page, figure, "CSV")).bytes.toString().trim().split("\n").length, 1 + 30 * loud.length);
  const map = figureOf(page, "Churn between cohorts");
  const cohorts = (await saved(page, map, "CSV")).bytes.toString().trim().split("\n").length;
  await map.locator("button.toggle").click();
  const members = (await saved(page, map, "CSV")).bytes.toString().trim().split("\n").length;
  assert.deepEqual([cohorts, members], [1 + new Set(value.heat_map.cells).size ** 2, 1 + value.heat_map.members.length ** 2]);
  await page.close();
});

test("axes that end alike have their paths in the bar", async () => {
  const value = structuredClone(study);
  value.cohorts.forEach((c, i) => { c.axes = [{ path: "model.name", value: `m${i % 2}` }, { path: "data.name", value: `d${i % 2}` }]; });
  const { page } = await open(value);
  const labels = await page.locator(".filter label").evaluateAll((all) => all.map((l) => l.firstChild.textContent.trim()));
  assert.deepEqual(labels, ["plan", "hardware", "model.name", "data.name"]);
  await page.close();
});

test("marks say in words what they are, on the keyboard, too", async () => {
  const { page } = await open(study);
  const figure = figureOf(page, "top-1 of every member");
  const svg = figure.locator("svg").nth(2);
  const marks = svg.locator("[data-tip]");
  assert.equal(await svg.locator("[tabindex='0']").count(), 1);
  await marks.first().focus();
  const [first, second] = await marks.evaluateAll((all) => all.map((m) => m.getAttribute("data-tip")));
  const shown = () => page.locator("#tip div").allTextContents();
  assert.deepEqual(await shown(), first.split("\n"));
  assert.equal(first, `control, cpu-intel-avx2\nchurn 0.00 %\nn = ${study.cohorts[0].churn.n}`);
  await page.keyboard.press("ArrowRight");
  assert.deepEqual(await shown(), second.split("\n"));
  await page.keyboard.press("ArrowLeft");
  assert.deepEqual(await shown(), first.split("\n"));
  await page.keyboard.press("ArrowUp");  // Before the first comes the last.
  assert.deepEqual(await shown(), (await marks.last().getAttribute("data-tip")).split("\n"));
  assert.equal(await svg.locator("[tabindex='0']").count(), 1);
  await page.keyboard.press("ArrowDown");
  assert.deepEqual(await shown(), first.split("\n"));
  await scrolled(page);
  const [tip, mark] = await page.evaluate(() => [document.querySelector("#tip"), document.activeElement].map((e) => e.getBoundingClientRect()));
  assert.ok(tip.left >= 0 && tip.right <= 1100 && tip.top >= 0 && tip.bottom <= 900, "the tip is in the window");
  assert.ok(Math.abs((tip.left + tip.right - mark.left - mark.right) / 2) < 1, "it is in the middle of its mark");
  assert.ok(tip.top >= mark.bottom || tip.bottom <= mark.top, "it does not hide its mark");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#tip").count(), 0);
  await page.close();
});

test("a table is sorted by any column, both ways", async () => {
  const { page } = await open(study);
  const table = page.locator("figure", { hasText: "Every cohort, with" });
  const column = table.locator("th", { hasText: /^churn$/ });
  const values = () => table.locator("[data-path$='.churn']").evaluateAll((all) => all.map((e) => Number(e.dataset.value)));
  const up = study.cohorts.map((c) => c.churn.value).sort((a, b) => a - b);
  await column.locator("button").click();
  assert.deepEqual(await values(), up);
  assert.equal(await column.getAttribute("aria-sort"), "ascending");
  await column.locator("button").click();
  assert.deepEqual(await values(), [...up].reverse());
  // What is absent comes last, both ways.
  const compared = page.locator("figure.table", { hasText: "Two sides over the independent draws" });
  const p = compared.locator("th", { hasText: /^p$/ });
  const shown = () => compared.locator("[data-p$='.shift.p']").allTextContents();
  const known = study.hardware.filter((h) => typeof h.shift.p === "number").length;
  assert.ok(known > 1 && known < study.hardware.length);
  for (const sign of [1, -1]) {
    await p.locator("button").click();
    const all = await shown();
    assert.deepEqual(all.map((t) => t === "–"), all.map((_, i) => i >= known));
    const numbers = all.slice(0, known).map(Number);
    assert.deepEqual(numbers, [...numbers].sort((a, b) => sign * (a - b)));
  }
  await page.close();
});

test("controls are folded where all are identical, and open where one is not", async () => {
  const { page } = await open(study);
  assert.equal(await page.locator("section", { hasText: "Is it noise?" }).locator("details").count(), 0);
  await page.close();
  const value = structuredClone(study);
  for (const c of value.controls) c.verdict = "identical";
  const all = await open(value);
  const folded = all.page.locator("section", { hasText: "Is it noise?" }).locator("details");
  assert.match(await folded.locator("summary").textContent(), /3 of 3 control cohorts are bit-identical/);
  assert.equal(await folded.locator("tbody tr").count(), 3);
  await all.page.close();
});

test("headers of printed tables are repeated: what is positioned is not", async () => {
  const { page } = await open(study);
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await page.locator("th").evaluateAll((all) => [...new Set(all.map((th) => getComputedStyle(th).position))]), ["static"]);
  await page.close();
});

test("what is folded is printed", async () => {
  const { page } = await open(study);
  const folded = await page.locator("details:not([open])").count();
  assert.ok(folded > 2);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator("details:not([open])").count(), 0);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator("details:not([open])").count(), folded);
  await page.close();
});

test("without a script there are the findings", async () => {
  const { page } = await open(study, { script: false, drawn: "noscript" });
  assert.deepEqual(await page.locator("noscript li").allTextContents(), study.headlines);
  await page.close();
});

test("a link to a figure or a section leads there", async () => {
  const { page } = await open(study);
  const titles = await page.locator("section h2").allTextContents();
  assert.ok(titles.length > 10);
  assert.deepEqual(await page.locator("nav.contents a").allTextContents(), titles);
  const ids = await page.evaluate(() => [...document.querySelectorAll("[id]")].map((e) => e.id));
  assert.equal(new Set(ids).size, ids.length, "ids are single");
  for (const link of await page.locator("a[href^='#']").evaluateAll((all) => all.map((a) => a.getAttribute("href").slice(1)))) {
    assert.ok(ids.includes(link), link);
  }
  await page.close();
});
