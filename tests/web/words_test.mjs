// What the page says in words and tables: of each number what it is, of each choice what is left, and
// nothing that the study does not know. node words_test.mjs RENDER_PAGE STUDY.json
import assert from "node:assert/strict";
import test from "node:test";

import { distinct, fields, figureOf, open, saved, study } from "./open_page.mjs";

const sectionOf = (page, title) => page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) });
const textsOf = (table) => table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
const choose = (page, what, value) => page.locator(".filter label", { hasText: what }).locator("select").selectOption(`=${value}`);
const CLASSES = [...new Set(study.cohorts.map((c) => c.hardware))];

test("the header says what was trained, what each plan frees, who ended how, and every finding", async () => {
  const value = structuredClone(study);
  Object.assign(value.counts, { done: 21, diverged: 1, failed: 2, cancelled: 3, missing: 4, retried: 5 });
  value.sweep.plans[1].blocks = 3;
  value.headlines = Array.from({ length: 14 }, (_, i) => `Finding ${i + 1}.`);
  value.guidelines = ["Do this.", "And that."];
  const { page } = await open(value);
  assert.equal(await page.locator("header .facts").first().textContent(),
    "example-patterns, 120 test examples · 9 cohorts · 21 of 36 members done (1 diverged, 2 failed, 3 cancelled, 4 not finished, 5 retried) · seed 0");
  assert.deepEqual(await page.locator("header ol li").allTextContents(), value.headlines);
  assert.equal(await page.locator("header details summary").textContent(), "4 more findings");
  assert.equal(await page.locator("header details ol").getAttribute("start"), "11");
  assert.deepEqual(await page.locator("header ul.headlines li").allTextContents(), value.guidelines);
  assert.equal(await page.locator(".abstract").textContent(),
    "small_cnn on fashion-mnist-sample, 3 epochs of SGD with a learning rate of 0.05 and batches of 64: 36 trainings on 3 classes of hardware.");
  const chips = await page.locator(".chips li").allTextContents();
  assert.deepEqual(chips.slice(0, 2), ["control frees nothing; n = 4", "algo frees init, data_order, augment, dropout; n = 4 in each of 3 blocks"]);
  await page.close();
});

test("of a trainer of one's own nothing is said that its settings do not say", async () => {
  const value = structuredClone(study);
  value.sweep.settings = [{ path: "width", value: "8", changed: true }, { path: "train.epochs", value: "3", changed: true }];
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  assert.equal(await page.locator(".abstract").count(), 0);
  const rows = await textsOf(sectionOf(page, "What was trained").locator("figure").first());
  assert.deepEqual(rows.map(([path]) => path), ["width", "train.epochs", "data identity", "seed", "specification hash"]);
  // It is a sweep, not a table of runs.
  assert.equal(await page.locator("header button", { hasText: "sweep.yaml" }).count(), 1);
  assert.match(await page.locator("header").textContent(), /seed 0/);
  await page.close();

  value.sweep.settings = study.sweep.settings.filter((s) => s.path !== "augment.flip");
  const ours = await open(value);
  const known = await textsOf(sectionOf(ours.page, "What was trained").locator("figure").first());
  assert.ok(known.some((row) => row.join() === "augmentation,none"));
  await ours.page.close();
});

test("a point of a curve tells its n, and an SD only where there is one", async () => {
  const value = structuredClone(study);
  const curve = value.curves.find((c) => c.cell === 3 && c.metric === "test_top1");
  Object.assign(curve, { mean: curve.mean.map(() => 0.5), sd: curve.sd.map((_, i) => (i === 0 ? 0.25 : null)), n: curve.n.map((_, i) => 3 - i) });
  const { page, heard } = await open(value);
  const tips = await figureOf(page, "Each thin line is a member").locator("svg").first().locator("[data-tip]")
    .evaluateAll((all) => all.map((mark) => mark.getAttribute("data-tip")));
  assert.deepEqual(heard, []);
  assert.deepEqual(tips.filter((tip) => tip.startsWith("algo, cpu-intel-avx2,")), curve.epochs.map((epoch, i) =>
    `algo, cpu-intel-avx2, epoch ${epoch}\nmean 50.00 %${i === 0 ? ", SD 25.00 %" : ""}\nn = ${3 - i}`));
  await page.close();
});

