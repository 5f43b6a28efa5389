import assert from "node:assert/strict";
import { test } from "node:test";

import { Files } from "../src/files.js";

test("by default every file is one, in a workspace folder or not", () => {
  const files = new Files(["**"], ["/home/ada/notes"]);
  for (const path of ["/home/ada/notes/a.md", "/home/ada/notes/x/Board.canvas", "/elsewhere/c", "/home/me/.notes/d.pdf"]) {
    assert.equal(files.has(path), true, path);
  }
});

test("a glob for Markdown means it whatever its case", () => {
  const files = new Files(["**/*.md"], ["/home/ada/notes"]);
  for (const path of ["/home/ada/notes/a.md", "/home/ada/notes/x/y/B.MD", "/elsewhere/c.md", "/home/me/.notes/d.md"]) {
    assert.equal(files.has(path), true, path);
  }
  for (const path of ["/home/ada/notes/a.txt", "/home/ada/notes/a.md.bak", "/home/ada/notes/md"]) {
    assert.equal(files.has(path), false, path);
  }
});

test("globs are relative to the workspace folder that is nearest above a file", () => {
  const files = new Files(["src/**", "./docs/*.md"], ["/home/ada", "/home/ada/inner/"]);
  assert.equal(files.has("/home/ada/src/a/b.py"), true);
  assert.equal(files.has("/home/ada/docs/a.md"), true);
  assert.equal(files.has("/home/ada/docs/deep/a.md"), false);
  assert.equal(files.has("/home/ada/inner/src/a.py"), true);
  assert.equal(files.has("/home/ada/inner/docs/a.md"), true);
  assert.equal(files.has("/home/ada/other/src/a.py"), false);
});

test("a folder whose name only begins alike is another one", () => {
  assert.equal(new Files(["*.md"], ["/home/ada/notes"]).has("/home/ada/notes2/a.md"), false);
});

test("no globs, no files", () => {
  assert.equal(new Files([], ["/home/ada"]).has("/home/ada/a.md"), false);
  assert.equal(new Files([""], ["/home/ada"]).has("/home/ada/a.md"), false);
});

test("what is no list of globs is refused", () => {
  assert.throws(() => new Files([3] as unknown as string[], []), TypeError);
});

test("300 folders and 10,000 files are answered", () => {
  const folders = Array.from({ length: 300 }, (_, number) => `/home/ada/${number}`);
  const files = new Files(["notes/*.md"], folders);
  for (let number = 0; number < 10_000; number += 1) {
    assert.equal(files.has(`/home/ada/${number % 400}/notes/${number}.md`), number % 400 < 300);
  }
});
