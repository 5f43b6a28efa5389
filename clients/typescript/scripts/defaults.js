// What answers of tools leave out because it is the default: out of the schemas of their outputs.

/** The parts of a schema that `$ref` and the first of `anyOf`, which is a success's `data`, lead to. */
function resolved(schema, definitions) {
  while (schema.$ref !== undefined || schema.anyOf !== undefined) {
    schema = schema.$ref === undefined ? schema.anyOf[0] : definitions[schema.$ref.replace("#/$defs/", "")];
  }
  return schema;
}

/** The defaults in a value of the schema, as `Defaults` of src/defaults.ts; undefined where there is none. */
export function defaultsIn(schema, definitions) {
  const { items, properties = {} } = resolved(schema, definitions);
  const entries = Object.entries(properties);
  const given = entries.flatMap(([name, part]) => (part.default === undefined ? [] : [[name, part.default]]));
  const inner = entries.flatMap(([name, part]) => {
    const found = defaultsIn(part, definitions);
    return found === undefined ? [] : [[name, found]];
  });
  const each = items === undefined ? undefined : defaultsIn(items, definitions);
  const made = {
    ...(given.length === 0 ? {} : { given: Object.fromEntries(given) }),
    ...(inner.length === 0 ? {} : { inner: Object.fromEntries(inner) }),
    ...(each === undefined ? {} : { each }),
  };
  return Object.keys(made).length === 0 ? undefined : made;
}

/** The schema of an output as the client gives it: what has a default is always there. */
export function filled(schema) {
  const { $defs: definitions, ...outer } = structuredClone(schema);
  const open = [outer.properties.data];
  const seen = new Set();
  while (open.length > 0) {
    const part = resolved(open.pop(), definitions);
    if (seen.has(part)) continue;
    seen.add(part);
    const properties = Object.entries(part.properties ?? {});
    if (part.required !== undefined) {
      part.required.push(...properties.flatMap(([name, each]) => (each.default === undefined ? [] : [name])));
    }
    open.push(...properties.map(([, each]) => each), ...(part.items === undefined ? [] : [part.items]));
  }
  return { $defs: definitions, ...outer };
}