test("a fact that some members did not tell is none that all have in common", async () => {
  const common = async (value) => {
    const { page } = await open(value);
    const section = sectionOf(page, "What ran");
    const table = section.locator("details");
    const found = { said: await table.locator("summary").textContent(), keys: (await textsOf(table)).map(([key]) => key),
      heads: await section.locator("figure th").allTextContents(),
      differing: new Map((await textsOf(section.locator("figure"))).map(([key, ...values]) => [key, values])) };
    await page.close();
    return found;
  };
  const value = structuredClone(study);
  value.environment[1].facts.find((f) => f.key === "versions.mkl").values.push("–");
  value.environment[1].members = 1;
  const [before, after] = [await common(study), await common(value)];
  assert.deepEqual(after.keys, before.keys.filter((key) => key !== "versions.mkl"));
  assert.equal(after.said, `${before.keys.length - 1} facts that every member has in common`);
  assert.deepEqual(after.differing.get("versions.mkl"), ["2024.2", "2024.2 | –", "2024.2"]);
  assert.deepEqual(after.heads, ["fact", ...value.environment.map((e, i) => `${e.hardware} (${i === 1 ? "1 member" : `${e.members} members`})`)]);
  assert.deepEqual(after.differing.get("in short"), value.environment.map((e) => e.summaries.join(" | ")));
});

test("contrasts show the p after the correction, and say what it covers", async () => {
  const value = structuredClone(study);
  value.contrasts.forEach((c, i) => c.figures.slice(0, 2).forEach((f, k) => Object.assign(f, { p: 0.001 * (i + 1), p_holm: 0.11 + 0.01 * i + 0.1 * k, shown: k === 1 })));
  value.contrasts.forEach((c, i) => Object.assign(c, { draws: 10 + i, under_trained: i === 1, stacks_differ: i === 2 }));
  const { page } = await open(value);
  const section = sectionOf(page, "Does it matter which?");
  const rows = await textsOf(section.locator("table"));
  assert.deepEqual(rows.map((row) => row.slice(0, 4)), value.contrasts.map((c, i) =>
    [`${c.subject}: ${c.b} − ${c.a}${["", " †", " (stacks differ)"][i] ?? ""}`, c.plan || "–", c.over, String(10 + i)]));
  assert.deepEqual(await section.locator("details li").allTextContents(), value.contrasts.map((c) => c.text));
  for (const [i, c] of value.contrasts.entries()) {
    for (const k of [0, 1]) {
      const cell = section.locator(`[data-p='contrasts.${i}.figures.${k}.p_holm']`);
      assert.equal(await cell.textContent(), `${Number(c.figures[k].p_holm.toFixed(2))}${k === 1 ? " *" : ""}`);
    }
  }
  const text = await section.textContent();
  assert.match(text, /covers every p of these contrasts and of those shifts; classes, groups and examples have corrections of their own/);
  assert.match(text, /after Holm over all contrasts and shifts of the study/);
  await page.close();
});

test("scores of ensembles stand in the column of their name", async () => {
  const value = structuredClone(study);
  distinct(value.ensembles);
  Object.assign(value.ensembles.cohorts[0], { left_out: 3, members: 5, under_trained: true });
  Object.assign(value.ensembles.cohorts.at(-1), { sizes: [], members: 9, note: "no logits were kept" });
  const { page } = await open(value);
  const section = sectionOf(page, "What does an ensemble buy?");
  assert.match(await section.locator(".lead").textContent(), / Of cells with many members the first 5 are looked at\.$/);
  assert.deepEqual(await section.locator("p.facts").allTextContents(), [`${value.ensembles.cohorts.at(-1).label}: no logits were kept.`]);
  const table = page.locator("table", { has: page.locator("[data-path^='ensembles.cohorts.']") });
  assert.deepEqual((await textsOf(table)).map((row) => row.slice(0, 2)), value.ensembles.cohorts.flatMap((of, i) =>
    of.sizes.map((scores) => [`${of.label}${i === 0 ? " (under-trained)" : ""}`, String(scores.size)])));
  const header = await table.locator("th").allTextContents();
  const columns = { "top-1": "accuracy", "log loss": "log_loss", Brier: "brier", "calibration error": "calibration" };
  const sizes = value.ensembles.cohorts.flatMap((of, i) => of.sizes.map((scores, k) => [`ensembles.cohorts.${i}.sizes.${k}`, scores]));
  for (const [row, [path, scores]] of sizes.entries()) {
    const cells = table.locator("tbody tr").nth(row).locator("td");
    for (const [name, field] of Object.entries(columns)) {
      const shown = cells.nth(header.indexOf(name)).locator("[data-path]");
      assert.equal(await shown.getAttribute("data-path"), `${path}.${field}`);
      assert.equal(await shown.getAttribute("data-value"), String(scores[field].value), name);
    }
  }
  await page.close();
});

