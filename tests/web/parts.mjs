// Parts of the page without a browser: what they compute, and how they ask, with stand-ins for what a browser has.
import { createRequire } from "node:module";
import { basename } from "node:path";

const app = new URL("../../coordinator/web/app/package.json", import.meta.url);
const { buildSync } = createRequire(app)("esbuild");

/** Modules of src by their names, "live/words": bundled together, so that they share what they import. */
export async function load(...names) {
  const contents = names.map((name) => `export * as ${basename(name)} from "./${name}";`).join("\n");
  const { outputFiles: [made] } = buildSync({ stdin: { contents, resolveDir: new URL("src", app).pathname },
    bundle: true, format: "esm", target: "es2022", write: false, logLevel: "error" });
  return import(`data:text/javascript;base64,${Buffer.from(made.contents).toString("base64")}`);
}

/** Streams that were opened, in their order; a test tells what comes on them. */
export class Source {
  static made = [];
  told = new Map();
  closed = false;

  constructor(url) {
    this.url = url;
    Source.made.push(this);
  }

  addEventListener(name, act) {
    this.told.set(name, act);
  }

  close() {
    this.closed = true;
  }

  message(what, lastEventId = "") {
    this.onmessage({ data: JSON.stringify(what), lastEventId });
  }

  event(name, what) {
    this.told.get(name)({ data: JSON.stringify(what) });
  }
}

/** The document that views look at: whether somebody sees it, and elements that only take what they are given. */
export function standInDocument() {
  const element = () => ({ setAttribute() {}, addEventListener() {}, append() {} });
  return Object.assign(new EventTarget(), { hidden: false, createElement: element });
}

/** Lets everything happen that waits for nothing but its turn. */
export const settled = () => new Promise((done) => setImmediate(done));

/** In the place of the process's own timers: time passes when a test says so. */
export class Clock {
  now = 0;
  timers = new Map();
  count = 0;

  constructor() {
    globalThis.setTimeout = (act, ms = 0) => {
      this.timers.set(++this.count, { at: this.now + ms, act });
      return this.count;
    };
    globalThis.clearTimeout = (id) => this.timers.delete(id);
  }

  async pass(ms) {
    const end = this.now + ms;
    for (;;) {
      const [next] = [...this.timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (!next) break;
      const [id, { at, act }] = next;
      this.timers.delete(id);
      this.now = at;
      act();
      await settled();
    }
    this.now = end;
    await settled();
  }
}
