/**
 * The extension from start to stop. Events of the window only wake the publisher; it looks 50 ms later (editor.ts,
 * sight.ts) and does the rest outside VS Code's thread of extensions.
 */

import * as vscode from "vscode";
import { Publisher, type PublisherStatus } from "workspaced-client/publisher";

import { registerCommands } from "./commands.js";
import { onDidShow, pathOf, shown } from "./editor.js";
import { Files } from "./files.js";
import { LastCalls } from "./last_calls.js";
import { Sight } from "./sight.js";
import { StatusBar } from "./status_bar.js";
import { ToldPage } from "./told_page.js";
import { toldOf } from "./words.js";

/** What other extensions may ask of this one. */
export interface Api {
  /** What is told to whom. */
  told(): PublisherStatus;
  /** Settles once all that happened is told and answered, as far as anybody is there to be told. */
  settled(): Promise<void>;
}

let stop: (() => Promise<void>) | undefined;

export function activate(context: vscode.ExtensionContext): Api {
  const sight = new Sight();
  const bar = new StatusBar();
  let files = readFiles();
  let publisher: Publisher;

  const look = () => sight.view(shown(files, setting("shareSelection", true)));
  const changed = (): void => {
    const status = publisher.status();
    calls.follow(status, (path) => publisher.clientFor(path));
    bar.show(status, (socket) => calls.of(socket));
    page.changed();
  };
  const calls = new LastCalls(changed);
  const page = new ToldPage(() => toldOf(publisher.status()));
  const start = (): Publisher => {
    const socket = setting("socket", "") || process.env["WORKSPACED_SOCKET"] || undefined;
    // Each window has a process of its own, so the number of the window is always 1.
    return new Publisher({ name: `vscode-${process.pid}-1`, commands: "vscode", look, socket, onChange: changed });
  };

  publisher = start();
  stop = () => publisher.stop();
  changed();
  context.subscriptions.push(
    bar,
    page,
    registerCommands({
      publisher: () => publisher,
      noteAt: (uri) => (uri instanceof vscode.Uri ? pathOf(uri, files) : look().active),
      page,
    }),
    onDidShow(() => publisher.touch()),
    vscode.workspace.onDidRenameFiles(({ files: renamed }) => {
      for (const { oldUri, newUri } of renamed) {
        if (oldUri.scheme !== "file" || newUri.scheme !== "file") continue;
        sight.renamed(oldUri.fsPath, newUri.fsPath);
        publisher.renamed(oldUri.fsPath, newUri.fsPath);
      }
    }),
    vscode.workspace.onDidDeleteFiles(({ files: deleted }) => {
      for (const uri of deleted) if (uri.scheme === "file") publisher.deleted(uri.fsPath);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => (files = readFiles())),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("workspaced")) return;
      files = readFiles();
      if (!change.affectsConfiguration("workspaced.socket")) return publisher.touch();
      void publisher.stop();
      publisher = start();
    }),
  );
  return { told: () => publisher.status(), settled: () => publisher.settled() };
}

export function deactivate(): Promise<void> | undefined {
  return stop?.();
}

function setting<Value>(name: string, fallback: Value): Value {
  return vscode.workspace.getConfiguration("workspaced").get(name, fallback);
}

/** The files that may be told; by a setting that makes no sense, Markdown files. */
function readFiles(): Files {
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
  try {
    return new Files(setting<readonly string[]>("files", []), folders);
  } catch {
    void vscode.window.showWarningMessage("workspaced: the setting workspaced.files is no list of globs.");
    return new Files(["**/*.md"], folders);
  }
}
