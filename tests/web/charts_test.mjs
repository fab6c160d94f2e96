// What the charts show is what the JSON says: every dot, interval, band, line, square, strip and
// label of the page read back from its place. node charts_test.mjs RENDER_PAGE STUDY.json
import assert from "node:assert/strict";
import test from "node:test";

import { frameOf, nearest, read, scaleOf } from "./geometry.mjs";
import { distinct, fields, figureOf, open, saved, study, wide } from "./open_page.mjs";

/** Colour of each hardware class, as the legend beside the drawing says. */
async function legendOf(figure) {
  return new Map(await figure.locator(".legend span").evaluateAll((entries) => entries.map((entry) => {
    const probe = entry.querySelector("i");
    return [entry.textContent, probe.style.background];
  })));
}

/** "rgb(0, 114, 178)" as "#0072b2". */
function hex(colour) {
  const parts = colour.match(/\d+/g);
  return colour.startsWith("#") ? colour : `#${parts.slice(0, 3).map((p) => Number(p).toString(16).padStart(2, "0")).join("")}`;
}

function nameOf(legend, colour) {
  for (const [name, shown] of legend) if (hex(shown) === hex(colour)) return name;
  return assert.fail(`no legend for ${colour}`);
}

/** Matches what is drawn with what should be, one to one, by key, and compares the numbers. */
function same(drawn, expected, worth, what) {
  const keys = (list) => list.map((d) => d.key).sort();
  assert.deepEqual(keys(drawn), keys(expected), what);
  for (const want of expected) {
    const have = drawn.find((d) => d.key === want.key);
    want.values.forEach((value, i) => assert.ok(Math.abs(have.values[i] - value) <= worth,
      `${what}, ${want.key}: shows ${have.values.join(", ")}, JSON has ${want.values.join(", ")}`));
  }
}

/** Takes the interval of an estimate, as one of too few draws has none. */
function withoutInterval(estimate) {
  Object.assign(estimate, { low: null, high: null });
}

const bounded = ({ estimate }) => estimate.low !== null;

/** The CSV of a figure has no bounds of those whose estimate has no interval: one row, where `columns` say so, and of no other. */
async function sameGaps(page, figure, columns) {
  const [head, ...rows] = fields((await saved(page, figure, "CSV")).bytes.toString());
  const bounds = head.flatMap((name, i) => (/^(low|high)/.test(name) ? [i] : []));
  assert.equal(bounds.length, 2);
  const gaps = rows.filter((row) => bounds.some((i) => row[i] === ""));
  assert.equal(gaps.length, 1);
  assert.deepEqual(bounds.map((i) => gaps[0][i]), ["", ""]);
  for (const [name, text] of Object.entries(columns)) assert.equal(gaps[0][head.indexOf(name)], text, name);
}

const PIXEL = 0.6;  // Plot rounds to hundredths; an axis' ends to one.

/** Matches lines or areas, in facets over epochs, with `{ plan, hardware, points }` that should be there, one to one. */
function samePaths(shape, y, paths, expected, hardwareOf, what) {
  const places = (path) => {
    const frame = shape.frames.find((f) => path.points[0][0] >= f.x1 - 1 && path.points[0][0] <= f.x2 + 1);
    const x = scaleOf(shape.ticks.x.filter((t) => t.x >= frame.x1 - 1 && t.x <= frame.x2 + 1), "x");
    return { facet: nearest(shape.facets.fx, "x", (frame.x1 + frame.x2) / 2),
      points: path.points.map(([px, py]) => [x.invert(px), y.invert(py)]), worth: x.worth };
  };
  const close = (have, want, worth) => have.length === want.length &&
    have.every(([px, py], k) => Math.abs(px - want[k][0]) <= PIXEL * worth && Math.abs(py - want[k][1]) <= PIXEL * y.worth);
  const left = paths.map((path) => ({ ...places(path), hardware: hardwareOf(path) }));
  assert.equal(left.length, expected.length, what);
  for (const want of expected) {
    const found = left.findIndex((have) => have.facet === want.plan && have.hardware === want.hardware && close(have.points, want.points, have.worth));
    assert.ok(found >= 0, `${what}: none of ${want.plan}, ${want.hardware} through ${want.points.join("; ")}`);
    left.splice(found, 1);
  }
}

