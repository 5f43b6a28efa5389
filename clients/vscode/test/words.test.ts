import assert from "node:assert/strict";
import { test } from "node:test";

import type { DaemonStatus, PublisherStatus, VaultStatus } from "workspaced-client/publisher";

import { conditionOf, hoverOf, toldOf } from "../src/words.js";

const vault = (more: Partial<VaultStatus>): VaultStatus => ({
  id: "notes",
  path: "/home/ada/notes",
  active: null,
  focused: true,
  tabs: [],
  pins: [],
  selection: null,
  ...more,
});
const daemon = (more: Partial<DaemonStatus> = {}): DaemonStatus => ({
  socket: "/run/w.sock",
  state: "connected",
  version: "9.9.9",
  vaults: [vault({ active: "Plan.md", tabs: ["Plan.md", "Idea.md"], pins: ["Home.md"] })],
  ...more,
});
const status = (more: Partial<PublisherStatus> = {}): PublisherStatus => ({
  daemons: [daemon()],
  unserved: [],
  waiting: 0,
  ...more,
});
const paused = { since: "2026-01-01T00:00:00Z" };
const nobody = (): undefined => undefined;

test("the condition is that of the connected daemons; one that goes on counts more than one that is paused", () => {
  assert.equal(conditionOf(status()), "connected");
  assert.equal(conditionOf(status({ daemons: [] })), "not found");
  assert.equal(conditionOf(status({ daemons: [daemon({ state: "lost" })] })), "not found");
  assert.equal(conditionOf(status({ daemons: [daemon({ paused })] })), "paused");
  assert.equal(conditionOf(status({ daemons: [daemon({ paused }), daemon()] })), "connected");
});

test("the hover names vault, active note and the last call by whom", () => {
  const call = { tool: "get_current_note", caller: "claude-code", time: "2026-01-01T10:00:00Z" };
  const hover = hoverOf(status(), (socket) => (socket === "/run/w.sock" ? call : undefined));
  for (const part of ["/home/ada/notes", "Plan.md", "get_current_note", "claude-code"]) assert.ok(hover.includes(part), part);
  assert.match(hoverOf(status(), nobody), /No agent has called/);
});

test("the hover says a pause and its end", () => {
  assert.match(hoverOf(status({ daemons: [daemon({ paused })] }), nobody), /Paused until you resume/);
  const until = { ...paused, until: "2026-01-01T10:00:00Z" };
  assert.match(hoverOf(status({ daemons: [daemon({ paused: until })] }), nobody), /Paused until \d/);
});

test("without a daemon the hover says the next step", () => {
  const hover = hoverOf(status({ daemons: [], unserved: ["/home/ada/notes/a.md"] }), nobody);
  assert.ok(hover.includes("/home/ada/notes/a.md") && hover.includes("workspaced start"));
  const refused = daemon({ state: "lost", problem: "The socket belongs to another user." });
  assert.match(hoverOf(status({ daemons: [refused] }), nobody), /another user/);
});

test("a name with backticks does not end its code in the hover", () => {
  const vaults = [vault({ active: "a`[x](command:y)`.md" })];
  assert.ok(hoverOf(status({ daemons: [daemon({ vaults })] }), nobody).includes("`a'[x](command:y)'.md`"));
});

test("of a selection the lines are written down, and whether its text is told", () => {
  const told = (selection: VaultStatus["selection"]): string =>
    toldOf(status({ daemons: [daemon({ vaults: [vault({ selection })] })] }));
  assert.match(told({ startLine: 2, endLine: 5, text: "x" }), /selection: lines 2 to 5, with its text/);
  assert.match(told({ startLine: 2, endLine: 2 }), /selection: line 2, without its text/);
  assert.match(told(null), /selection: none/);
});

test("what is told is written down whole", () => {
  const text = toldOf(status({ unserved: ["/elsewhere/b.md"], waiting: 2, problem: "look failed" }));
  for (const part of ["9.9.9", "Plan.md, Idea.md", "Home.md", "/elsewhere/b.md", "2 pins, renames", "look failed"]) {
    assert.ok(text.includes(part), part);
  }
});
