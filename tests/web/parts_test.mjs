// What the page computes and asks, without a browser: words, CSV, choices, and streams that go on where
// they were. node parts_test.mjs
import assert from "node:assert/strict";
import test, { beforeEach } from "node:test";

import { Clock, load, settled, Source, standInDocument } from "./parts.mjs";

const { api, curves, filter, labels, measured, progress, save, view, words } = await (async () => {
  const { curves: measured, ...live } = await load("live/api", "live/curves", "live/progress", "live/view", "live/words");
  return { ...live, measured, ...await load("curves", "filter", "labels", "save") };
})();

const summary = (more) => ({ id: "3", waiting: 0, leased: 0, done: 0, diverged: 0, failed: 0, cancelled: 0, retries: 0,
  paused: false, archived: false, undecided: false, members_per_hour: 0, expected_seconds_left: 0, ...more });

test("durations have the two units that matter", () => {
  const minute = 60;
  const hour = 60 * minute;
  for (const [seconds, said] of [[0, "less than a second"], [0.9, "less than a second"], [1, "1 s"], [89, "89 s"],
    [2 * minute, "2 min"], [89 * minute, "89 min"], [90 * minute, "1 h 30 min"], [2 * hour, "2 h"],
    [47 * hour + 59 * minute, "47 h 59 min"], [48 * hour, "2 days"], [71 * hour, "3 days"]]) {
    assert.equal(words.duration(seconds), said);
  }
  assert.equal(words.moment(1700000000), "2023-11-14 22:13:20 UTC");
  assert.equal(words.ago(Date.now() / 1000 - 10 * minute), "10 min ago");
  assert.equal(words.ago(Date.now() / 1000 + hour), "less than a second ago");  // Its clock is ahead.
});

test("sizes are in powers of a thousand", () => {
  for (const [bytes, said] of [[0, "0 bytes"], [999, "999 bytes"], [1000, "1.0 kB"], [1_250_000, "1.3 MB"], [2e9, "2.0 GB"], [5e15, "5000.0 TB"]]) {
    assert.equal(words.bytesText(bytes), said);
  }
});

test("settings are written with their values, whatever kind they are of, also where they are nothing", () => {
  const value = (of) => words.valueText(of);
  assert.deepEqual([{ boolean: false }, { integer: "0" }, { number: 0 }, { text: "" }, { list: { values: ["a", "b"] } }, {}].map(value),
    ["false", "0", "0", "", "[a, b]", "[]"]);
  assert.equal(words.axesText([{ path: "train.optimizer.learning_rate", value: { number: 0.05 } }, { path: "width", value: { integer: "64" } }]),
    "learning_rate=0.05, width=64");
  assert.deepEqual(["WAITING", "LEASED", "DIVERGED"].map((state) => words.stateWord(`MEMBER_STATE_${state}`)), ["waiting", "training", "diverged"]);
});

test("how far a sweep is: every member counts once, by how it ended", () => {
  const some = summary({ waiting: 10, leased: 20, done: 3, diverged: 5, failed: 7, cancelled: 11 });
  assert.equal(progress.countsText(some), "3 done, 5 diverged, 7 failed, 11 cancelled, 20 training, 10 waiting");
  assert.equal(progress.standing(some), "training; 26 of 56 members ended");
  assert.equal(progress.countsText(summary({})), "no members");
  assert.equal(progress.standing({ ...some, paused: true, retries: 1, archived: true }), "paused; 26 of 56 members ended; 1 retry; archived");
  assert.equal(progress.standing({ ...some, leased: 0, retries: 2 }), "waiting; 26 of 36 members ended; 2 retries");
  for (const [ended, said] of [[{ done: 3, diverged: 1 }, "ended; 3 done, 1 diverged"], [{ done: 3, failed: 1 }, "ended, not whole; 3 done, 1 failed"],
    [{ cancelled: 2 }, "ended, not whole; 2 cancelled"], [{ done: 1, paused: true }, "ended; 1 done"]]) {
    assert.equal(progress.standing(summary(ended)), said);
  }
  assert.equal(progress.standing(summary({ done: 1, undecided: true })), "deciding how many more; 1 of 1 member ended");
});

test("what is expected of a sweep is said until it has ended", () => {
  const some = summary({ leased: 1, done: 1, expected_seconds_left: 7200, members_per_hour: 9.96 });
  assert.equal(progress.outlook(some), "training; 1 of 2 members ended; about 2 h left; 10.0 members an hour");
  assert.equal(progress.outlook({ ...some, members_per_hour: 10.4 }), "training; 1 of 2 members ended; about 2 h left; 10 members an hour");
  assert.equal(progress.outlook({ ...some, leased: 0, expected_seconds_left: 0 }), "ended; 1 done");
});

