/** The licences of the packages that a bundle holds, from what esbuild says it took. */

const { readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const HEAD = "# Licences of bundled code\n\nThe client of workspaced has the licence of what bundles it (LICENSE).\n";

/**
 * The list as Markdown.
 *
 * @param {string} root the folder to which `inputs` are relative
 * @param {string[]} inputs the files that were bundled
 * @throws Error: a bundled package has no licence
 */
function licences(root, inputs) {
  const folders = inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  const parts = [...new Set(folders)].sort().map((folder) => licenceOf(join(root, folder)));
  return [HEAD, ...(parts.length > 0 ? parts : ["Nothing else is bundled.\n"])].join("\n");
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.|$)/i.test(each));
  if (!license || file === undefined) {
    throw new Error(`${name} ${version} is bundled and has no licence in ${folder}: bundle another package.`);
  }
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `## ${name} ${version} (${license})\n\n${text.replace(/^/gm, "    ")}\n`;
}

module.exports = { licences };