test("Figure 1: every member, spread, churn and what the hardware changes stand where the JSON says", async () => {
  const value = structuredClone(study);
  distinct(value.cohorts);
  distinct(value.hardware);
  value.cohorts[1].churn.low = null;
  value.members.forEach((m, i) => { m.final_metrics.top1 = 0.5 + 0.4 * (((i * 619) % 997) / 997); });
  value.members[5].state = "diverged";
  const { page } = await open(value);
  const figure = figureOf(page, "top-1 of every member");
  const legend = await legendOf(figure);
  const panel = async (i) => {
    const shape = await read(figure.locator("svg").nth(i));
    const x = scaleOf(shape.ticks.x, "x");
    const key = (mark) => `${nearest(shape.facets.fy, "y", mark.y ?? mark.y1)} ${nameOf(legend, mark.colour)}`;
    return { shape, x, key, worth: PIXEL * x.worth };
  };
  const cohort = new Map(value.cohorts.map((c) => [c.cell, c]));
  const name = (c) => `${c.plan} ${c.hardware}`;

  const a = await panel(0);
  same(a.shape.tickMarks.map((t) => ({ key: a.key(t), values: [a.x.invert(t.x)] })),
    value.cohorts.map((c) => ({ key: name(c), values: [100 * c.accuracy.value] })), a.worth, "means");
  const drawn = a.shape.dots.map((d) => ({ key: a.key({ y: d.y, colour: d.stroke }), value: a.x.invert(d.x) }));
  const members = value.members.filter((m) => m.state === "done");
  assert.equal(drawn.length, members.length);
  for (const m of members) {
    const found = drawn.findIndex((d) => d.key === name(cohort.get(m.cell)) && Math.abs(d.value - 100 * m.final_metrics.top1) <= a.worth);
    assert.ok(found >= 0, m.id);
    drawn.splice(found, 1);
  }

  for (const [i, field] of [[1, "accuracy_sd"], [2, "churn"]]) {
    const { shape, x, key, worth } = await panel(i);
    const want = value.cohorts.map((c) => ({ key: name(c), estimate: c[field] }));
    same(shape.dots.map((d) => ({ key: key(d), values: [x.invert(d.x)] })),
      want.map(({ key, estimate }) => ({ key, values: [100 * estimate.value] })), worth, field);
    same(shape.rules.map((r) => ({ key: key(r), values: [x.invert(r.x1), x.invert(r.x2)] })),
      want.filter(({ estimate }) => estimate.low !== null).map(({ key, estimate }) => ({ key, values: [100 * estimate.low, 100 * estimate.high] })),
      worth, `${field}, intervals`);
  }

  const d = await panel(3);
  const pairs = d.shape.ticks.y.map((t) => ({ y: t.y, text: t.text }));
  const row = (y) => `${nearest(d.shape.facets.fy, "y", y)} ${nearest(pairs, "y", y)}`;
  const short = (side) => side.replace("cpu-intel-", "");
  const want = value.hardware.map((h) => ({ key: `${h.plan} ${short(h.hardware_a)} – ${short(h.hardware_b)}`, h }));
  same(d.shape.dots.map((dot) => ({ key: row(dot.y), values: [d.x.invert(dot.x)] })),
    want.map(({ key, h }) => ({ key, values: [100 * h.churn_paired.value] })), d.worth, "hardware");
  same(d.shape.rules.map((r) => ({ key: row(r.y1), values: [d.x.invert(r.x1), d.x.invert(r.x2)] })),
    want.map(({ key, h }) => ({ key, values: [100 * h.churn_paired.low, 100 * h.churn_paired.high] })), d.worth, "hardware, intervals");
  same(d.shape.tickMarks.map((t) => ({ key: row(t.y), values: [d.x.invert(t.x)] })),
    want.map(({ key, h }) => ({ key, values: [50 * (h.churn_within_a.value + h.churn_within_b.value)] })), d.worth, "noise floor");
  await page.close();
});

test("Figure 1: a setting of which nothing is known has its frame in every panel of cohorts", async () => {
  const value = structuredClone(study);
  for (const c of value.cohorts.filter(({ plan }) => plan === "control")) {
    for (const estimate of [c.accuracy, c.accuracy_sd, c.churn]) Object.assign(estimate, { value: null, low: null, high: null });
    for (const m of value.members.filter(({ cell }) => cell === c.cell)) m.final_metrics.top1 = null;
  }
  const { page } = await open(value);
  const settings = new Set(value.cohorts.map((c) => c.plan)).size;
  for (const i of [0, 1, 2]) {
    const { frames } = await read(figureOf(page, "top-1 of every member").locator("svg").nth(i));
    assert.equal(frames.length, settings, `panel ${"abc"[i]}`);
  }
  await page.close();
});

test("against an axis: points, intervals and lines stand where the JSON says", async () => {
  const value = wide();
  distinct(value.cohorts);
  for (const c of value.cohorts) c.under_trained = c.axes[0].value === "0.01";
  const gap = value.cohorts[7];
  withoutInterval(gap.any_disagreement);
  const { page } = await open(value);
  const figure = figureOf(page, "not all n members agree");
  const legend = await legendOf(figure);
  const shape = await read(figure.locator("svg").first());
  const y = scaleOf(shape.ticks.y.filter((t) => t.y >= shape.frames[0].y1 - 1 && t.y <= shape.frames[0].y2 + 1), "y");
  const top = shape.frames[0].y1;
  // Every row has the scale of the first, further down.
  const place = (px, py) => {
    const frame = frameOf(shape.frames, px, py);
    const first = shape.ticks.x.filter((t) => t.x >= frame.x1 - 1 && t.x <= frame.x2 + 1);
    const x = scaleOf(first, "x");
    return { row: `${nearest(shape.facets.fx, "x", (frame.x1 + frame.x2) / 2)} ${nearest(shape.facets.fy, "y", (frame.y1 + frame.y2) / 2)}`,
      x: x.invert(px), y: y.invert(py - frame.y1 + top), worth: x.worth };
  };
  const besides = (c) => `width=${c.axes[1].value}\nblock ${c.block}`;
  const key = (c) => `${c.plan} ${besides(c)} ${c.hardware} ${c.axes[0].value}`;
  const rates = ["0.01", "0.03", "0.1"];
  const rateAt = (at) => rates.find((r) => Math.abs(Number(r) - at.x) <= PIXEL * at.worth) ?? `${at.x}`;
  const drawn = (mark, px, py, colour, values) => {
    const at = place(px, py);
    return { key: `${at.row} ${nameOf(legend, colour)} ${rateAt(at)}`, values: values(at) };
  };
  const dots = shape.dots.map((d) => drawn(d, d.x, d.y, d.stroke, (at) => [at.y]));
  same(dots, value.cohorts.map((c) => ({ key: key(c), values: [100 * c.any_disagreement.value] })), PIXEL * y.worth, "points");
  const hollow = shape.dots.filter((d) => d.colour === "var(--paper)").map((d) => rateAt(place(d.x, d.y)));
  assert.deepEqual([...new Set(hollow)], ["0.01"]);
  assert.equal(hollow.length, value.cohorts.length / 3);
  same(shape.rules.map((r) => drawn(r, r.x1, (r.y1 + r.y2) / 2, r.colour, () => [r.y1, r.y2].map((py) => {
    const frame = frameOf(shape.frames, r.x1, (r.y1 + r.y2) / 2);
    return y.invert(py - frame.y1 + top);
  }).sort((a, b) => a - b))),
    value.cohorts.filter((c) => c !== gap).map((c) => ({ key: key(c), values: [100 * c.any_disagreement.low, 100 * c.any_disagreement.high] })), PIXEL * y.worth, "intervals");
  await sameGaps(page, figure, { "train.optimizer.learning_rate": gap.axes[0].value, plan: gap.plan, hardware: gap.hardware, besides: besides(gap).replace("\n", ", ") });
  const corners = shape.lines.flatMap((line) => line.points.map(([px, py]) => drawn(line, px, py, line.stroke, (at) => [at.y])));
  same(corners, value.cohorts.map((c) => ({ key: key(c), values: [100 * c.any_disagreement.value] })), PIXEL * y.worth, "lines");
  await page.close();
});

