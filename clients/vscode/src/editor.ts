/** Reads what VS Code shows, this very moment. Changes nothing, touches no file, waits for nothing. */

import * as vscode from "vscode";
import type { EditorView } from "workspaced-client/publisher";

import type { Files } from "./files.js";
import type { Shown, Tab } from "./sight.js";

/** As the publisher has it: of a longer selection only the lines are told, so its text need not be fetched. */
const SELECTION_CHARS_MAX = 65_536;

/** Every event after which the window may show something else. */
export function onDidShow(listener: () => void): vscode.Disposable {
  const events: vscode.Event<unknown>[] = [
    vscode.window.tabGroups.onDidChangeTabs,
    vscode.window.tabGroups.onDidChangeTabGroups,
    vscode.window.onDidChangeActiveTextEditor,
    vscode.window.onDidChangeTextEditorSelection,
    vscode.window.onDidChangeWindowState,
    vscode.workspace.onDidSaveTextDocument, // a new file lies somewhere from now on
    vscode.workspace.onDidChangeWorkspaceFolders,
  ];
  return vscode.Disposable.from(...events.map((event) => event(() => listener())));
}

export function shown(files: Files, sharesSelection: boolean): Shown {
  const { all, activeTabGroup } = vscode.window.tabGroups;
  return {
    isFocused: vscode.window.state.focused,
    groups: all.map((group) => ({
      isActive: group === activeTabGroup,
      tabs: group.tabs.map((tab) => tabOf(tab, files)),
    })),
    selection: sharesSelection ? selected(vscode.window.activeTextEditor, files) : null,
  };
}

/** The path of a file that may be told, or null: what was never saved lies nowhere, what lies elsewhere is no file. */
export function pathOf(uri: vscode.Uri | undefined, files: Files): string | null {
  return uri?.scheme === "file" && files.has(uri.fsPath) ? uri.fsPath : null;
}

/** A text, a notebook or an editor of somebody's own, such as for pictures; diffs, settings and previews show no file. */
function tabOf({ input, isActive, isPinned, isPreview }: vscode.Tab, files: Files): Tab {
  const isFile = [vscode.TabInputText, vscode.TabInputCustom, vscode.TabInputNotebook].some((kind) => input instanceof kind);
  const { uri } = isFile ? (input as { uri: vscode.Uri }) : {};
  return { path: pathOf(uri, files), isActive, isPinned, isPreview };
}

/** The first selection, which is the one that the user made last; null of a mere cursor. */
function selected(editor: vscode.TextEditor | undefined, files: Files): EditorView["selection"] {
  if (editor === undefined || editor.selection.isEmpty) return null;
  const { document, selection } = editor;
  const path = pathOf(document.uri, files);
  if (path === null) return null;
  const endsBefore = selection.end.character === 0; // the end of the line before: whole lines were selected
  const lines = {
    startLine: selection.start.line + 1,
    endLine: Math.max(selection.start.line + 1, selection.end.line + (endsBefore ? 0 : 1)),
  };
  const isLong = document.offsetAt(selection.end) - document.offsetAt(selection.start) > SELECTION_CHARS_MAX;
  return isLong ? { path, ...lines } : { path, ...lines, text: document.getText(selection) };
}
