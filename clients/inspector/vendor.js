// The libraries of the inspector's page, as its folder `vendor/` holds them: `npm run vendor` writes them,
// `npm run vendor:check` fails where a file is not what it would write. What to take, and of which bytes, stands in
// vendor.json; npm fetches it, from the registry that it is configured for.
//
// A newer version of a library: its number in vendor.json and in package.json, then `npm run vendor`, which says the
// hash that it found. Compare that with the release, put it into vendor.json, and run `make inspector`.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const VENDOR = join(HERE, "..", "..", "workspaced", "workspaced", "inspector", "static", "vendor");
const LIST = "vendor.json";
const FETCH_MS = 120_000;

/** What in the folder is our own: the list, the two modules that join the libraries, and the types' forwarding. */
const isOurs = (path) => [LIST, "index.js", "uplot.js"].includes(path) || path.endsWith(".d.ts");

/**
 * @typedef {{ from: string, to: string, imported?: string }} File `imported`: the name by which modules import it
 * @typedef {{ name: string, version: string, licence: string, integrity: string, files: File[] }} Package
 */

/**
 * Fetches the archives of packages into a folder.
 *
 * @param {Package[]} packages
 * @param {string} scratch the folder
 * @returns {Map<string, string>} the archives by the names of the packages
 */
function fetched(packages, scratch) {
  const named = packages.map(({ name, version }) => `${name}@${version}`);
  const command = ["pack", ...named, "--ignore-scripts", "--json", "--prefer-offline", "--pack-destination", scratch];
  const options = { cwd: scratch, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], timeout: FETCH_MS };
  const packed = JSON.parse(execFileSync("npm", command, options));
  return new Map(packed.map(({ name, filename }) => [name, join(scratch, filename)]));
}

/**
 * Unpacks the archive of a package; returns its folder.
 *
 * @param {Package} wanted
 * @param {string} archive
 * @throws Error: its bytes or its licence are not those of the list
 */
function unpacked({ name, version, licence, integrity }, archive) {
  const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
  if (found !== integrity) {
    throw new Error(`${name}@${version} is ${found}, not ${integrity}: compare with the release, then edit ${LIST}.`);
  }
  const folder = `${archive}.unpacked`;
  mkdirSync(folder);
  execFileSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"], { stdio: "inherit" });
  const { license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (license !== licence) {
    throw new Error(`${name}@${version} has the licence ${license}, not ${licence}: read it, then edit ${LIST}.`);
  }
  return folder;
}

/**
 * The text with imports of packages by the name of their file in the folder, and no pointer to a source map, which is
 * not there.
 *
 * @param {string} text
 * @param {Map<string, string>} names the files by the names that modules import
 * @param {string} place for the error
 */
function withRelativeImports(text, names, place) {
  return text
    .replace(/^\/\/# sourceMappingURL=.*\n?/gm, "")
    .replace(/\b(from|import)(\s*)"([^"./][^"]*)"/g, (_, keyword, space, name) => {
      const file = names.get(name);
      if (file === undefined) throw new Error(`${place} imports ${name}, which ${LIST} does not take.`);
      return `${keyword}${space}"./${file}"`;
    });
}

/** Every file that belongs into the folder, by its path there. */
function wantedFiles() {
  /** @type {Package[]} */
  const packages = JSON.parse(readFileSync(join(VENDOR, LIST), "utf8")).packages;
  const names = new Map(packages.flatMap(({ files }) => files.map(({ imported, to }) => [imported, to])));
  names.delete(undefined);
  const scratch = mkdtempSync(join(tmpdir(), "vendor-"));
  try {
    const archives = fetched(packages, scratch);
    return new Map(
      packages.flatMap((wanted) => {
        const folder = unpacked(wanted, archives.get(wanted.name) ?? "");
        return wanted.files.map(({ from, to, imported }) => {
          const text = readFileSync(join(folder, from), "utf8");
          return [to, imported === undefined ? text : withRelativeImports(text, names, `${wanted.name}/${from}`)];
        });
      }),
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The files of the folder that are not ours. */
function presentFiles() {
  return readdirSync(VENDOR, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(VENDOR, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => !isOurs(path));
}

const wanted = wantedFiles();
const stray = presentFiles().filter((path) => !wanted.has(path));
if (process.argv.includes("--check")) {
  const differing = [...wanted].filter(([path, text]) => {
    const file = join(VENDOR, path);
    return !existsSync(file) || readFileSync(file, "utf8") !== text;
  });
  for (const [path] of differing) console.error(`vendor/${path} is not what its package holds`);
  for (const path of stray) console.error(`vendor/${path} is in no package of ${LIST}`);
  if (differing.length + stray.length > 0) {
    console.error("Run `npm run vendor` in clients/inspector, and commit the difference.");
    process.exitCode = 1;
  }
} else {
  for (const path of stray) rmSync(join(VENDOR, path));
  for (const [path, text] of wanted) {
    mkdirSync(dirname(join(VENDOR, path)), { recursive: true });
    writeFileSync(join(VENDOR, path), text);
  }
}
