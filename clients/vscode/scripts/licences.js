/** The licences of the packages that a bundle holds, from what esbuild says it took. */

const { existsSync, readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

/**
 * @param {string} root the folder to which the paths of inputs are relative
 * @param {string[]} inputs
 * @returns {string} Markdown
 * @throws Error: a bundled package has no licence
 */
function licences(root, inputs) {
  const packages = new Set(inputs.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []));
  const parts = [...packages].sort().map((folder) => licenceOf(join(root, folder)));
  const head = "# Licences of bundled code\n\nThe client of workspaced is under the licence of this extension.\n";
  return [head, ...parts].join("\n");
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.|$)/i.test(each));
  if (!license || file === undefined || !existsSync(join(folder, file))) {
    throw new Error(`${name} ${version} is bundled and has no licence in ${folder}: bundle another package.`);
  }
  const text = readFileSync(join(folder, file), "utf8").trim();
  return `## ${name} ${version} (${license})\n\n${text.replace(/^/gm, "    ")}\n`;
}

module.exports = { licences };
