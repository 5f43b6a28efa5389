// TypeScript's declarations for a JSON Schema. Only what our schemas use is understood; anything else is an error: no
// type is a guess.

// What a type cannot say; it goes into the comment.
const BOUNDS = [
  ...["minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum", "minItems", "maxItems", "pattern", "format"],
];
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
  // A discriminator repeats what the tags of an `anyOf` say.
  ...["items", "prefixItems", "anyOf", "discriminator", "enum", "const", "default", ...BOUNDS],
]);
const SCALARS = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

/**
 * The declarations of one schema: the type `name`, and one for each definition that it uses more than once, whose name
 * begins with that of the type. `place` is for errors.
 */
export function declarations(place, name, schema) {
  const { $defs: definitions = {}, ...outer } = schema;
  const uses = JSON.stringify(schema).match(/"#\/\$defs\/[^"]+"/g) ?? [];
  const shared = Object.keys(definitions).filter(
    (inner) => uses.filter((use) => use === `"#/$defs/${inner}"`).length > 1,
  );
  const writer = new Writer(place, definitions, new Map(shared.map((inner) => [inner, name + inner])));
  return [
    writer.declaration(name, outer),
    ...shared.map((inner) => writer.declaration(name + inner, definitions[inner])),
  ];
}

/** The declarations of a schema that is nothing but definitions: one for each, by its own name. */
export function definitions(place, { $defs: found }) {
  const strange = Object.keys(found).find((name) => !/^\w+$/.test(name));
  if (strange !== undefined) throw new Error(`${place}: two types have one name: ${strange}; rename one`);
  const writer = new Writer(place, found, new Map(Object.keys(found).map((inner) => [inner, inner])));
  return Object.entries(found).map(([name, definition]) => writer.declaration(name, definition));
}

class Writer {
  /** `names`: the types' names of those definitions that have a declaration; the others stand where they are used. */
  constructor(place, definitions, names) {
    this.place = place;
    this.definitions = definitions;
    this.names = names;
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
          `${this.place}: the keyword ${JSON.stringify(key)} is not understood; teach it to declarations.js`,
        );
      }
    }
    if (schema.$ref !== undefined) {
      const inner = schema.$ref.replace("#/$defs/", "");
      return this.names.get(inner) ?? this.type(this.definitions[inner], depth);
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
    if (schema.prefixItems !== undefined) {
      return `readonly [${schema.prefixItems.map((each) => this.type(each, depth)).join(", ")}]`;
    }
    if (schema.type === "array") {
      const item = schema.items === undefined ? "unknown" : this.type(schema.items, depth);
      return /^[\w.]+$/.test(item) ? `readonly ${item}[]` : `ReadonlyArray<${item}>`;
    }
    if (schema.type === "object") return this.object(schema, depth);
    if (schema.type === undefined) return "unknown"; // any value
    const scalar = SCALARS[schema.type];
    if (scalar === undefined) {
      throw new Error(`${this.place}: the type ${JSON.stringify(schema.type)} is not understood`);
    }
    return scalar;
  }

  union(schemas, depth) {
    const types = new Set(schemas.map((each) => this.type(each, depth)));
    return types.has("unknown") ? "unknown" : [...types].join(" | ");
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
    // A tuple's type says how many items it has.
    const scopes = [property, ...(property.anyOf ?? [])].filter((scope) => scope.prefixItems === undefined);
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