test("groups: every rate stands in the column of its name, and who is hit worst is said", async () => {
  const value = structuredClone(study);
  const loud = value.cohorts.findIndex((c) => !c.all_fixed && c.per_group.length > 0);
  const rate = (share) => ({ ...structuredClone(study.cohorts[loud].churn), value: share, low: null, high: null });
  for (const c of value.cohorts) for (const g of c.per_group) Object.assign(g, { examples: 37, accuracy: rate(0.75), accuracy_sd: rate(0.0625), false_positive_rate: rate(0.125), false_negative_rate: rate(0.375), churn: rate(0.25) });
  value.worst_classes.text = "Shirts pay.";
  value.worst_groups = [{ column: "light", text: "So does the dark." }];
  const { page } = await open(value);
  const section = sectionOf(page, "Who pays?");
  assert.equal(await section.locator(".lead").textContent(), "Shirts pay.");
  assert.equal(await section.getByText("So does the dark.", { exact: true }).count(), 1);
  const table = page.locator("figure.table", { hasText: "Each group in each cohort" });
  const header = await table.locator("th").allTextContents();
  const [first] = await textsOf(table);
  const { column, name } = value.cohorts[loud].per_group[0];
  assert.deepEqual(first, [value.cohorts[loud].label, `${column}: ${name}`, "37", "75.00 %", "6.25 %", "12.50 %", "37.50 %", "25.00 %"]);
  assert.deepEqual(header, ["cohort", "group", "examples", "top-1", "SD", "FPR", "FNR", "churn"]);
  await page.close();
});

test("one run shows nothing of physical noise, two without a difference do", async () => {
  const value = structuredClone(study);
  value.physical.forEach((p, i) => Object.assign(p, { runs: i + 1, noise_seen: i === 2 }));
  const { page } = await open(value);
  const rows = await textsOf(page.locator("figure.table", { hasText: "Physical sources left free" }));
  assert.deepEqual(rows.map((row) => row.slice(1, 3)), [["not known", "1"], ["no noise seen", "2"], ["noise seen", "3"]]);
  await page.close();
});

test("comparisons count the pairs whose bits are the same", async () => {
  const value = structuredClone(study);
  value.hardware.forEach((h, i) => Object.assign(h, { pairs: 20, identical_pairs: i }));
  const { page } = await open(value);
  const table = page.locator("figure.table", { hasText: "Two sides over the independent draws" });
  const column = (await table.locator("th").allTextContents()).indexOf("same bits");
  assert.deepEqual((await textsOf(table)).map((row) => row[column]), value.hardware.map((_, i) => `${i}/20`));
  await page.close();
});

test("of a chosen class: its controls, and how trainings part on either side of it", async () => {
  const value = structuredClone(study);
  [["identical", 1], ["different", 2], ["unproved", 0]].forEach(([verdict, units], i) => Object.assign(value.controls[i], { verdict, units, members: 7 }));
  const { page } = await open(value);
  const said = [["✓ identical", "7 on 1 unit"], ["✗ different", "7 on 2 units"], ["? unproved", "7"]];
  assert.deepEqual(await textsOf(page.locator("figure.table", { hasText: "Control cohorts:" })), value.controls.map((c, i) => [c.label, ...said[i], c.text]));
  const short = (hardware) => hardware.replace("cpu-intel-", "");
  for (const hardware of CLASSES) {
    await choose(page, "hardware", hardware);
    const controls = await textsOf(page.locator("figure.table", { hasText: "Control cohorts:" }));
    assert.deepEqual(controls.map(([label]) => label), study.controls.filter((c) => c.label.endsWith(`, ${hardware}`)).map((c) => c.label));
    assert.equal(controls.length, 1);
    const csv = (await saved(page, figureOf(page, "Churn between the same draws"), "CSV")).bytes.toString();
    const [head, ...rows] = fields(csv);
    const settings = [...new Set(rows.map((row) => row[head.indexOf("setting")]))];
    assert.deepEqual(settings, study.hardware.filter((h) => [h.hardware_a, h.hardware_b].includes(hardware))
      .map((h) => `${h.plan}, ${short(h.hardware_a)} – ${short(h.hardware_b)}`), hardware);
  }
  await page.close();
});

/** The map without these members, as of a study that could not show them. */
function without(value, ids) {
  const map = value.heat_map;
  const kept = map.members.flatMap((id, i) => (ids.includes(id) ? [] : [i]));
  const of = (list) => kept.map((i) => list[i]);
  value.heat_map = { members: of(map.members), cells: of(map.cells), values: of(map.values).map(of), left_out: ids.length, note: `${ids.length} members are not shown.` };
}

