/** How the daemon is found without being told its socket. */

import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, beforeEach, test } from "node:test";

import { type Client, findDaemon, runningDaemons } from "workspaced-client";

import { cleanUp, client, Daemon, directory, failure, Fake } from "./harness.js";

let home: string;
beforeEach(() => {
  home = directory();
  const runtime = join(home, "run");
  Object.assign(process.env, { HOME: home, XDG_RUNTIME_DIR: runtime });
  delete process.env["WORKSPACED_SOCKET"];
  delete process.env["WORKSPACED_WORKSPACE"];
});
after(cleanUp);

function recordsFolder(): string {
  const below = process.platform === "darwin" ? "Library/Application Support" : ".local/state";
  const made = join(home, below, "workspaced", "daemons");
  mkdirSync(made, { recursive: true, mode: 0o700 });
  chmodSync(made, 0o700);
  return made;
}

/** A record as a daemon leaves it; returns its path. */
function record(fake: { socket: string }, more: Record<string, unknown> = {}, mode = 0o600): string {
  const name = `${String(more["workspace"] ?? "default")}-${basename(join(fake.socket, ".."))}.json`;
  const path = join(recordsFolder(), name);
  const content = { workspaced: 1, host: hostname(), pid: 1, socket: fake.socket, workspace: "default" };
  const text = JSON.stringify({ ...content, version: "0", dataDir: "/d", vaults: ["/notes"], ...more });
  writeFileSync(path, text, { mode });
  return path;
}

/** The method the fake was asked first, which tells that the client found it. */
async function reaches(options: Parameters<typeof client>[0], fake: Fake): Promise<void> {
  const before = fake.params("workspaced/hello").length;
  const made: Client = await client(options);
  await made.close();
  assert.equal(fake.params("workspaced/hello").length, before + 1);
}

test("a real daemon is found by its folder, by one below it, by its workspace, and by running alone", async () => {
  const daemon = await Daemon.start({ home, workspace: "mine" });
  const vault = realpathSync(daemon.vault);
  mkdirSync(join(vault, "deep/er"), { recursive: true });
  const [found, ...others] = await runningDaemons();
  assert.deepEqual(others, []);
  assert.equal(found?.socket, daemon.socket);
  assert.deepEqual(found?.vaults, [vault]);
  assert.deepEqual(await findDaemon(join(vault, "deep/er")), found);
  assert.equal(await findDaemon(daemon.root), undefined);
  for (const options of [{ folder: vault }, { folder: `${vault}/deep` }, { workspace: "mine" }, {}]) {
    const made = await client(options);
    assert.equal(made.server?.workspace, "mine");
    await made.close();
  }
  await daemon.stop();
  assert.deepEqual(await runningDaemons(), []);
});

test("without any daemon it says so", async () => {
  assert.equal((await failure(client({}))).code, "NO_DAEMON");
  assert.equal((await failure(client({ folder: home }))).code, "NO_DAEMON");
  assert.equal((await failure(client({ workspace: "none" }))).code, "NO_DAEMON");
  assert.equal((await failure(client({ workspace: "No Name" }))).code, "INVALID_ARGUMENT");
});

test("the daemon that serves the nearest folder is meant", async () => {
  const [outer, inner] = [await Fake.start(), await Fake.start()];
  const folder = realpathSync(directory());
  mkdirSync(join(folder, "in/side"), { recursive: true });
  record(outer, { workspace: "outer", vaults: [folder] });
  record(inner, { workspace: "inner", vaults: ["/elsewhere", join(folder, "in")] });
  await reaches({ folder: join(folder, "in/side") }, inner);
  await reaches({ folder }, outer);
  await reaches({ folder: join(folder, "inwards") }, outer);
});

test("what is named wins: socket, workspace, then the environment", async () => {
  const [one, two] = [await Fake.start(), await Fake.start()];
  record(one, { workspace: "one" });
  record(two, { workspace: "two" });
  process.env["WORKSPACED_SOCKET"] = one.socket;
  await reaches({ socket: two.socket }, two);
  await reaches({ workspace: "two" }, two);
  await reaches({}, one);
  process.env["WORKSPACED_SOCKET"] = "";
  process.env["WORKSPACED_WORKSPACE"] = "two";
  await reaches({}, two);
});

test("of several daemons none is guessed", async () => {
  const [one, two] = [await Fake.start(), await Fake.start()];
  record(one, { workspace: "one" });
  record(two, { workspace: "two" });
  const error = await failure(client({}));
  assert.equal(error.code, "NO_DAEMON");
  assert.match(error.hint, /one \(serves \/notes\); two/);
});

test("a workspace that serves another folder than the one named is not taken", async () => {
  const fake = await Fake.start();
  record(fake, { workspace: "one" });
  const error = await failure(client({ workspace: "one", folder: home }));
  assert.match(error.message, /serves \/notes, not/);
});

test("a daemon that could leave no record is found at its default socket", async () => {
  const fake = await Fake.start();
  mkdirSync(join(home, "run/workspaced"), { recursive: true });
  symlinkSync(fake.socket, join(home, "run/workspaced/default.sock"));
  await reaches({}, fake);
});

