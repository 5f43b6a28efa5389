/** Packs dist/ and what describes it into a `.vsix`, without the network: `package.js [file] [dist]`. */

const { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const { createVSIX } = require("@vscode/vsce");

const ROOT = join(__dirname, "..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const target = resolve(process.argv[2] ?? join(ROOT, "dist", `workspaced-vscode-${version}.vsix`));
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
    const { devDependencies: _, scripts: __, private: ___, ...manifest } = readManifest();
    writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    await createVSIX({ cwd: staged, packagePath: target, dependencies: false, allowMissingRepository: true });
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function readManifest() {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
}

pack().catch((error) => {
  console.error(error.message ?? error);
  process.exitCode = 1;
});