test("values that are told twice are there once, and steps are numbers", () => {
  const value = (step, name = "train_loss") => ({ step: String(step), name, value: 0.5 });
  const before = [value(8), value(9), value(10)];
  assert.deepEqual(measured.joined(before, [value(9), value(10), value(10, "test_top1"), value(11)]), [...before, value(10, "test_top1"), value(11)]);
  assert.deepEqual(measured.joined([], before), before);
  assert.deepEqual(measured.joined(before, []), before);
  assert.deepEqual(["test_top1", "train_loss", "of_my_own"].map(measured.labelOf), ["top-1 (%)", "training loss (nats)", "of my own"]);
});

test("axes of epochs have at most four whole ones, of those that are there", () => {
  assert.deepEqual(curves.epochTicks([0.5, 1, 2, 3]), [1, 2, 3]);
  assert.deepEqual(curves.epochTicks([0, 5, 10]), [0, 3, 6, 9]);
  assert.deepEqual(curves.epochTicks([0]), [0]);
});

test("a label without room loses its middle", () => {
  const most = (0.4 * 900 - 16) / 6.6;  // Letters in two fifths of the drawing.
  const cut = labels.fitted(900)(`${"a".repeat(40)}${"b".repeat(40)}\nshort`).split("\n");
  assert.match(cut[0], /^a+…b+$/);
  assert.ok(cut[0].length <= most && cut[0].length > most - 1, `${cut[0].length} of ${most}`);
  assert.ok(Math.abs(cut[0].split("…")[0].length - cut[0].split("…")[1].length) <= 1, cut[0]);
  assert.equal(cut[1], "short");
  const whole = "c".repeat(Math.floor(most));
  assert.equal(labels.fitted(900)(whole), whole);
});

test("CSV has every column of every row, and each field is one", () => {
  assert.equal(save.csvOf([{ a: "x,y", b: 'say "hi"' }, { b: "two\nlines", c: -1.5 }, { a: "=1", c: "-inf" }, { a: "\tx", b: undefined, c: 0 }, { b: "a\rb" }]),
    'a,b,c\n"x,y","say ""hi""",\n,"two, lines",-1.5\n\'=1,,-inf\n\'\tx,,0\n,"a\rb",\n');
  assert.equal(save.csvOf([]), "\n");
});

/** Two plans on two classes, cells 0 to 3; every list of the study has a record of each, and of pairs. */
function small() {
  const of = (cell) => ({ cell });
  const cells = [0, 1, 2, 3];
  const pairs = [[0, 1], [2, 3]];
  const cohorts = cells.map((cell) => ({ cell, plan: "pq"[cell >> 1], hardware: "ab"[cell & 1], axes: [], counts: { done: 1 } }));
  return {
    cohorts, controls: cells.map(of), physical: cells.map(of), curves: cells.map(of), members: cells.map(of), contrasts: [1], decompositions: [1],
    hardware: pairs.map(([a, b]) => ({ cells_a: [a], cells_b: [b] })), stacks: [{ cells_a: [0], cells_b: [0] }, { cells_a: [1], cells_b: [1] }],
    blocks: [{ cells: [0] }, { cells: [0, 1] }, { cells: [2] }], hardware_tests: [1], stack_tests: [1], sensitive: [1], worst_groups: [1], worst_classes: { text: "all" },
    trajectories: [...cells.map((cell) => ({ factor: null, cells: [cell] })), ...pairs.map((pair) => ({ factor: "hardware", cells: pair }))],
    ensembles: { cohorts: cells.map(of), mixing: [1] }, divergent: { examples: [1], note: "all", members: [] },
    environment: [{ hardware: "a" }, { hardware: "b" }],
    heat_map: { members: ["m0", "m1", "m2", "m3"], cells, values: cells.map(() => [0, 0, 0, 0]), left_out: 0, note: "" } };
}

