/**
 * Bundles the extension: one file for each place that it runs in. `build.js [folder] [--test]`: into dist/ or another
 * folder, with the tests beside it.
 */

const { readdirSync, rmSync, writeFileSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");
const esbuild = require("esbuild");

const { licences } = require("../../licences.js");

const ROOT = join(__dirname, "..");
const CLIENT = join(ROOT, "..", "typescript");
const DIST = resolve(process.argv.slice(2).find((word) => !word.startsWith("--")) ?? join(ROOT, "dist"));
const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  format: "cjs",
  target: "es2022",
  external: ["vscode"],
  alias: {
    "workspaced-client": join(CLIENT, "src", "index.ts"),
    "workspaced-client/publisher": join(CLIENT, "src", "publisher", "index.ts"),
  },
  metafile: true,
  logLevel: "warning",
};

async function build() {
  rmSync(DIST, { recursive: true, force: true });
  const made = await Promise.all([
    esbuild.build({ ...COMMON, platform: "node", entryPoints: ["src/extension.ts"], outfile: join(DIST, "extension.js") }),
    esbuild.build({ ...COMMON, platform: "browser", entryPoints: ["src/web.ts"], outfile: join(DIST, "web.js") }),
  ]);
  const bundled = made.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  writeFileSync(join(DIST, "THIRD_PARTY.md"), licences(ROOT, bundled));
  writeFileSync(join(DIST, "LICENSE"), readFileSync(join(CLIENT, "LICENSE")));
  if (process.argv.includes("--test")) {
    const tests = readdirSync(join(ROOT, "test")).filter((name) => name.endsWith(".test.ts"));
    const entryPoints = tests.map((name) => join("test", name));
    await esbuild.build({ ...COMMON, platform: "node", entryPoints, outdir: join(DIST, "test") });
  }
}

build().catch((error) => {
  console.error(error.message ?? error);
  process.exitCode = 1;
});
