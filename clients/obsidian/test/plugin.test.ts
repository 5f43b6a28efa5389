/** The plugin, as it is shipped, on a host of ours, with a real daemon. */

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";

import { dialogues, notices, settings, Setting } from "obsidian";
import type { Client, EventType } from "workspaced-client";

import { cleanUp, Daemon, directory } from "../../typescript/test/harness.js";
import { clipboard, Person } from "./person.js";

let home: string;
beforeEach(() => {
  home = directory();
  Object.assign(process.env, { HOME: home, XDG_RUNTIME_DIR: join(home, "run") });
  delete process.env["WORKSPACED_SOCKET"];
  delete process.env["WORKSPACED_WORKSPACE"];
});

const persons: Person[] = [];
after(async () => {
  for (const person of persons) await person.publisher.stop();
  await cleanUp();
});

interface Scene {
  readonly daemon: Daemon;
  readonly person: Person;
  readonly agent: Client;
  /** Absolute, of a note. */
  readonly at: (name: string) => string;
}

async function scene(data: unknown = null): Promise<Scene> {
  const daemon = await Daemon.start({ home });
  const person = await opens(daemon.vault, data);
  return { daemon, person, agent: await daemon.client({ name: "agent" }), at: (name) => join(daemon.vault, name) };
}

async function opens(folder: string, data: unknown = null): Promise<Person> {
  const person = await Person.opens(folder, data);
  persons.push(person);
  return person;
}