test("of a choice there is in every list what is of it alone, and nothing of the whole study", () => {
  const study = small();
  const some = filter.chosen(study, new Map([["plan", "p"], ["hardware", "b"]]));
  assert.equal(some.choice, "plan p, hardware b");
  for (const list of ["cohorts", "controls", "physical", "curves", "members"]) assert.deepEqual(some[list].map((one) => one.cell), [1], list);
  assert.deepEqual(some.ensembles, { cohorts: [{ cell: 1 }], mixing: [] });
  assert.deepEqual(some.hardware, [study.hardware[0]]);  // Of the pair one side is chosen.
  assert.deepEqual(some.stacks, [study.stacks[1]]);
  assert.deepEqual(some.blocks, []);
  assert.deepEqual(some.trajectories, [study.trajectories[1], study.trajectories[4]]);
  assert.deepEqual(some.environment, [{ hardware: "b" }]);
  assert.deepEqual(some.heat_map.members, ["m1"]);
  for (const whole of ["contrasts", "decompositions", "hardware_tests", "stack_tests", "sensitive", "worst_groups"]) assert.deepEqual(some[whole], [], whole);
  assert.deepEqual([some.worst_classes.text, some.divergent.examples, some.divergent.note], ["", [], ""]);

  const plan = filter.chosen(study, new Map([["plan", "p"]]));
  assert.deepEqual(plan.blocks, [{ cells: [0] }, { cells: [0, 1] }]);
  assert.deepEqual(plan.environment, study.environment);
  assert.deepEqual(plan.hardware, [study.hardware[0]]);
  assert.equal(filter.chosen(study, new Map()), study);
});

// What a browser has, of which nothing is left over from the test before.
let asked;
let answers;
let clock;
beforeEach(() => {
  [asked, answers, Source.made] = [[], [], []];
  clock = new Clock();
  globalThis.EventSource = Source;
  globalThis.document = standInDocument();
  globalThis.fetch = async (url) => {
    asked.push(url);
    return (answers.shift() ?? (() => assert.fail(`${url} is asked`)))();
  };
});

const fine = (what = {}) => () => Response.json(what);
const refusal = (code, status = 400) => () => Response.json({ error: { code, message: `it is ${code}` } }, { status });
const unreachable = () => { throw new TypeError("failed to fetch"); };

/** Listens; what was heard, in order. */
function heardOf(method, params, signal = new AbortController().signal) {
  const heard = [];
  api.listen(method, params, signal, { message: (what) => heard.push(what), connected: (is) => heard.push(is), ended: (why) => heard.push(why?.code ?? "ended") });
  return heard;
}

test("a stream that is lost is opened again, where it was", async () => {
  for (const [method, first, id, resumed] of [["WatchSweep", { sweep_id: 3 }, "17", { resume_token: "17" }], ["WatchMember", { member: "s1c2r3" }, "7:10", { lease: "7", after_step: "10" }]]) {
    Source.made = [];
    const heard = heardOf(method, first);
    const url = (more) => `/api/${method}?${new URLSearchParams({ ...first, ...more })}`;
    assert.deepEqual(Source.made.map((source) => source.url), [url({})]);
    Source.made[0].onopen();
    Source.made[0].message({ number: 1 }, "before");
    Source.made[0].message({ number: 2 }, id);
    Source.made[0].onerror();
    assert.ok(Source.made[0].closed);
    assert.deepEqual(heard, [true, { number: 1 }, { number: 2 }, false]);
    answers.push(unreachable, refusal("UNAVAILABLE"), fine());
    await clock.pass(1999);
    assert.equal(asked.length, 0);
    for (let tries = 1; tries <= 3; ++tries) await clock.pass(2000);
    assert.deepEqual(asked, Array(3).fill("/api/GetVersion?"));
    assert.deepEqual(Source.made.map((source) => source.url), [url({}), url(resumed)]);
    assert.deepEqual(heard.slice(4), [false, false]);
    asked = [];
  }
});

test("a stream ends when it is told, and where it is refused for good", async () => {
  const ended = heardOf("WatchSweep", {});
  Source.made[0].event("end");
  const refused = heardOf("WatchSweep", {});
  Source.made[1].event("failed", { error: { code: "NOT_FOUND", message: "no sweep" } });
  const revoked = heardOf("WatchSweep", {});
  Source.made[2].onerror();
  answers.push(refusal("UNAUTHENTICATED", 401));
  await clock.pass(2000);
  assert.deepEqual([ended, refused, revoked], [["ended"], ["NOT_FOUND"], [false, "UNAUTHENTICATED"]]);
  assert.ok(Source.made.every((source) => source.closed));
  document.dispatchEvent(new Event("visibilitychange"));  // Nobody comes back to what has ended.
  await clock.pass(60_000);
  assert.equal(Source.made.length, 3);

  for (const code of ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "CANCELLED"]) {
    const busy = heardOf("WatchSweep", {});
    Source.made.at(-1).event("failed", { error: { code, message: "later" } });
    answers.push(fine());
    await clock.pass(2000);
    assert.deepEqual(busy, [false], code);
    assert.ok(!Source.made.at(-1).closed, code);
  }
});

