// Bundles the page into two files that the binary embeds: page.js and page.css.
// node build.mjs OUTPUT_FOLDER
import { build } from "esbuild";

await build({
  entryPoints: { page: new URL("src/main.ts", import.meta.url).pathname },
  outdir: process.argv[2] ?? "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
});
