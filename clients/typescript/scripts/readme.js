// Takes the README's tested examples out, to be compiled and run: dist/readme/example-N.ts, and what each prints.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));
const OUTPUT = join(PACKAGE, "dist", "readme");
const EXAMPLE = /^<!-- tested -->\n```ts\n(.*?)^```\n\n```text\n(.*?)^```$/gms;

rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
const examples = [...readFileSync(join(PACKAGE, "README.md"), "utf8").matchAll(EXAMPLE)];
for (const [index, [, code, output]] of examples.entries()) {
  writeFileSync(join(OUTPUT, `example-${index + 1}.ts`), code);
  writeFileSync(join(OUTPUT, `example-${index + 1}.txt`), output);
}
const config = {
  extends: "../../tsconfig.json",
  compilerOptions: { rootDir: ".", outDir: ".", declaration: false, skipLibCheck: true },
  include: ["*.ts"],
  exclude: [],
};
writeFileSync(join(OUTPUT, "tsconfig.json"), JSON.stringify(config));