test("the map of a choice has the squares of its members, and says how many of how many", async () => {
  const value = structuredClone(study);
  value.heat_map.values = value.heat_map.values.map((row, i) => row.map((_, j) => (i === j ? 0 : (Math.min(i, j) * 37 + Math.max(i, j)) / 2000)));
  without(value, ["s1c0r0", "s1c5r3"]);
  const map = value.heat_map;
  const { page } = await open(value);
  const figure = figureOf(page, "Churn between cohorts");
  const said = () => figure.locator("figcaption").textContent();
  assert.match(await said(), /34 of 36 members that are done\. 2 members are not shown\./);
  for (const hardware of CLASSES) {
    await choose(page, "hardware", hardware);
    const cells = value.cohorts.filter((c) => c.hardware === hardware).map((c) => c.cell);
    const kept = map.cells.flatMap((cell, i) => (cells.includes(cell) ? [i] : []));
    const count = kept.length < 12 ? `${kept.length} of 12` : "12";
    assert.match(await said(), new RegExp(`\\. ${count} members that are done\\.\\s+${kept.length < 12 ? "Who is left out" : "Only"}`), hardware);
    await figure.locator("button.toggle").click();
    const [, ...rows] = fields((await saved(page, figure, "CSV")).bytes.toString());
    assert.deepEqual(rows, kept.flatMap((i) => kept.map((j) => [map.members[i], map.members[j], i === j ? "" : String(100 * map.values[i][j])])));
  }
  await page.close();
});

test("the map of a choice that spans sets of examples says who is compared", async () => {
  const value = structuredClone(study);
  const { values } = value.heat_map;
  values[0][1] = values[1][0] = null;  // Of the first cell.
  const { page } = await open(value);
  const said = () => figureOf(page, "Churn between cohorts").locator("figcaption").textContent();
  for (const hardware of CLASSES) {
    await choose(page, "hardware", hardware);
    assert.equal(/inside each evaluation set only/.test(await said()), hardware === value.cohorts[0].hardware, hardware);
  }
  await page.close();
});

const captionOf = (page, words) => figureOf(page, words).first().locator("figcaption").textContent();

test("captions speak of intervals only where some are drawn", async () => {
  const value = structuredClone(study);
  const visit = (of) => {
    if (of === null || typeof of !== "object") return;
    if ("value" in of && "low" in of) Object.assign(of, { low: null, high: null });
    Object.values(of).forEach(visit);
  };
  for (const list of ["cohorts", "hardware", "contrasts", "ensembles"]) visit(value[list]);
  const drawn = ["top-1 of every member", "Churn between two hardware classes", "filled: shown after", "Churn within each class", "Log loss and Brier score against"];
  for (const [given, said] of [[study, true], [value, false]]) {
    const { page, heard } = await open(given);
    assert.deepEqual(heard, []);
    for (const words of drawn) {
      const caption = await captionOf(page, words);
      assert.equal(/interval/.test(caption), said, caption);
      assert.doesNotMatch(caption, said ? /undefined/ : /Student|95/);
    }
    await page.close();
  }
});

