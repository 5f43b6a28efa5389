/** Packs what was built into a `.vsix`, without the network: `package.js [file or folder] [built]`; default: dist/. */

const { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const { createVSIX } = require("@vscode/vsce");

const ROOT = join(__dirname, "..");
const described = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const given = resolve(process.argv[2] ?? join(ROOT, "dist"));
const target = given.endsWith(".vsix") ? given : join(given, `workspaced-vscode-${described.version}.vsix`);
const dist = resolve(process.argv[3] ?? join(ROOT, "dist"));

/** In a folder of its own, so that two of them do not meet and nothing else gets in. */
async function pack() {
  const staged = mkdtempSync(join(tmpdir(), "vsix-"));
  try {
    for (const name of ["extension.js", "web.js"]) cpSync(join(dist, name), join(staged, "dist", name));
    for (const name of ["LICENSE", "THIRD_PARTY.md"]) cpSync(join(dist, name), join(staged, name));
    for (const name of ["README.md", "media", ".vscodeignore"]) {
      cpSync(join(ROOT, name), join(staged, name), { recursive: true });
    }
    const { devDependencies: _, scripts: __, private: ___, ...manifest } = described;
    writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    await createVSIX({ cwd: staged, packagePath: target, dependencies: false, allowMissingRepository: true });
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

pack().catch((error) => {
  console.error(error.message ?? error);
  process.exitCode = 1;
});
