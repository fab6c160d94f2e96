// A browser for tests, and a folder that goes with them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";

const app = new URL("../../coordinator/web/app/package.json", import.meta.url);
const { chromium } = createRequire(app)("playwright-core");

/** The source of axe-core: rules for what everybody can use. */
export const axe = readFileSync(createRequire(app).resolve("axe-core/axe.min.js"), "utf8");

const browserPath = ["/usr/bin/chromium", "/usr/bin/google-chrome"].find(existsSync);
if (!browserPath) {  // Before a test has begun anything that would have to be ended.
  console.error("no Chromium: deploy/setup --check installs it");
  process.exit(1);
}
export const folder = mkdtempSync(join(tmpdir(), "noisefloor-page-"));
export let browser;

before(async () => {
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
