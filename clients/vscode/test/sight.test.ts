import assert from "node:assert/strict";
import { test } from "node:test";

import { type Group, type Shown, Sight, type Tab } from "../src/sight.js";

const tab = (path: string | null, more: Partial<Tab> = {}): Tab => ({
  path,
  isActive: false,
  isPinned: false,
  isPreview: false,
  ...more,
});
const front = (path: string | null, more: Partial<Tab> = {}): Tab => tab(path, { isActive: true, ...more });
const group = (...tabs: Tab[]): Group => ({ isActive: false, tabs });
const here = (...tabs: Tab[]): Group => ({ isActive: true, tabs });
const shown = (groups: Group[], more: Partial<Shown> = {}): Shown => ({
  isFocused: true,
  groups,
  selection: null,
  ...more,
});
const paths = (tabs: readonly { readonly path: string }[]): string[] => tabs.map(({ path }) => path);

test("the note in front of the group with the focus is the active one", () => {
  const view = new Sight().view(shown([group(front("/v/a.md")), here(tab("/v/b.md"), front("/v/c.md"))]));
  assert.equal(view.active, "/v/c.md");
});

test("what each group shows is a tab, group by group; what lies behind is none", () => {
  const groups = [group(tab("/v/x.md"), front("/v/b.md")), here(front("/v/a.md"), tab("/v/y.md"))];
  assert.deepEqual(paths(new Sight().view(shown(groups)).tabs), ["/v/b.md", "/v/a.md"]);
});

test("a preview tab is a tab by navigation, also behind another one", () => {
  const groups = [here(front("/v/a.md"), tab("/v/look.md", { isPreview: true }))];
  assert.deepEqual(new Sight().view(shown(groups)).tabs, [
    { path: "/v/a.md", source: "navigation" },
    { path: "/v/look.md", source: "navigation" },
  ]);
});

test("a note shown twice is one tab", () => {
  const groups = [group(front("/v/a.md")), here(front("/v/a.md"))];
  assert.deepEqual(paths(new Sight().view(shown(groups)).tabs), ["/v/a.md"]);
});

test("pinned tabs are pins, wherever they lie, each once", () => {
  const pinned = { isPinned: true };
  const groups = [group(tab("/v/p.md", pinned), front("/v/a.md")), here(front("/v/p.md", pinned), tab("/v/q.md", pinned))];
  assert.deepEqual(new Sight().view(shown(groups)).pins, ["/v/p.md", "/v/q.md"]);
});

test("what is no note in front leaves the last note active, until that one is closed", () => {
  const sight = new Sight();
  sight.view(shown([here(front("/v/a.md"))]));
  assert.equal(sight.view(shown([here(tab("/v/a.md"), front(null))])).active, "/v/a.md");
  assert.equal(sight.view(shown([here(front(null))])).active, null);
  assert.equal(sight.view(shown([here(tab("/v/a.md"), front(null))])).active, null, "it was closed");
});

test("an active note that is renamed behind what is no note stays active", () => {
  const sight = new Sight();
  sight.view(shown([here(front("/v/old/a.md"))]));
  sight.renamed("/v/old", "/v/new");
  assert.equal(sight.view(shown([here(tab("/v/new/a.md"), front(null))])).active, "/v/new/a.md");
  sight.renamed("/v/new/a.md", "/v/new/b.md");
  assert.equal(sight.view(shown([here(tab("/v/new/b.md"), front(null))])).active, "/v/new/b.md");
});

test("a selection counts only in the active note", () => {
  const selection = { path: "/v/a.md", startLine: 1, endLine: 2, text: "x" };
  const sight = new Sight();
  assert.deepEqual(sight.view(shown([here(front("/v/a.md"))], { selection })).selection, selection);
  assert.equal(sight.view(shown([here(front("/v/b.md"))], { selection })).selection, null);
});

test("whether the user is in this window is told as it is", () => {
  assert.equal(new Sight().view(shown([here(front("/v/a.md"))], { isFocused: false })).focused, false);
});

test("a window without tabs shows nothing", () => {
  const nothing = { active: null, focused: true, tabs: [], pins: [], selection: null };
  assert.deepEqual(new Sight().view(shown([])), nothing);
  assert.deepEqual(new Sight().view(shown([here()])), nothing);
});
