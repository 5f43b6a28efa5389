// Types out of the repository's schemas: `npm run generate` writes src/types.generated.ts, what answers leave out
// (src/defaults.generated.ts), and the types of the inspector's page; `npm run check` fails where a file differs.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { declarations, definitions } from "./declarations.js";
import { defaultsIn, filled } from "./defaults.js";

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
const ROOT = join(PACKAGE, "..", "..");
const SCHEMAS = join(ROOT, "schemas");
const OUTPUT = join(PACKAGE, "src", "types.generated.ts");
const DEFAULTS_OUTPUT = join(PACKAGE, "src", "defaults.generated.ts");

// The inspector's API is no part of the client: its types go to its page.
const INSPECTOR = "inspector";
const INSPECTOR_OUTPUT = join(ROOT, "workspaced", "workspaced", "inspector", "static", "types.d.ts");

/** Every schema by its name, which is its path without `.json`. */
function readSchemas() {
  return readdirSync(SCHEMAS, { recursive: true })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".json"))
    .sort()
    .map((path) => [path.slice(0, -".json".length), JSON.parse(readFileSync(join(SCHEMAS, path), "utf8"))]);
}

function pascal(text) {
  return text.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** The name of a schema's type; that of an inner definition begins with it. */
function typeName(name) {
  const [kind, ...rest] = name.split("/");
  if (rest.length === 0) {
    return { state: "WorkspaceState", error: "WireError", export: "ExportHeader", prompt: "Prompt" }[kind] ?? pascal(kind);
  }
  const suffix = { actions: "Action", events: "Event", methods: "Params", tools: "" }[kind];
  if (suffix === undefined) {
    throw new Error(`${name}: an unknown folder of schemas`);
  }
  return pascal(rest.join("/")) + suffix;
}

/** The types that join those of the schemas. */
function joined(names) {
  const of = (folder) => names.filter((name) => name.startsWith(`${folder}/`));
  const short = (name) => name.slice(name.indexOf("/") + 1);
  const union = (type, comment, folder) =>
    `/** ${comment} */\nexport type ${type} =\n${of(folder)
      .map((name) => `  | ${typeName(name)}`)
      .join("\n")};\n`;
  const map = (type, comment, rows) =>
    `/** ${comment} */\nexport interface ${type} {\n${rows.map(([key, value]) => `  ${key}: ${value};\n`).join("")}}\n`;
  // Those of a linked daemon have the names of others.
  const tools = of("tools")
    .filter((name) => name.endsWith(".input") && !name.startsWith("tools/linked/"))
    .map((name) => short(name).slice(0, -".input".length));
  return [
    union("Action", "What a UI may publish.", "actions"),
    union(
      "WorkspaceEvent",
      "What the log holds. A newer daemon may send others: keep a default branch.",
      "events",
    ),
    map(
      "MethodParams",
      "Parameters by the name of the method.",
      of("methods").map((name) => [JSON.stringify(`workspaced/${short(name)}`), typeName(name)]),
    ),
    map(
      "ToolArguments",
      "Arguments by the name of the tool.",
      tools.map((name) => [name, typeName(`tools/${name}.input`)]),
    ),
    map(
      "ToolOutputs",
      "Answers by the name of the tool.",
      tools.map((name) => [name, typeName(`tools/${name}.output`)]),
    ),
  ];
}

/** What the data of each tool's answers leaves out; nothing for a tool whose answers are whole. */
function defaultsByTool(outputs) {
  return Object.fromEntries(
    outputs.flatMap(([name, schema]) => {
      const found = defaultsIn(schema.properties.data, schema.$defs);
      return found === undefined ? [] : [[name.slice("tools/".length, -".output".length), found]];
    }),
  );
}

/** The texts of the generated files, by their paths. */
function generate() {
  const all = readSchemas();
  const [, inspector] = all.find(([name]) => name === INSPECTOR);
  const isOutput = (name) => name.startsWith("tools/") && name.endsWith(".output");
  const outputs = all.filter(([name]) => isOutput(name));
  const schemas = all
    .filter(([name]) => name !== INSPECTOR)
    .map(([name, schema]) => [name, isOutput(name) ? filled(schema) : schema]);
  const parts = schemas.flatMap(([name, schema]) => declarations(name, typeName(name), schema));
  const from = "// Generated from the repository's schemas/ by";
  return new Map([
    [
      OUTPUT,
      [`${from} scripts/generate.js; not edited by hand.\n`, ...parts, ...joined(schemas.map(([name]) => name))].join("\n"),
    ],
    [
      DEFAULTS_OUTPUT,
      [
        `${from} scripts/generate.js; not edited by hand.\n`,
        'import type { Defaults } from "./defaults.js";\n',
        "/** The defaults in the data of answers, by the name of the tool. */",
        `export const DEFAULTS: Readonly<Record<string, Defaults>> = ${JSON.stringify(defaultsByTool(outputs), null, 2)};\n`,
      ].join("\n"),
    ],
    [
      INSPECTOR_OUTPUT,
      [
        `${from} clients/typescript/scripts/generate.js; not edited by hand.\n`,
        ...definitions(INSPECTOR, inspector),
      ].join("\n"),
    ],
  ]);
}

/** The text of a file; of one that is not there "". */
function present(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return "";
  }
}

for (const [path, wanted] of generate()) {
  if (!process.argv.includes("--check")) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, wanted);
  } else if (present(path) !== wanted) {
    const name = relative(process.cwd(), path);
    console.error(`${name} differs from schemas/: run \`npm run generate\`, commit the difference.`);
    process.exitCode = 1;
  }
}