test("against an axis of several decades: numbers as they were typed, points where the JSON says", async () => {
  const value = wide();
  const typed = { "0.01": "0.0003", "0.03": "0.01", "0.1": "1" };
  for (const c of value.cohorts) c.axes[0].value = typed[c.axes[0].value];
  const { page } = await open(value);
  const shape = await read(figureOf(page, "not all n members agree").locator("svg").first());
  const frame = shape.frames[0];
  const ticks = shape.ticks.x.filter((t) => t.text !== "" && t.x >= frame.x1 - 1 && t.x <= frame.x2 + 1);
  assert.deepEqual(ticks.map((t) => t.text).sort(), ["0.0003", "0.01", "1"], "at the values that were tried, no unit prefixes");
  const x = scaleOf(ticks, "x", true);
  const found = new Set(shape.dots.filter((d) => d.x >= frame.x1 - 1 && d.x <= frame.x2 + 1).map((d) => x.invert(d.x).toPrecision(1)));
  assert.deepEqual([...found].map(Number).sort(), [0.0003, 0.01, 1]);
  await page.close();
});

test("hardware: the four kinds of churn stand where the JSON says, each in its colour", async () => {
  const value = structuredClone(study);
  distinct(value.hardware);
  withoutInterval(value.hardware[4].churn_paired);
  const { page } = await open(value);
  const figure = figureOf(page, "Churn between two hardware classes");
  const legend = await legendOf(figure);
  const shape = await read(figure.locator("svg").first());
  const x = scaleOf(shape.ticks.x, "x");
  const group = (h) => `${h.setting}, ${h.hardware_a.replace("cpu-intel-", "")} – ${h.hardware_b.replace("cpu-intel-", "")}`;
  const kinds = { "within A": "churn_within_a", "within B": "churn_within_b", "across, same replicate": "churn_paired", "across, other replicates": "churn_unpaired" };
  const want = value.hardware.flatMap((h) => Object.entries(kinds).map(([kind, name]) => ({ key: `${group(h)} ${kind}`, estimate: h[name] })))
    .filter(({ estimate }) => estimate.value !== null);
  const key = (y, colour) => `${nearest(shape.facets.fy, "y", y)} ${nameOf(legend, colour)}`;
  same(shape.dots.map((d) => ({ key: key(d.y, d.colour), values: [x.invert(d.x)] })),
    want.map(({ key, estimate }) => ({ key, values: [100 * estimate.value] })), PIXEL * x.worth, "dots");
  same(shape.rules.map((r) => ({ key: key(r.y1, r.colour), values: [x.invert(r.x1), x.invert(r.x2)] })),
    want.filter(bounded).map(({ key, estimate }) => ({ key, values: [100 * estimate.low, 100 * estimate.high] })), PIXEL * x.worth, "intervals");
  await sameGaps(page, figure, { comparison: group(value.hardware[4]), kind: "across, same replicate" });
  // In each row the kinds stand in the order of the legend.
  for (const h of value.hardware) {
    const row = shape.dots.filter((d) => nearest(shape.facets.fy, "y", d.y) === group(h)).sort((a, b) => a.y - b.y);
    assert.deepEqual(row.map((d) => nameOf(legend, d.colour)), [...legend.keys()]);
  }
  await page.close();
});