test("what only the hardware changes is said to be of free physical sources, too, where a plan frees them", async () => {
  const value = structuredClone(study);
  const words = /differ in their hardware \(and in physical sources, where the plan frees them\)/;
  const { page } = await open(value);
  assert.match(await captionOf(page, "top-1 of every member"), words);
  await page.close();
  for (const h of value.hardware) h.kernels_fixed = true;
  const fixed = await open(value);
  assert.match(await captionOf(fixed.page, "top-1 of every member"), /differ in their hardware, with Student's t over draws/);
  await fixed.page.close();
});

test("where the stacks of every two classes differ as well, Figure 1 has no panel of them and says so", async () => {
  const value = structuredClone(study);
  for (const h of value.hardware) h.mixes_stacks = true;
  const { page } = await open(value);
  const figure = figureOf(page, "top-1 of every member");
  assert.equal(await figure.locator(".panel").count(), 3);
  assert.match(await captionOf(page, "top-1 of every member"), / Without pairs of classes whose stacks differ as well\./);
  await page.close();
});

test("a pair whose stacks differ as well is named with both, wherever it stands", async () => {
  const value = structuredClone(study);
  const [first] = value.hardware;
  Object.assign(first, { mixes_stacks: true, stack_a: "ours", stack_b: "theirs", setting: "control, ours against theirs" });
  for (const c of value.cohorts) c.stack = first.cells_b.includes(c.cell) ? "theirs" : "ours";
  const { page } = await open(value);
  const table = page.locator("figure.table", { hasText: "Two sides over the independent draws" });
  assert.equal((await textsOf(table))[0][0], "control, ours against theirs, avx2 – avx512");
  const [head, ...rows] = fields((await saved(page, figureOf(page, "Churn between the same draws"), "CSV")).bytes.toString());
  assert.equal(rows[0][head.indexOf("setting")], "control, ours against theirs, avx2 – avx512");
  await page.close();
});

test("comparisons without any churn have their table and no figure", async () => {
  const value = structuredClone(study);
  for (const h of value.hardware) {
    for (const estimate of [h.churn_paired, h.churn_unpaired, h.churn_within_a, h.churn_within_b]) Object.assign(estimate, { value: null, low: null, high: null });
  }
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  assert.equal(await figureOf(page, "Churn between two hardware classes").count(), 0);
  assert.equal(await page.locator("figure.table", { hasText: "Two sides over the independent draws" }).count(), 1);
  await page.close();
});

test("decisions are not called examples", async () => {
  const value = structuredClone(study);
  value.evaluation.attributes = 10;
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  assert.match(await captionOf(page, "top-1 of every member"), /churn, the share of decisions on which/);
  const [example] = value.divergent.examples;
  const flips = sectionOf(page, "The decisions that flip");
  assert.match(await flips.locator("figcaption").first().textContent(), /The most divergent decisions: true label/);
  assert.match(await flips.locator(".card").first().textContent(), new RegExp(` · decision #${example.example}`));
  assert.equal(await flips.locator("canvas").first().getAttribute("aria-label"), `test decision ${example.example}, label ${example.label_name}`);
  const sensitive = sectionOf(page, "Which decisions does the hardware change?");
  assert.equal(await sensitive.locator("th").first().textContent(), "decision");
  const header = async (figure) => fields((await saved(page, figure, "CSV")).bytes.toString())[0];
  assert.ok((await header(flips.locator("figure:not(.table)"))).includes("decision"));
  assert.ok((await header(figureOf(page, "Churn within each class"))).includes("decisions"));
  await page.close();
});

test("stacks have a section of their own: what changes with them, by their names", async () => {
  const value = structuredClone(study);
  value.stacks = structuredClone(value.hardware.filter((h) => h.plan === "algo")).map((h, i) =>
    ({ ...h, hardware_b: h.hardware_a, stack_a: "ours", stack_b: `theirs-${i}`, setting: `algo, ${h.hardware_a}`, pairs: 20, identical_pairs: i }));
  distinct(value.stacks);
  value.stack_tests = [{ ...structuredClone(value.hardware_tests[0]), text: "Of all stacks." }];
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  const section = sectionOf(page, "What does the framework change?");
  assert.match(await section.locator(".lead").textContent(), /^A stack is a trainer with its framework\./);
  assert.equal(await section.getByText("Of all stacks.", { exact: true }).count(), 1);
  const table = section.locator("figure.table");
  assert.deepEqual((await textsOf(table)).map((row) => [row[0], row[2]]), value.stacks.map((h, i) => [`algo, ${h.hardware_a}, ours – theirs-${i}`, `${i}/20`]));
  for (const [i, h] of value.stacks.entries()) {
    for (const name of ["churn_paired", "churn_unpaired", "churn_excess", "accuracy_difference"]) {
      assert.equal(await table.locator(`[data-path='stacks.${i}.${name}']`).getAttribute("data-value"), String(h[name].value));
    }
  }
  const [head, ...rows] = fields((await saved(page, section.locator("figure", { hasText: "Churn between two stacks" }), "CSV")).bytes.toString());
  assert.deepEqual([...new Set(rows.map((row) => row[head.indexOf("comparison")]))], value.stacks.map((h, i) => `algo, ${h.hardware_a}, ours – theirs-${i}`));
  await page.close();
});

test("runs of others have no seed and no sweep file, and their table is theirs", async () => {
  const value = structuredClone(study);
  Object.assign(value.sweep, { settings: [], axes: [], file: "run,top1\n" });
  const { page, heard } = await open(value);
  assert.deepEqual(heard, []);
  assert.doesNotMatch(await page.locator("main").textContent(), /seed 0/);
  assert.equal((await saved(page, page.locator("header"), "runs.csv")).bytes.toString(), "run,top1\n");
  const section = sectionOf(page, "What was trained");
  assert.deepEqual((await textsOf(section.locator("figure").first())).map(([path]) => path), ["data identity", "specification hash"]);
  assert.equal(await section.locator("details summary").textContent(), "The table of runs");
  await page.close();
});