/** Types and data of what the user did, as the log has it. */
async function logged({ agent }: Scene, ...types: EventType[]): Promise<unknown[]> {
  const { events } = await agent.request("workspaced/log", { from: 1, types });
  return events.filter(({ source }) => source.startsWith("obsidian")).map(({ type, data }) => [type, data]);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

test("the active leaf is the active note, other Markdown leaves are tabs, also those not loaded", async () => {
  const { person, agent, at } = await scene();
  const deferred = person.restored(at("c.md"));
  person.split(at("a.md"));
  person.split(at("b.md"));
  await person.publisher.settled();
  const state = await agent.state();
  assert.equal(state.activeNote?.id, "b.md");
  assert.deepEqual(
    state.temporaryTabs.map((tab) => tab.noteId),
    ["c.md", "a.md", "b.md"],
  );
  assert.ok(deferred.isDeferred, "it was not loaded for that");
});

test("a note alone is the active note, and no tab", async () => {
  const { person, agent, at } = await scene();
  person.open(at("a.md"));
  person.open(at("b.md"));
  await person.publisher.settled();
  const state = await agent.state();
  assert.deepEqual([state.activeNote?.id, state.temporaryTabs], ["b.md", []]);
});

test("while a graph is in front the note stays active, until it is closed", async () => {
  const { person, agent, at } = await scene();
  person.split(at("a.md"));
  person.openGraph();
  await person.publisher.settled();
  assert.equal((await agent.state()).activeNote?.id, "a.md");
  person.close(at("a.md"));
  await person.publisher.settled();
  assert.equal((await agent.state()).activeNote, null);
});

test("a canvas, a base, a PDF and a picture are told as notes are; what Obsidian says about a file is not", async () => {
  const { person, agent, at } = await scene();
  writeFileSync(at("Board.canvas"), "{}");
  for (const name of ["Paper.pdf", "Shot.png", "Tasks.base"]) writeFileSync(at(name), "");
  for (const name of ["a.md", "Paper.pdf", "Shot.png", "Tasks.base", "Board.canvas"]) person.split(at(name));
  person.openAbout(at("a.md"), "backlink", false);
  person.openAbout(at("a.md"), "localgraph", true);
  person.openAbout(at("a.md"), "somebodys-panel", false);
  await person.publisher.settled();
  const state = await agent.state();
  assert.equal(state.activeNote?.id, "Board.canvas");
  const tabs = state.temporaryTabs.map((tab) => tab.noteId);
  assert.deepEqual(tabs, ["a.md", "Paper.pdf", "Shot.png", "Tasks.base", "Board.canvas"]);
  person.close(at("Board.canvas"));
  person.goTo(at("Paper.pdf"));
  await person.publisher.settled();
  assert.equal((await agent.state()).activeNote?.id, "Paper.pdf");
});

test("pinned leaves are pins, for as long as they are pinned", async () => {
  const { person, agent, at } = await scene();
  person.restored(at("c.md"), true);
  person.split(at("a.md"));
  person.setPinned(at("a.md"), true);
  await person.publisher.settled();
  const pins = async (): Promise<string[]> => (await agent.state()).pinnedNotes.map((pin) => pin.id);
  assert.deepEqual(await pins(), ["c.md", "a.md"]);
  person.setPinned(at("a.md"), false);
  await person.publisher.settled();
  assert.deepEqual(await pins(), ["c.md"]);
});

test("the selection is told with its lines and its text, and its end too", async () => {
  const made = await scene();
  const { person, agent, at } = made;
  writeFileSync(at("long.md"), "one\ntwo\nthree\n");
  person.open(at("long.md"));
  await person.publisher.settled();
  person.select(at("long.md"), 2, 3);
  await person.publisher.settled();
  const { selection } = await agent.state();
  assert.deepEqual([selection?.startLine, selection?.endLine, selection?.text], [2, 3, "two\nthree"]);
});

test("a selection that is not to be shared is told to nobody", async () => {
  const { person, agent, at } = await scene({ shareSelection: false });
  person.open(at("a.md"));
  person.select(at("a.md"), 1, 1);
  await person.publisher.settled();
  assert.equal((await agent.state()).selection ?? null, null);
  assert.equal(person.status().daemons[0]?.vaults[0]?.selection, null);
});

test("of a selection of megabytes only the lines are told", async () => {
  const { person, at } = await scene();
  writeFileSync(at("huge.md"), "0123456789\n".repeat(1_000_000));
  person.open(at("huge.md"));
  await person.publisher.settled();
  person.select(at("huge.md"), 1, 900_000);
  await person.publisher.settled();
  const told = person.status().daemons[0]?.vaults[0];
  assert.deepEqual(told?.selection ?? null, { startLine: 1, endLine: 900_000 });
});

test("a renamed note stays active under its new name, and a deleted one goes", async () => {
  const made = await scene();
  const { person, agent, at } = made;
  person.split(at("a.md"));
  person.openGraph();
  person.rename(at("a.md"), at("z.md"));
  await person.publisher.settled();
  assert.equal((await agent.state()).activeNote?.id, "z.md");
  person.delete(at("z.md"));
  await person.publisher.settled();
  assert.equal((await agent.state()).activeNote, null);
  assert.deepEqual(await logged(made, "note_renamed", "note_deleted"), [
    ["note_renamed", { from: "a.md", to: "z.md" }],
    ["note_deleted", { note: "z.md" }],
  ]);
});

test("a pop-out window belongs to it: its note is active, and its focus is Obsidian's", async () => {
  const { person, agent, at } = await scene();
  person.open(at("a.md"));
  const window = person.popOut(at("b.md"));
  await person.publisher.settled();
  assert.equal((await agent.state()).activeNote?.id, "b.md");
  const isIn = async (): Promise<boolean> => {
    await person.publisher.settled();
    return person.status().daemons[0]?.vaults[0]?.focused ?? false;
  };
  assert.equal(await isIn(), true);
  window.blur();
  assert.equal(await isIn(), false);
  person.focus();
  assert.equal(await isIn(), true);
});

test("the commands pin for agents, pause and resume, and say what became of it", async () => {
  const made = await scene();
  const { person, agent, at } = made;
  assert.equal(person.command("pin"), false, "nothing is open: not offered");
  person.open(at("a.md"));
  await person.publisher.settled();
  assert.equal(await person.commanded("pin"), "Pinned: a.md");
  assert.deepEqual(await logged(made, "note_pinned"), [["note_pinned", { note: "a.md" }]]);
  assert.equal(await person.commanded("unpin"), "Unpinned: a.md");
  assert.equal(await person.commanded("pause"), "Paused: default");
  assert.equal(person.statusBar.text, "workspaced: paused");
  assert.equal((await agent.call("get_current_note")).code, "PAUSED");
  assert.equal(await person.commanded("resume"), "Resumed: default");
  assert.equal(person.statusBar.text, "workspaced: connected");
});

test("the status bar says how it stands, and its hover what is told and who asked last", async () => {
  const { person, agent, at } = await scene();
  assert.equal(person.statusBar.text, "workspaced: idle");
  person.open(at("a.md"));
  await person.publisher.settled();
  await agent.call("get_current_note");
  await until(() => person.statusBar.hover.includes("Last call: get_current_note by agent"));
  assert.ok(person.statusBar.hover.includes("Active note: a.md"));
});

test("the view shows what agents saw, also before Obsidian was opened, and goes on by itself", async () => {
  const daemon = await Daemon.start({ home });
  const agent = await daemon.client({ name: "agent" });
  await agent.call("get_workspace_context", {});
  const person = await opens(daemon.vault);
  person.open(join(daemon.vault, "a.md"));
  await person.app.ribbon.get("What the agent saw")?.();
  const shown = (): string => person.app.workspace.getLeavesOfType("workspaced-calls")[0]?.view.contentEl.text ?? "";
  await until(() => shown().includes("get_workspace_context"));
  await agent.call("get_current_note");
  await until(() => shown().includes("get_current_note"));
  assert.ok(shown().indexOf("get_current_note") < shown().indexOf("get_workspace_context"), "newest first");
});

test("what is told can be seen, from the status bar, the settings and a command", async () => {
  const { person, at } = await scene();
  person.open(at("a.md"));
  person.select(at("a.md"), 1, 1);
  await person.publisher.settled();
  assert.ok(person.command("show-told"));
  const [dialogue] = dialogues.splice(0);
  const text = dialogue?.contentEl.text ?? "";
  assert.ok(text.includes("Active note: a.md"), text);
  assert.ok(text.includes("lines 1 to 1, with their text (7 characters)"), text);
  person.app.statusBar[0]?.dispatchEvent(new Event("click"));
  assert.equal(dialogues.splice(0).length, 1);
});

test("what agents see is copied as an agent gets it", async () => {
  const { person, at } = await scene();
  person.open(at("a.md"));
  await person.publisher.settled();
  assert.equal(await person.commanded("copy-context"), "Copied what agents see.");
  assert.equal(JSON.parse(clipboard).data.activeNote.title, "Alpha");
});

test("another socket in the settings is another daemon", async () => {
  const made = await scene({ socket: "/nowhere/s" });
  const { person, daemon, at } = made;
  person.open(at("a.md"));
  await until(() => person.status().daemons[0]?.state === "lost");
  person.app.settingTabs[0]?.display();
  const [text] = setting("Socket").texts;
  await text?.change(daemon.socket);
  await until(() => person.status().daemons[0]?.state === "connected");
  assert.equal((person.plugin.data as { socket: string }).socket, daemon.socket);
});

test("a daemon is started where the user allowed it, by the program they named", async () => {
  const folder = realpathSync(directory());
  writeFileSync(join(folder, "a.md"), "# A\n");
  const [program, record] = programThatWrites();
  const person = await opens(folder);
  person.plugin.onUserEnable();
  await until(() => dialogues.length > 0);
  assert.ok(dialogues[0]?.contentEl.text.includes(`workspaced serve --vault ${folder}`));
  await setting("Path of the program").texts[0]?.change(program);
  await button("Start when needed");
  await until(() => ran(record).length > 0);
  assert.deepEqual(ran(record), [`publish --vault ${folder} --stdin`]);
  assert.equal((person.plugin.data as { startDaemon: boolean }).startDaemon, true);
});

test("a program that is not there is told with the next step", async () => {
  const folder = realpathSync(directory());
  writeFileSync(join(folder, "a.md"), "# A\n");
  const person = await opens(folder, { startDaemon: true, command: "/nowhere/workspaced" });
  const before = notices.length;
  person.open(join(folder, "a.md"));
  await until(() => notices.length > before);
  assert.ok(notices.at(-1)?.includes("There is no program /nowhere/workspaced"), notices.at(-1));
});

test("an agent is connected by the program's own command", async () => {
  const { person, daemon, at } = await scene();
  const [program, record] = programThatWrites('{"programs":[{"runtime":"zed","title":"Zed","installed":true}]}');
  person.app.settingTabs[0]?.display();
  await setting("Program").texts[0]?.change(program);
  person.open(at("a.md"));
  assert.ok(person.command("connect-agent"));
  await until(() => ran(record).length > 0 && settings.some(({ name }) => name === "Zed"));
  await setting("Zed").buttons[0]?.click();
  assert.deepEqual(ran(record), ["connect --json", `connect zed --vault ${daemon.vault}`]);
});

test("the inspector is opened at the present moment of the daemon that serves the vault", async () => {
  const { person, daemon, agent, at } = await scene();
  const [program, record] = programThatWrites();
  person.app.settingTabs[0]?.display();
  await setting("Program").texts[0]?.change(program);
  person.open(at("a.md"));
  await person.publisher.settled();
  assert.ok(person.command("inspect"));
  await until(() => ran(record).length > 0);
  assert.deepEqual(ran(record), [`inspect --socket ${daemon.socket} --at ${(await agent.state()).seq}`]);
});

test("an inspector that cannot start says why", async () => {
  const { person, at } = await scene({ command: "/nowhere/workspaced" });
  person.open(at("a.md"));
  await person.publisher.settled();
  const before = notices.length;
  assert.ok(person.command("inspect"));
  await until(() => notices.length > before);
  assert.ok(notices.at(-1)?.includes("There is no program /nowhere/workspaced"), notices.at(-1));
});

test("the plugin that is switched off takes its view back and hears of nothing", async () => {
  const { person, agent, at } = await scene();
  person.open(at("a.md"));
  await person.publisher.settled();
  const { publisher } = person;
  person.plugin.unload();
  await publisher.stop();
  assert.equal((await agent.state()).activeNote, null);
  person.open(at("b.md"));
  assert.equal(person.app.workspace.activeFile?.path, "b.md");
  assert.equal((await agent.state()).activeNote, null);
});

/** The latest setting of this name. */
function setting(name: string): Setting {
  const found = settings.filter((each) => each.name === name).at(-1);
  assert.ok(found, `no setting is called ${name}`);
  return found;
}

async function button(text: string): Promise<void> {
  const buttons = settings.flatMap((each) => each.buttons);
  await buttons.filter((each) => each.text === text).at(-1)?.click();
}

/** A program that notes with which words it was run, and the file in which it does. */
function programThatWrites(output = ""): [string, string] {
  const folder = join(directory(), "bin");
  mkdirSync(folder);
  const [program, record] = [join(folder, "workspaced"), join(folder, "ran")];
  writeFileSync(record, "");
  writeFileSync(program, `#!/bin/sh\necho "$*" >> ${record}\necho '${output}'\n`);
  chmodSync(program, 0o755);
  return [program, record];
}

function ran(record: string): string[] {
  return readFileSync(record, "utf8").split("\n").filter((line) => line !== "");
}