test("contrasts: differences and intervals stand where the JSON says, filled where they are shown", async () => {
  const value = structuredClone(study);
  distinct(value.contrasts);
  for (const [i, contrast] of value.contrasts.entries()) for (const [k, f] of contrast.figures.entries()) f.shown = (i + k) % 2 === 0;
  assert.ok(value.contrasts.length > 1);
  withoutInterval(value.contrasts[1].figures.find((f) => f.figure === "accuracy").estimate);
  const { page } = await open(value);
  const figure = figureOf(page, "B minus A with 95 % intervals");
  const legend = await legendOf(figure);
  const row = (c) => [`${c.subject}: ${c.b} − ${c.a}`, c.plan, c.over].filter((part) => part !== "").join(", ");
  for (const [k, name] of ["churn", "accuracy"].entries()) {
    const shape = await read(figure.locator("svg").nth(k));
    const x = scaleOf(shape.ticks.x, "x");
    const at = (y) => nearest(shape.ticks.y, "y", y);
    const shown = (colour) => nameOf(legend, colour).startsWith("shown");
    const want = value.contrasts.map((c) => ({ row: row(c), figure: c.figures.find((f) => f.figure === name) }));
    same(shape.dots.map((d) => ({ key: `${at(d.y)} ${shown(d.stroke)} ${d.colour === "white"}`, values: [x.invert(d.x)] })),
      want.map((w) => ({ key: `${w.row} ${w.figure.shown} ${!w.figure.shown}`, values: [100 * w.figure.estimate.value] })), PIXEL * x.worth, name);
    same(shape.rules.filter((r) => r.x1 !== r.x2).map((r) => ({ key: `${at(r.y1)} ${shown(r.colour)}`, values: [x.invert(r.x1), x.invert(r.x2)] })),
      want.filter((w) => bounded(w.figure)).map((w) => ({ key: `${w.row} ${w.figure.shown}`, values: [100 * w.figure.estimate.low, 100 * w.figure.estimate.high] })), PIXEL * x.worth, `${name}, intervals`);
  }
  await sameGaps(page, figure, { figure: "accuracy", contrast: row(value.contrasts[1]) });
  await page.close();
});

test("where it comes from: shares of each source stand where the JSON says", async () => {
  const value = structuredClone(study);
  const estimate = structuredClone(study.cohorts[3].churn);
  const share = (kind, ...sources) => ({ kind, sources, share: structuredClone(estimate) });
  value.decompositions = ["cpu-a", "cpu-b"].map((setting) => ({ figure: "churn", setting, plans: ["cube"], factors: ["init", "data_order + augment"],
    members: 8, blocks: 2, under_trained: false, whole: structuredClone(estimate), text: `Of the churn on ${setting}.`,
    shares: [share("first_order", "init"), share("total", "init"), share("first_order", "data_order + augment"), share("total", "data_order + augment"),
      share("interaction", "init", "data_order + augment"), share("additive")] }));
  value.decompositions[1].under_trained = true;
  distinct(value.decompositions);
  value.decompositions[0].shares[1].share.value = null;
  withoutInterval(value.decompositions[1].shares[0].share);
  const { page } = await open(value);
  const figure = figureOf(page, "Shares of each source");
  const legend = await legendOf(figure);
  const kinds = { first_order: "alone", total: "with all it acts through" };
  for (const [i, of] of value.decompositions.entries()) {
    const shape = await read(figure.locator("svg").nth(i));
    const x = scaleOf(shape.ticks.x, "x");
    const key = (mark) => `${nearest(shape.facets.fy, "y", mark.y ?? mark.y1)} ${nameOf(legend, mark.colour)}`;
    const want = of.shares.filter((s) => kinds[s.kind] && s.share.value !== null).map((s) => ({ key: `${s.sources[0]} ${kinds[s.kind]}`, estimate: s.share }));
    same(shape.dots.map((d) => ({ key: key(d), values: [x.invert(d.x)] })), want.map((w) => ({ key: w.key, values: [100 * w.estimate.value] })), PIXEL * x.worth, of.setting);
    same(shape.rules.filter((r) => r.x1 !== r.x2).map((r) => ({ key: key(r), values: [x.invert(r.x1), x.invert(r.x2)] })),
      want.filter(bounded).map((w) => ({ key: w.key, values: [100 * w.estimate.low, 100 * w.estimate.high] })), PIXEL * x.worth, `${of.setting}, intervals`);
  }
  await sameGaps(page, figure, { setting: "cpu-b", source: "init", share: "alone" });
  const rows = await page.locator("figure.table", { hasText: "Shares of the whole" }).locator("tbody tr").evaluateAll((trs) => trs.map((tr) => [...tr.cells].slice(0, 3).map((td) => td.textContent)));
  assert.deepEqual(rows, ["churn, cpu-a", "churn, cpu-b (under-trained)"].flatMap((of) => [["first order", "init"], ["total", "init"],
    ["first order", "data_order + augment"], ["total", "data_order + augment"], ["interaction", "init x data_order + augment"], ["additive", "all sources"]].map((row) => [of, ...row])));
  assert.match(await figure.locator("figcaption").textContent(), /intervals, where enough draws give one\./);
  assert.equal(await page.locator("[data-path='decompositions.0.shares.4.share']").count(), 1);
  await page.close();
  // Of nothing but what is not drawn there is the table, and no figure.
  for (const of of value.decompositions) of.figure = "accuracy";
  const { page: other } = await open(value);
  assert.equal(await figureOf(other, "Shares of each source").count(), 0);
  assert.equal(await other.locator("figure.table [data-path='decompositions.0.shares.4.share']").count(), 1);
  await other.close();
});

