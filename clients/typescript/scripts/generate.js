// Types out of the repository's schemas: `npm run generate` writes src/types.generated.ts, `npm run check` fails where
// the file differs. Only what the schemas use is understood; anything else is an error: no type is a guess.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
const SCHEMAS = join(PACKAGE, "..", "..", "schemas");
const OUTPUT = join(PACKAGE, "src", "types.generated.ts");

// What a type cannot say; it goes into the comment.
const BOUNDS = ["minLength", "maxLength", "minimum", "maximum", "maxItems", "pattern"];
const KNOWN = new Set([
  ...[
    "$schema",
    "$ref",
    "$defs",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
  ],
  ...["items", "anyOf", "enum", "const", "default", ...BOUNDS],
]);
const SCALARS = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

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

/** The declarations of one schema: the type itself, and one for each definition that it uses more than once. */
class Declarations {
  constructor(name, schema) {
    this.name = typeName(name);
    this.definitions = schema.$defs ?? {};
    this.uses = JSON.stringify(schema).match(/"#\/\$defs\/[^"]+"/g) ?? [];
    const { $defs: _, ...outer } = schema;
    this.place = name;
    this.lines = [this.declaration(this.name, outer)];
    for (const [inner, definition] of Object.entries(this.definitions)) {
      if (this.isShared(inner)) {
        this.lines.push(this.declaration(this.name + inner, definition));
      }
    }
  }

  isShared(inner) {
    return this.uses.filter((use) => use === `"#/$defs/${inner}"`).length > 1;
  }

  declaration(name, schema) {
    const body = this.type(schema, 0);
    const comment = this.comment(schema.description, {}, 0);
    return body.startsWith("{")
      ? `${comment}export interface ${name} ${body}\n`
      : `${comment}export type ${name} = ${body};\n`;
  }

  type(schema, depth) {
    for (const key of Object.keys(schema)) {
      if (!KNOWN.has(key)) {
        throw new Error(
          `${this.place}: the keyword ${JSON.stringify(key)} is not understood; teach it to generate.js`,
        );
      }
    }
    if (schema.$ref !== undefined) {
      const inner = schema.$ref.replace("#/$defs/", "");
      return this.isShared(inner) ? this.name + inner : this.type(this.definitions[inner], depth);
    }
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
    if (schema.anyOf !== undefined) return this.union(schema.anyOf, depth);
    if (Array.isArray(schema.type)) {
      return this.union(
        schema.type.map((type) => ({ ...schema, type })),
        depth,
      );
    }
    if (schema.type === "array") {
      const item = schema.items === undefined ? "unknown" : this.type(schema.items, depth);
      return /^[\w.]+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`;
    }
    if (schema.type === "object") return this.object(schema, depth);
    const scalar = SCALARS[schema.type];
    if (scalar === undefined) {
      throw new Error(`${this.place}: the type ${JSON.stringify(schema.type)} is not understood`);
    }
    return scalar;
  }

  union(schemas, depth) {
    return [...new Set(schemas.map((each) => this.type(each, depth)))].join(" | ");
  }

  object(schema, depth) {
    const properties = Object.entries(schema.properties ?? {});
    if (properties.length === 0) {
      const values = schema.additionalProperties;
      if (values === false || (schema.properties !== undefined && values === undefined)) {
        return "Record<string, never>";
      }
      if (typeof values !== "object") {
        return "Readonly<Record<string, unknown>>";
      }
      // An index signature may name the type that it stands in; Record<> may not.
      return `{ readonly [name: string]: ${this.type(values, depth)} }`;
    }
    const required = new Set(schema.required ?? []);
    const indent = "  ".repeat(depth + 1);
    const lines = properties.map(([name, property]) => {
      const mark = required.has(name) ? "" : "?";
      const comment = this.comment(property.description, property, depth + 1);
      return `${comment}${indent}readonly ${name}${mark}: ${this.type(property, depth + 1)};\n`;
    });
    return `{\n${lines.join("")}${"  ".repeat(depth)}}`;
  }

  comment(description, property, depth) {
    const scopes = [property, ...(property.anyOf ?? [])];
    const bounds = BOUNDS.flatMap((key) =>
      scopes.filter((scope) => scope[key] !== undefined).map((scope) => `${key} ${scope[key]}`),
    );
    if (property.default !== undefined && property.default !== null && typeof property.default !== "object") {
      bounds.push(`default ${JSON.stringify(property.default)}`);
    }
    const text = [description, bounds.length > 0 ? `(${bounds.join(", ")})` : undefined].filter(Boolean).join(" ");
    return text === ""
      ? ""
      : `${"  ".repeat(depth)}/** ${text.replaceAll("*/", "*\\/").replaceAll(/\s+/g, " ")} */\n`;
  }
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
  const tools = of("tools")
    .filter((name) => name.endsWith(".input"))
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

function generate() {
  const schemas = readSchemas();
  const parts = schemas.flatMap(([name, schema]) => new Declarations(name, schema).lines);
  const head = "// Generated from the repository's schemas/ by scripts/generate.js; not edited by hand.\n";
  return [head, ...parts, ...joined(schemas.map(([name]) => name))].join("\n");
}

const wanted = generate();
if (process.argv.includes("--check")) {
  let found = "";
  try {
    found = readFileSync(OUTPUT, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  if (found !== wanted) {
    console.error(
      `${relative(process.cwd(), OUTPUT)} differs from schemas/: run \`npm run generate\`, commit the difference.`,
    );
    process.exitCode = 1;
  }
} else {
  writeFileSync(OUTPUT, wanted);
}
