/**
 * Obsidian's part in the situations of publishers: does what it reads as lines of JSON on its standard input,
 * `{"id", "does", "with"}`, one after the other, and answers each with `{"id", "result"}` or `{"id", "error"}`.
 *
 *     node driver.js VAULT
 */

import { createInterface } from "node:readline";

import { Person } from "./person.js";

type Words = readonly never[];

async function drive(vault: string): Promise<void> {
  const person = await Person.opens(vault);
  const { publisher } = person;
  const acts: Record<string, (...words: Words) => unknown> = {
    open: (path: string) => person.open(path),
    split: (path: string) => person.split(path),
    close: (path: string) => person.close(path),
    pin: (path: string) => (person.goTo(path), person.commanded("pin")),
    unpin: (path: string) => (person.goTo(path), person.commanded("unpin")),
    select: (path: string, first: number, last: number) => person.select(path, first, last),
    rename: (old: string, now: string) => person.rename(old, now),
    focus: () => person.focus(),
    blur: () => person.blur(),
    burst: (paths: readonly string[]) => paths.forEach((path) => person.open(path)),
    pause: () => person.commanded("pause"),
    resume: () => person.commanded("resume"),
    settled: () => settled(),
    told: () => person.status(),
    quit: () => person.quit(),
  };
  /** Until a daemon is connected, and each one knows everything. */
  async function settled(): Promise<void> {
    for (;;) {
      await publisher.settled();
      if (person.status().daemons.some(({ state }) => state === "connected")) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  const lines = createInterface({ input: process.stdin });
  process.stdout.write(`${JSON.stringify({ id: 0, result: null })}\n`);
  for await (const line of lines) {
    const { id, does, with: words } = JSON.parse(line) as { id: number; does: string; with: Words };
    const answer = await Promise.resolve()
      .then(() => acts[does]?.(...words))
      .then(
        (result) => ({ result: result ?? null }),
        (error: unknown) => ({ error: String(error) }),
      );
    process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`);
    if (does === "quit") break;
  }
  process.exit(0);
}

void drive(process.argv[2] ?? process.cwd());
