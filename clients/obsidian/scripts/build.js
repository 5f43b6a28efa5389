/**
 * Bundles the plugin into dist/: main.js, with what Obsidian wants beside it. `--test` adds the tests, with a host
 * of ours in the place of the module `obsidian`.
 */

const { copyFileSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const esbuild = require("esbuild");

const { licences } = require("../../licences.js");

const ROOT = join(__dirname, "..");
const CLIENT = join(ROOT, "..", "typescript");
const DIST = join(ROOT, "dist");
/** Obsidian gives these to plugins. */
const GIVEN = ["obsidian", "electron", "@codemirror/*", "@lezer/*"];
const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "es2022",
  external: GIVEN,
  alias: {
    "workspaced-client": join(CLIENT, "src", "index.ts"),
    "workspaced-client/publisher": join(CLIENT, "src", "publisher", "index.ts"),
  },
  metafile: true,
  logLevel: "warning",
};

async function build() {
  rmSync(DIST, { recursive: true, force: true });
  const made = await esbuild.build({ ...COMMON, entryPoints: ["src/main.ts"], outfile: "dist/main.js" });
  for (const name of ["manifest.json", "styles.css", "LICENSE"]) copyFileSync(join(ROOT, name), join(DIST, name));
  writeFileSync(join(DIST, "THIRD_PARTY.md"), licences(ROOT, Object.keys(made.metafile.inputs)));
  if (process.argv.includes("--test")) await buildTests();
}

/** The tests require the very main.js that is shipped; Node finds the host beside it as `obsidian`. */
async function buildTests() {
  const host = { entryPoints: ["test/host.ts"], outfile: "dist/test/node_modules/obsidian/index.js" };
  await esbuild.build({ ...COMMON, ...host });
  const tests = readdirSync(join(ROOT, "test")).filter((name) => name.endsWith(".test.ts"));
  const entryPoints = [...tests, "driver.ts"].map((name) => join("test", name));
  await esbuild.build({ ...COMMON, entryPoints, outdir: "dist/test", external: [...GIVEN, "./main.js"] });
  copyFileSync(join(DIST, "main.js"), join(DIST, "test", "main.js"));
}

build().catch((error) => {
  console.error(error.message ?? error);
  process.exitCode = 1;
});