test("a tab that nobody sees has no stream, and one that is left neither", () => {
  const leave = new AbortController();
  const heard = heardOf("WatchSweep", { sweep_id: 3 }, leave.signal);
  Source.made[0].message({ number: 1 }, "17");
  const see = (hidden) => {
    document.hidden = hidden;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  see(true);
  assert.ok(Source.made[0].closed);
  see(false);
  see(false);
  assert.deepEqual(Source.made.map((source) => source.url), ["/api/WatchSweep?sweep_id=3", "/api/WatchSweep?sweep_id=3&resume_token=17"]);
  leave.abort();
  assert.ok(Source.made[1].closed);
  see(true);
  see(false);
  assert.equal(Source.made.length, 2);
  assert.deepEqual(heard, [{ number: 1 }]);
});

test("a glance has the first message of a stream, in whatever pieces it comes, and leaves", async () => {
  const stream = (...pieces) => () => new Response(new ReadableStream({
    start: (to) => pieces.forEach((piece) => to.enqueue(new TextEncoder().encode(piece))) }));
  const { signal } = new AbortController();
  const glance = () => api.glance("WatchMember", { member: "s1c2r3", lease: "0" }, signal);
  answers.push(stream("id: 7:10\nda", "ta: {\"lease\":", "\"7\"}\n", "\ndata: {}\n\n"), stream("event: failed\ndata: {\"error\":{}}\n\n"), refusal("NOT_FOUND", 404));
  assert.deepEqual(await glance(), { lease: "7" });
  assert.equal(await glance(), undefined);
  await assert.rejects(glance(), { code: "NOT_FOUND", message: "it is NOT_FOUND" });
  assert.deepEqual(asked, Array(3).fill("/api/WatchMember?member=s1c2r3&lease=0"));
});

test("questions name each of several values, and a refusal says why", async () => {
  answers.push(fine({ members: 3 }), () => new Response("bad gateway", { status: 502 }), unreachable);
  assert.deepEqual(await api.ask("ListMembers", { states: ["A", "B"], plans: [], page_size: 10 }), { members: 3 });
  assert.deepEqual(asked, ["/api/ListMembers?states=A&states=B&page_size=10"]);
  await assert.rejects(api.ask("GetVersion"), { code: "UNKNOWN", message: "HTTP 502" });
  await assert.rejects(api.ask("GetVersion"), { code: "UNREACHABLE" });
  assert.ok(api.isPassing(new api.Refused("UNREACHABLE", "")) && !api.isPassing(new api.Refused("UNKNOWN", "")));
});

/** A view's place; `said`: whether it was kept up to date, each time. */
function stage() {
  const leave = new AbortController();
  const said = [];
  const main = { hasChildNodes: () => true, replaceChildren: () => said.push("given up") };
  return { leave, said, main, signal: leave.signal, live: (is) => said.push(is) };
}

test("what is done now and then goes on after what passes, and ends where it is refused for good", async () => {
  const here = stage();
  const outcomes = [undefined, new api.Refused("UNAVAILABLE", "later"), undefined, new api.Refused("NOT_FOUND", "no sweep")];
  let count = 0;
  view.everyNowAndThen(here, 5000, async () => {
    const outcome = outcomes[count++];
    if (outcome) throw outcome;
  });
  await settled();
  assert.equal(count, 1);
  await clock.pass(4999);
  assert.equal(count, 1);
  await clock.pass(1);
  assert.deepEqual(here.said, [true, false]);
  await clock.pass(5000);
  await clock.pass(5000);
  assert.deepEqual([count, here.said], [4, [true, false, true, undefined, "given up"]]);
});

test("who asks while it is being done has it done once more, and nobody after the view is left", async () => {
  const here = stage();
  const ends = [];
  const now = view.everyNowAndThen(here, 5000, () => new Promise((done) => ends.push(done)), true);
  now();
  now();
  assert.equal(ends.length, 1);
  ends[0]();
  await settled();
  assert.equal(ends.length, 2);
  ends[1]();
  await settled();
  assert.equal(ends.length, 2);
  document.hidden = true;
  await clock.pass(5000);
  ends[2]();
  await settled();
  await clock.pass(60_000);
  assert.equal(ends.length, 3);  // Nobody sees it.
  document.hidden = false;
  document.dispatchEvent(new Event("visibilitychange"));
  assert.equal(ends.length, 4);
  ends[3]();
  await settled();
  here.leave.abort();
  now();
  await clock.pass(60_000);
  assert.deepEqual([ends.length, here.said], [4, []]);
});