test("ensembles: scores by size stand where the JSON says, in the colour of their hardware", async () => {
  const value = structuredClone(study);
  const scores = (size, of) => ({ ...structuredClone(of.sizes[0]), size });
  value.ensembles.cohorts = value.ensembles.cohorts.slice(0, 3);
  value.ensembles.cohorts.forEach((of) => { of.sizes = [1, 2, 4].map((size) => scores(size, of)); of.note = ""; });
  distinct(value.ensembles);
  value.ensembles.cohorts[1].sizes[2].brier.value = null;
  withoutInterval(value.ensembles.cohorts[0].sizes[1].log_loss);
  value.ensembles.cohorts[2].under_trained = true;  // In the table alone.
  const { page } = await open(value);
  const figure = figureOf(page, "Log loss and Brier score");
  const legend = await legendOf(figure);
  const cohort = new Map(value.cohorts.map((c) => [c.cell, c]));
  for (const [i, score] of ["log_loss", "brier"].entries()) {
    const shape = await read(figure.locator("svg").nth(i));
    const y = scaleOf(shape.ticks.y, "y");
    const sizes = new Map(shape.ticks.x.map((t) => [t.text, t.x]));
    const key = (mark) => `${[...sizes].reduce((best, [text, x]) => (Math.abs(x - (mark.x ?? mark.x1)) < Math.abs(sizes.get(best) - (mark.x ?? mark.x1)) ? text : best), "1")} ${nameOf(legend, mark.colour)}`;
    const want = value.ensembles.cohorts.filter((of) => !of.under_trained).flatMap((of) => of.sizes.filter((s) => s[score].value !== null)
      .map((s) => ({ key: `${s.size} ${cohort.get(of.cell).hardware}`, estimate: s[score] })));
    assert.ok(want.length >= 5, "there is something to see");
    same(shape.dots.map((d) => ({ key: key(d), values: [y.invert(d.y)] })), want.map((w) => ({ key: w.key, values: [w.estimate.value] })), PIXEL * y.worth, score);
    same(shape.rules.filter((r) => r.y1 !== r.y2).map((r) => ({ key: key(r), values: [y.invert(Math.max(r.y1, r.y2)), y.invert(Math.min(r.y1, r.y2))] })),
      want.filter(bounded).map((w) => ({ key: w.key, values: [w.estimate.low, w.estimate.high] })), PIXEL * y.worth, `${score}, intervals`);
  }
  await sameGaps(page, figure, { score: "log_loss", cell: value.ensembles.cohorts[0].label, size: "2" });
  assert.equal(await page.locator("[data-path='ensembles.cohorts.2.sizes.1.accuracy']").count(), 1);
  await page.close();
});

const METRICS = { test_top1: 100, test_top5: 100, test_loss: 1, train_loss: 1 };

test("curves: members, means and bands of one standard deviation stand where the JSON says", async () => {
  const value = structuredClone(study);
  for (const [k, curve] of value.curves.entries()) {
    curve.sd = curve.sd.map((sd, i) => (sd === null ? null : (curve.mean[i] ?? 0) * (0.05 + 0.01 * k)));
  }
  value.curves[0].members[0].values[0] = "nan";
  for (const curve of value.curves.filter((c) => c.cell === 4)) curve.sd = curve.sd.map(() => null);  // Members share draws.
  const { page } = await open(value);
  const figure = figureOf(page, "Each thin line is a member");
  const legend = await legendOf(figure);
  const cohort = new Map(value.cohorts.map((c) => [c.cell, c]));
  for (const [i, [metric, factor]] of Object.entries(METRICS).entries()) {
    const shape = await read(figure.locator("svg").nth(i));
    const y = scaleOf(shape.ticks.y, "y");
    const compare = (paths, expected, what) => samePaths(shape, y, paths, expected,
      (path) => nameOf(legend, path.stroke && path.stroke !== "none" ? path.stroke : path.fill), `${metric}: ${what}`);
    const curves = value.curves.filter((c) => c.metric === metric).map((c) => ({ ...c, ...{ plan: cohort.get(c.cell).plan, hardware: cohort.get(c.cell).hardware } }));
    const members = curves.flatMap((c) => c.members.map((m) => ({ plan: c.plan, hardware: c.hardware,
      points: m.values.flatMap((v, k) => (typeof v === "number" ? [[c.epochs[k], v * factor]] : [])) })));
    const means = curves.map((c) => ({ plan: c.plan, hardware: c.hardware, points: c.mean.map((v, k) => [c.epochs[k], v * factor]) }));
    const bands = curves.filter((c) => c.cell !== 4).map((c) => ({ plan: c.plan, hardware: c.hardware, points: [
      ...c.mean.map((v, k) => [c.epochs[k], (v + c.sd[k]) * factor]),
      ...c.mean.map((v, k) => [c.epochs[k], (v - c.sd[k]) * factor]).reverse()] }));
    compare(shape.lines.filter((l) => l.width < 1), members, "member");
    compare(shape.lines.filter((l) => l.width > 1), means, "mean");
    compare(shape.areas, bands, "band");
  }
  const csv = fields((await saved(page, figure, "CSV")).bytes.toString());
  assert.deepEqual(csv, [["metric", "setting", "hardware", "member", "epoch", "value"], ...value.curves.flatMap((c) => c.members.flatMap((m) => m.values.map((v, k) =>
    [c.metric, cohort.get(c.cell).plan, cohort.get(c.cell).hardware, m.id, String(c.epochs[k]), String(v ?? "")])))]);
  await page.close();
});

