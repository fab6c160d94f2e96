// Bundles the report page into page.js and page.css, the live page into live.js and live.css: files
// that the binary embeds.
// node build.mjs OUTPUT_FOLDER
import { build } from "esbuild";

await build({
  entryPoints: {
    page: new URL("src/main.ts", import.meta.url).pathname,
    live: new URL("src/live/main.ts", import.meta.url).pathname,
  },
  outdir: process.argv[2] ?? "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
});
