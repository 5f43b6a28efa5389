/**
 * Does in a window of VS Code what a test says: one JSON object a line, `code` run with `args`, answered by its result.
 *
 * window.json lies beside the settings of the window's folder; it names the test's socket and
 * the environment of the window: windows of one server share a process's environment otherwise. This extension starts
 * before the other one.
 */

const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const readline = require("node:readline");
const vscode = require("vscode");

const AsyncFunction = (async () => undefined).constructor;
const UNTIL_MS = 40_000;

/** Waits until something holds. */
async function until(holds) {
  const ends = Date.now() + UNTIL_MS;
  for (let found; !(found = await holds()); await new Promise((resolve) => setTimeout(resolve, 5))) {
    if (Date.now() > ends) throw new Error(`This never held: ${holds}`);
  }
}

/** What the extension gives to others. */
async function api() {
  return vscode.extensions.getExtension("workspaced.workspaced").activate();
}

async function answer({ id, code, args }) {
  try {
    const result = await new AsyncFunction("vscode", "api", "until", "args", code)(vscode, api, until, args);
    return { id, result: result ?? null };
  } catch (error) {
    return { id, error: String(error?.stack ?? error) };
  }
}

exports.activate = () => {
  const beside = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, ".vscode");
  const { socket, env } = JSON.parse(fs.readFileSync(path.join(beside, "window.json"), "utf8"));
  for (const name of Object.keys(process.env)) if (/^(WORKSPACED|XDG)_/.test(name)) delete process.env[name];
  Object.assign(process.env, env);
  const connection = net.connect(socket);
  connection.on("error", () => undefined); // the test has ended
  connection.write(`${JSON.stringify({ pid: process.pid })}\n`);
  readline.createInterface({ input: connection }).on("line", (line) => {
    void answer(JSON.parse(line)).then((said) => connection.write(`${JSON.stringify(said)}\n`));
  });
};