test("how trainings part: churn, distance and their bands stand where the JSON says, inside cohorts and between two sides", async () => {
  const value = structuredClone(study);
  const cohort = new Map(value.cohorts.map((c) => [c.cell, c]));
  for (const [k, t] of value.trajectories.entries()) {
    for (const [field, size] of [["churn", 1], ["l2_normalised", 7]]) {
      for (const [i, estimate] of t[field].entries()) {
        estimate.value = size * (0.02 + 0.003 * k + 0.05 * i);
        estimate.low = estimate.value - 0.011 * size;
        estimate.high = estimate.value + 0.013 * size;
      }
    }
  }
  Object.assign(value.trajectories[0].l2_normalised[0], { value: null, low: null, high: null });  // Not kept.
  Object.assign(value.trajectories[1].churn[2], { low: null, high: null });  // All are equally far apart.
  const { page } = await open(value);
  const short = (hardware) => hardware.replace("cpu-intel-", "");
  const inside = value.trajectories.filter((t) => t.factor === null).map((t) => (
    { plan: cohort.get(t.cells[0]).plan, hardware: cohort.get(t.cells[0]).hardware, t }));
  const pairs = value.trajectories.filter((t) => t.factor !== null).map((t) => (
    { plan: `${cohort.get(t.cells[0]).plan}\n${t.cells.map((cell) => short(cohort.get(cell).hardware)).join(" – ")}`, hardware: "", t }));
  // Six of the nine pairs, of every plan the first two.
  const across = ["control", "algo", "impl"].flatMap((plan) => pairs.filter((p) => p.plan.startsWith(plan)).slice(0, 2));
  assert.ok(inside.length > 3 && across.length > 3);
  for (const [words, field, wanted] of [["Churn of two members of a cohort at each evaluation", "churn", inside], ["Churn between the same draws", "churn", across],
    ["Distance between the weights of two members", "l2_normalised", inside], ["Distance between the weights of the same draws", "l2_normalised", across]]) {
    const figure = figureOf(page, words);
    const legend = wanted === inside ? await legendOf(figure) : null;
    const shape = await read(figure.locator("svg").first());
    const y = scaleOf(shape.ticks.y, "y");
    const hardwareOf = (path) => (legend ? nameOf(legend, path.stroke && path.stroke !== "none" ? path.stroke : path.fill) : "");
    const scale = field === "churn" ? 100 : 1;
    const through = (t, bound) => t[field].flatMap((e, k) => (e[bound] === null ? [] : [[t.epochs[k], scale * e[bound]]]));
    const places = (numbers) => wanted.map(({ t, ...place }) => ({ ...place, points: numbers(t) }));
    samePaths(shape, y, shape.lines.filter((l) => l.width > 1), places((t) => through(t, "value")), hardwareOf, words);
    samePaths(shape, y, shape.areas, places((t) => [...through(t, "high"), ...through(t, "low").reverse()]), hardwareOf, `${words}, band`);
    if (wanted !== inside) continue;
    const [head, ...rows] = fields((await saved(page, figure, "CSV")).bytes.toString());
    const unit = field === "churn" ? "_percent" : "";
    assert.deepEqual(head, ["setting", "hardware", "epoch", `${field}${unit}`, `low${unit}`, `high${unit}`, "n"]);
    const csv = wanted.flatMap(({ plan, hardware, t }) => t[field].flatMap((e, k) => (e.value === null ? [] : [[plan, hardware, t.epochs[k],
      ...[e.value, e.low, e.high].map((v) => (v === null ? "" : v * scale)), e.n].map(String)])));
    assert.deepEqual(rows, csv);
  }
  await page.close();
});

test("of five classes top-5 is not drawn, of six it is", async () => {
  const value = structuredClone(study);
  value.evaluation.classes = 5;
  const { page } = await open(value);
  const drawings = figureOf(page, "Each thin line is a member").locator("svg");
  assert.deepEqual(await drawings.evaluateAll((all) => all.map((svg) => svg.getAttribute("aria-label"))),
    ["top-1 (%) over training", "test loss (nats) over training", "training loss (nats) over training"]);
  await page.close();
  value.evaluation.classes = 6;
  const { page: more } = await open(value);
  assert.equal(await figureOf(more, "Each thin line is a member").getByLabel("top-5 (%) over training").count(), 1);
  await more.close();
});

/** The values that the colours of a ramp stand for: read from its picture and its ticks. */
function rampOf(figure) {
  return figure.locator("svg[class$=ramp]").evaluate((svg) => {
    const image = svg.querySelector("image");
    const canvas = document.createElement("canvas");
    const bitmap = new Image();
    return new Promise((done) => {
      bitmap.onload = () => {
        canvas.width = bitmap.width;
        canvas.height = 1;
        const context = canvas.getContext("2d");
        context.drawImage(bitmap, 0, 0);
        const data = context.getImageData(0, 0, bitmap.width, 1).data;
        const colours = Array.from({ length: bitmap.width }, (_, i) => [...data.slice(4 * i, 4 * i + 3)]);
        const left = Number(image.getAttribute("x"));
        const width = Number(image.getAttribute("width"));
        const ticks = [...svg.querySelectorAll("g.tick, g[text-anchor=middle] > g")].filter((g) => g.querySelector("text")).map((g) => ({
          at: (Number(g.getAttribute("transform").match(/translate\(([-\d.]+)/)[1]) - left) / width, text: g.querySelector("text").textContent }));
        done({ colours, ticks });
      };
      bitmap.src = image.getAttribute("href") ?? image.getAttributeNS("http://www.w3.org/1999/xlink", "href");
    });
  });
}

test("heat map: every square has the colour of its pair, in the order of the members", async () => {
  const value = structuredClone(study);
  const count = value.heat_map.members.length;
  value.heat_map.values = value.heat_map.values.map((row, i) => row.map((_, j) => (i === j ? 0 : (((Math.min(i, j) * 31 + Math.max(i, j) * 17) % 101) / 101))));
  value.heat_map.values[1][3] = value.heat_map.values[3][1] = null;
  const { page } = await open(value);
  const figure = figureOf(page, "Churn between cohorts");
  await figure.locator("button.toggle").click();
  const ramp = await rampOf(figure);
  const scale = scaleOf(ramp.ticks.map((t) => ({ x: t.at, text: t.text })), "x");
  const valueOf = (colour) => {
    const rgb = hex(colour).match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16));
    const off = ramp.colours.map((c) => c.reduce((sum, v, k) => sum + (v - rgb[k]) ** 2, 0));
    return scale.invert((off.indexOf(Math.min(...off)) + 0.5) / ramp.colours.length);
  };
  const shape = await read(figure.locator("svg").last());
  const left = Math.min(...shape.rects.map((r) => r.x1));
  const top = Math.min(...shape.rects.map((r) => r.y1));
  const side = (Math.max(...shape.rects.map((r) => r.x2)) - left) / count;
  assert.equal(shape.rects.length, count * count);
  const seen = new Set();
  for (const rect of shape.rects) {
    const [i, j] = [Math.round((rect.x1 - left) / side), Math.round((rect.y1 - top) / side)];
    seen.add(`${i} ${j}`);
    const want = value.heat_map.values[i][j];
    if (i === j || want === null) assert.equal(rect.fill, "var(--missing)", `${i}, ${j}`);
    else assert.ok(Math.abs(valueOf(rect.fill) - 100 * want) <= 1, `${i}, ${j}: shows ${valueOf(rect.fill)}, JSON has ${100 * want}`);
  }
  assert.equal(seen.size, count * count);
  const labels = new Map(value.cohorts.map((c) => [c.cell, c.label]));
  for (const cell of new Set(value.heat_map.cells)) {
    const places = value.heat_map.cells.flatMap((c, k) => (c === cell ? [k] : []));
    const text = shape.texts.find((t) => t.text === labels.get(cell));
    const middle = top + side * (places[0] + places.at(-1) + 1) / 2;
    assert.ok(text && Math.abs(text.y - middle) <= 6, `${labels.get(cell)} stands beside its members`);
  }
  await page.close();
});