test("a socket in a folder that others can write to is not connected to", async () => {
  const fake = await Fake.start();
  const folder = dirname(fake.socket);
  for (const mode of [0o770, 0o707, 0o777]) {
    chmodSync(folder, mode);
    const error = await failure(client({ socket: fake.socket }));
    assert.equal(error.code, "NO_DAEMON");
    assert.match(error.hint, /chmod 700/);
  }
  chmodSync(folder, 0o1777); // like /tmp: nobody else can put another file in the place of ours
  await reaches({ socket: fake.socket }, fake);
});

const NOBODY = 65_534;
const asRoot = process.getuid?.() === 0 ? false : "needs root to give files away";
test("nor is one in a folder of another user, or one of another user", { skip: asRoot }, async () => {
  const [inTheirs, theirs] = [await Fake.start(), await Fake.start()];
  chownSync(dirname(inTheirs.socket), NOBODY, NOBODY);
  chownSync(theirs.socket, NOBODY, NOBODY);
  for (const fake of [inTheirs, theirs]) {
    const error = await failure(client({ socket: fake.socket }));
    assert.equal(error.code, "NO_DAEMON");
    assert.match(error.message, /another user/);
    assert.equal(fake.asked.length, 0);
  }
});

/** Moves the folder of a fake's socket into one more folder; returns both. */
function lower(fake: Fake): { above: string; socket: string } {
  const above = realpathSync(directory());
  renameSync(dirname(fake.socket), join(above, "in"));
  return { above, socket: join(above, "in", basename(fake.socket)) };
}

test("nor is one below a folder that others can write to", async () => {
  const fake = await Fake.start();
  const { above, socket } = lower(fake);
  for (const mode of [0o770, 0o707, 0o777]) {
    chmodSync(above, mode);
    const error = await failure(client({ socket }));
    assert.equal(error.code, "NO_DAEMON");
    assert.ok(error.message.includes(`the folder ${above} `), error.message);
  }
  chmodSync(above, 0o1777);
  await reaches({ socket }, fake);
});

test("nor is one below a folder of another user", { skip: asRoot }, async () => {
  const fake = await Fake.start();
  const { above, socket } = lower(fake);
  chownSync(above, NOBODY, NOBODY);
  const error = await failure(client({ socket }));
  assert.equal(error.code, "NO_DAEMON");
  assert.match(error.message, /another user/);
  assert.equal(fake.asked.length, 0);
});

test("a file of ours that is no socket is not connected to", async () => {
  const file = join(home, "file");
  writeFileSync(file, "");
  symlinkSync(file, join(home, "s"));
  for (const socket of [file, join(home, "s"), home]) {
    const error = await failure(client({ socket }));
    assert.equal(error.code, "NO_DAEMON");
    assert.match(error.message, /is no socket/);
  }
});

test("a symlink that is changed after it was looked at leads nowhere else", async (context) => {
  const [ours, stranger] = [await Fake.start(), await Fake.start()];
  const socket = join(home, "s");
  symlinkSync(ours.socket, socket);
  const { connect } = net;
  const changeFirst = (...args: Parameters<typeof connect>): net.Socket => {
    rmSync(socket);
    symlinkSync(stranger.socket, socket);
    return connect(...args);
  };
  context.after(() => {
    Object.assign(net, { connect });
    syncBuiltinESMExports();
  });
  Object.assign(net, { connect: changeFirst });
  syncBuiltinESMExports();
  await reaches({ socket }, ours);
  assert.equal(realpathSync(socket), realpathSync(stranger.socket));
  assert.equal(stranger.connections, 0);
});

test("a socket whose real path is too long for the system is refused instead of cut", async () => {
  const fake = await Fake.start();
  const folder = join(realpathSync(directory()), "f".repeat(110));
  renameSync(dirname(fake.socket), folder);
  const socket = join(home, "s");
  symlinkSync(join(folder, basename(fake.socket)), socket);
  const error = await failure(client({ socket }));
  assert.equal(error.code, "NO_DAEMON");
  assert.match(error.message, /longer than/);
});

test("records of dead daemons are swept, and nothing else is", async () => {
  const dead = record({ socket: join(home, "gone/s") }, { workspace: "dead" });
  const foreign = record({ socket: join(home, "away/s") }, { workspace: "foreign", host: "another" });
  const garbage = join(recordsFolder(), "garbage.json");
  writeFileSync(garbage, "{", { mode: 0o600 });
  assert.deepEqual(await runningDaemons(), []);
  assert.deepEqual([existsSync(dead), existsSync(foreign), existsSync(garbage)], [false, true, true]);
});

test("what is not plainly ours is not believed", async () => {
  const fake = await Fake.start();
  const open = record(fake, { workspace: "open" }, 0o600);
  chmodSync(open, 0o644);
  const other = join(home, "other.json");
  writeFileSync(other, "{}", { mode: 0o600 });
  symlinkSync(other, join(recordsFolder(), "link.json"));
  record(fake, { workspace: "relative", socket: "s" });
  record(fake, { workspace: "newer", workspaced: 2 });
  record(fake, { workspace: "vaults", vaults: "all" });
  assert.deepEqual(await runningDaemons(), []);
  chmodSync(open, 0o600);
  assert.equal((await runningDaemons()).length, 1);
  chmodSync(recordsFolder(), 0o755);
  assert.deepEqual(await runningDaemons(), []);
});
