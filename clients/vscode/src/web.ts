/** VS Code in a browser, where no extension reaches a socket: says so, once it is asked. */

import * as vscode from "vscode";

const NO_SOCKET =
  "workspaced: VS Code in a browser reaches no socket. Open the folder with VS Code on the machine that has it, or remotely by SSH.";
const COMMANDS = ["pin", "unpin", "pause", "resume", "copyContext", "inspect", "connectAgent", "showTold"];

export function activate(context: vscode.ExtensionContext): void {
  const say = (): void => void vscode.window.showWarningMessage(NO_SOCKET);
  for (const name of COMMANDS) {
    context.subscriptions.push(vscode.commands.registerCommand(`workspaced.${name}`, say));
  }
  const item = vscode.window.createStatusBarItem("workspaced", vscode.StatusBarAlignment.Right);
  item.name = "workspaced";
  item.text = "$(eye-closed) workspaced: no socket here";
  item.tooltip = NO_SOCKET;
  item.command = "workspaced.showTold";
  item.show();
  context.subscriptions.push(item);
}