test("heat map: a square of two cohorts is the mean over their pairs of members", async () => {
  const value = structuredClone(study);
  const map = value.heat_map;
  map.values = map.values.map((row, i) => row.map((_, j) => (i === j ? 0 : (((Math.min(i, j) * 31 + Math.max(i, j) * 17) % 101) / 101))));
  map.values[1][3] = map.values[3][1] = null;
  const { page } = await open(value);
  const cells = [...new Set(map.cells)];
  const labels = new Map(value.cohorts.map((c) => [c.cell, c.label]));
  const told = await figureOf(page, "Churn between cohorts").locator("rect[data-tip]").evaluateAll((all) => all.map((r) => r.getAttribute("data-tip")));
  assert.equal(told.length, cells.length ** 2);
  for (const [i, a] of cells.entries()) {
    for (const [j, b] of cells.entries()) {
      const pairs = map.cells.flatMap((p, m) => map.cells.flatMap((q, n) => (p === a && q === b && m !== n && map.values[m][n] !== null ? [map.values[m][n]] : [])));
      const mean = 100 * pairs.reduce((sum, v) => sum + v, 0) / pairs.length;
      const of = i === j ? `inside ${labels.get(a)}` : `${labels.get(a)}\nagainst ${labels.get(b)}`;
      const text = told.find((t) => t.startsWith(`${of}\n`));
      assert.ok(text, of);
      assert.ok(Math.abs(Number(text.match(/churn ([\d.]+) %/)[1]) - mean) <= 0.0051, `${text}: ${mean}`);
      assert.ok(text.endsWith(`mean of ${i === j ? pairs.length / 2 : pairs.length} pairs`), text);
    }
  }
  await page.close();
});

test("heat map: numbers are dark on light squares, of a scale from 0 on, wherever the squares lie", async () => {
  const value = structuredClone(study);
  const map = value.heat_map;
  const [first] = map.cells;
  const churn = (a, b) => (a !== b ? 0.9 : a === first ? 0.3 : 0.5);
  map.values = map.values.map((row, i) => row.map((_, j) => (i === j ? 0 : churn(map.cells[i], map.cells[j]))));
  const { page } = await open(value);
  const numbers = await figureOf(page, "Churn between cohorts").locator("svg").last().locator("[data-mark=text] text[fill]")
    .evaluateAll((all) => all.map((text) => `${text.textContent} ${text.getAttribute("fill")}`));
  const cells = new Set(map.cells).size;
  const count = (said) => numbers.filter((number) => number === said).length;
  assert.equal(numbers.length, cells ** 2);
  assert.deepEqual(["30.0 #ffffff", "50.0 #1b1d21", "90.0 #1b1d21"].map(count), [1, cells - 1, cells * (cells - 1)]);
  await page.close();
});

test("who pays: churn of every class of the data set stands where the JSON says", async () => {
  const value = structuredClone(study);
  distinct(value.cohorts);
  const [gap] = value.cohorts.filter((c) => !c.all_fixed && !c.under_trained);
  withoutInterval(gap.per_class[2].churn);
  const { page } = await open(value);
  const figure = figureOf(page, "Churn within each class");
  const legend = await legendOf(figure);
  const shape = await read(figure.locator("svg").first());
  const key = (px, py, colour) => {
    const frame = frameOf(shape.frames, px, py);
    return `${nearest(shape.facets.fx, "x", (frame.x1 + frame.x2) / 2)} ${nearest(shape.facets.fy, "y", (frame.y1 + frame.y2) / 2)} ${nameOf(legend, colour)}`;
  };
  const scale = (px, py) => {
    const frame = frameOf(shape.frames, px, py);
    return scaleOf(shape.ticks.x.filter((t) => t.x >= frame.x1 - 1 && t.x <= frame.x2 + 1), "x");
  };
  const want = value.cohorts.filter((c) => !c.all_fixed && !c.under_trained)
    .flatMap((c) => c.per_class.map((k) => ({ key: `${c.plan} ${k.name} ${c.hardware}`, estimate: k.churn })));
  const worth = PIXEL * scale(shape.dots[0].x, shape.dots[0].y).worth;
  same(shape.dots.map((d) => ({ key: key(d.x, d.y, d.colour), values: [scale(d.x, d.y).invert(d.x)] })),
    want.map(({ key, estimate }) => ({ key, values: [100 * estimate.value] })), worth, "dots");
  same(shape.rules.map((r) => ({ key: key((r.x1 + r.x2) / 2, r.y1, r.colour), values: [r.x1, r.x2].map((px) => scale((r.x1 + r.x2) / 2, r.y1).invert(px)) })),
    want.filter(bounded).map(({ key, estimate }) => ({ key, values: [100 * estimate.low, 100 * estimate.high] })), worth, "intervals");
  await sameGaps(page, figure, { setting: gap.plan, hardware: gap.hardware, class: gap.per_class[2].name });
  // Most affected first.
  const total = new Map();
  for (const c of value.cohorts.filter((o) => !o.all_fixed)) for (const k of c.per_class) total.set(k.name, (total.get(k.name) ?? 0) + k.churn.value);
  assert.deepEqual([...shape.facets.fy].sort((a, b) => a.y - b.y).map((f) => f.text), [...total.keys()].sort((a, b) => total.get(b) - total.get(a)));
  await page.close();
});

test("divergent images: of many members the strip has a stretch for each answer of a cohort, as wide as members gave it", async () => {
  const value = structuredClone(study);
  const d = value.divergent;
  const times = Math.ceil(201 / d.members.length);
  const often = (list) => Array.from({ length: times }, () => list).flat();
  for (const key of ["members", "cells", "selecting"]) d[key] = often(d[key]);
  for (const example of d.examples) example.said = often(example.said);
  const { page } = await open(value);
  await page.getByText(/^\d+ more$/).click();
  const label = new Map(value.cohorts.map((c) => [c.cell, c.label]));
  for (const [k, example] of d.examples.entries()) {
    const strip = await page.locator(".card").nth(k).locator(".strip").evaluate((of) => ({
      width: of.getBoundingClientRect().width,
      fields: [...of.children].map((i) => ({ title: i.title, width: i.getBoundingClientRect().width })),
    }));
    const want = [...new Set(d.cells)].flatMap((cell) => {
      const said = example.said.filter((_, i) => d.cells[i] === cell);
      const count = new Map();
      for (const one of said) count.set(one, (count.get(one) ?? 0) + 1);
      return [...count].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([one, n]) => ({ title: `${n} of ${said.length} of ${label.get(cell)}: ${value.evaluation.class_names[one]}`, n }));
    });
    assert.deepEqual(strip.fields.map((f) => f.title), want.map((w) => w.title));
    want.forEach(({ title, n }, i) => assert.ok(Math.abs(strip.fields[i].width - strip.width * n / d.members.length) < 0.5, title));
  }
  await page.close();
});

test("divergent images: what each member answered stands in strip and list, by its own name and colour", async () => {
  const value = structuredClone(study);
  value.divergent.examples[0].said[0] = -1;
  value.divergent.examples.forEach((e, k) => Object.assign(e.disagreement, { value: 0.125 + k / 64 }));
  value.divergent.examples[1].disagreement.value = null;
  for (const [name, share] of [["subset_disagreement", 0.125], ["subset_accuracy", 0.625]]) Object.assign(value.divergent[name], { value: share, low: null, high: null, n: 7 });
  const { page } = await open(value);
  await page.getByText(/^\d+ more$/).click();
  const names = value.evaluation.class_names;
  const cards = page.locator(".card");
  const colours = new Map();
  for (const [k, example] of value.divergent.examples.entries()) {
    const card = cards.nth(k);
    const strip = await card.locator(".strip i").evaluateAll((all) => all.map((i) => ({ title: i.title, colour: i.style.background })));
    const name = (label) => (label < 0 ? "undefined" : names[label]);
    assert.deepEqual(strip.map((s) => s.title), example.said.map((label, m) => `${value.divergent.members[m]}: ${name(label)}`));
    strip.forEach((s, m) => {
      const kept = colours.get(example.said[m]) ?? s.colour;
      assert.equal(s.colour, kept, `one colour for ${name(example.said[m])}`);
      colours.set(example.said[m], kept);
    });
    const count = new Map();
    for (const label of example.said) count.set(label, (count.get(label) ?? 0) + 1);
    const most = [...count].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 4);
    const list = await card.locator("li").evaluateAll((all) => all.map((li) => ({ text: li.textContent, right: li.className === "right", colour: li.querySelector("i").style.background })));
    assert.deepEqual(list.map((l) => l.text), most.map(([label, times]) => `${name(label)} ${times}`));
    assert.deepEqual(list.map((l) => l.right), most.map(([label]) => label === example.label));
    assert.deepEqual(list.map((l) => l.colour), most.map(([label]) => colours.get(label)));
    assert.match(await card.textContent(), new RegExp(`${names[example.label]} · #${example.example}`));
    const share = await card.locator(".facts").textContent();
    if (k === 1) assert.equal(share, "no pair to measure on");
    else assert.ok(Math.abs(Number(share.match(/^([\d.]+) % disagree$/)[1]) - 100 * example.disagreement.value) <= 0.0051, share);
  }
  assert.match(await page.locator("section", { has: cards.first() }).locator("p", { hasText: "On so many" }).textContent(),
    /\(n = 7 replicates\): two members of a cohort disagree on 12\.50 %, accuracy 62\.50 %\.$/);
  await page.close();
});
