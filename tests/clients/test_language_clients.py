"""Language clients that nobody here wrote, with `workspaced lsp` and a real daemon: Neovim's own, and eglot."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from support.daemon import Factory

NVIM = shutil.which("nvim")
NOTES = {"Home.md": "# Home\n\nSee [[Plan#Steps]].\n", "Plan.md": "# The plan\n\n## Steps\n\nBack to [[Home]].\n"}
RUN_S = 120.0
"""Far from what it takes: a busy machine fails no test."""

NEOVIM = """
local answer, wait = {}, 60000
local function ask(client, method, params)
  local done
  client.request(method, params, function(failure, result) done = failure or result or false end,
    vim.api.nvim_get_current_buf())
  assert(vim.wait(wait, function() return done ~= nil end, 10), method)
  return done
end
vim.cmd("edit Home.md")
local id = vim.lsp.start_client({ name = "workspaced", cmd = { vim.env.PYTHON, "-m", "workspaced", "lsp" },
  root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)
assert(vim.wait(wait, function() return vim.lsp.get_client_by_id(id).server_capabilities ~= nil end, 10))
local client = vim.lsp.get_client_by_id(id)
vim.fn.cursor(3, 8)
answer.definition = ask(client, "textDocument/definition", vim.lsp.util.make_position_params())
vim.api.nvim_buf_set_lines(0, 2, 3, false, { "Unsaved [[pl" })
vim.fn.cursor(3, 13)
local params = vim.lsp.util.make_position_params()
params.position.character = 12
answer.completion = ask(client, "textDocument/completion", params)
ask(client, "workspace/executeCommand", { command = "workspaced.settled" })
params.newName = "Start"
params.position = { line = 0, character = 0 }
vim.lsp.util.apply_workspace_edit(ask(client, "textDocument/rename", params), client.offset_encoding)
ask(client, "workspace/executeCommand", { command = "workspaced.settled" })
answer.name = vim.fn.expand("%:t")
vim.fn.writefile({ vim.json.encode(answer) }, vim.env.ANSWER)
vim.cmd("qall!")
"""

EGLOT = """
(require 'eglot)
(require 'json)
(require 'cl-lib)
(define-derived-mode note-mode text-mode "Note")
(add-to-list 'auto-mode-alist '("\\\\.md\\\\'" . note-mode))
(add-to-list 'eglot-server-programs `(note-mode . (,(getenv "PYTHON") "-m" "workspaced" "lsp")))
(setq eglot-connect-timeout 60 eglot-sync-connect 60 eglot-autoshutdown t vc-handled-backends nil)
(find-file "Home.md")
(apply #'eglot--connect (eglot--guess-contact))
(let ((server (eglot-current-server)) answer)
  (goto-char (point-min))
  (search-forward "[[P")
  (eglot--managed-mode 1)
  (push (cons 'definition (jsonrpc-request server :textDocument/definition
                                           (eglot--TextDocumentPositionParams))) answer)
  (push (cons 'references
              (length (jsonrpc-request server :textDocument/references
                                       (append (eglot--TextDocumentPositionParams)
                                               '(:context (:includeDeclaration t)))))) answer)
  (push (cons 'rename (jsonrpc-request server :textDocument/rename
                                       (append (eglot--TextDocumentPositionParams) '(:newName "Later")))) answer)
  (eglot-execute-command server 'workspaced.settled [])
  (with-temp-file (getenv "ANSWER") (insert (json-encode answer)))
  (eglot-shutdown server))
"""


def ran(command: list[str], env: dict[str, str], folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=RUN_S)


@pytest.mark.skipif(NVIM is None, reason="nvim is not installed (Debian: apt-get install neovim)")
def test_neovims_own_client_follows_completes_and_renames(daemon: Factory, tmp_path: Path) -> None:
    running = daemon(notes=NOTES)
    script, answer = tmp_path / "it.lua", tmp_path / "answer.json"
    script.write_text(NEOVIM)
    env = {**running.env, "PYTHON": sys.executable, "ANSWER": str(answer)}
    done = ran(
        [str(NVIM), "--headless", "--clean", "-i", "NONE", "-n", "-c", f"luafile {script}"], env, running.vault
    )
    assert answer.exists(), done.stderr
    found = json.loads(answer.read_text())
    assert found["definition"]["uri"].endswith("/Plan.md")
    assert found["definition"]["range"]["start"]["line"] == 2
    assert [each["textEdit"]["newText"] for each in found["completion"]["items"]] == ["Plan]]"]
    # It applies the whole edit, the rename of the file with it.
    assert found["name"] == "Start.md"
    assert (running.vault / "Start.md").exists()
    assert [each["data"].get("confidence") for each in running.events("view_opened")] == ["inferred"]


@pytest.fixture(scope="module")
def emacs() -> str:
    """The program, which has eglot."""
    program = shutil.which("emacs")
    asked = [program or "false", "--batch", "--eval", "(require 'eglot)"]
    if subprocess.run(asked, capture_output=True).returncode != 0:
        pytest.skip("no emacs with eglot is installed (Debian: apt-get install emacs-nox elpa-eglot)")
    return str(program)


@pytest.mark.thorough
def test_eglot_follows_and_renames_links_alone(emacs: str, daemon: Factory, tmp_path: Path) -> None:
    running = daemon(notes=NOTES)
    script, answer = tmp_path / "it.el", tmp_path / "answer.json"
    script.write_text(EGLOT)
    env = {**running.env, "PYTHON": sys.executable, "ANSWER": str(answer), "TERM": os.environ.get("TERM", "dumb")}
    done = ran([emacs, "--batch", "--load", str(script)], env, running.vault)
    assert answer.exists(), done.stderr
    found = json.loads(answer.read_text())
    assert found["definition"]["uri"].endswith("/Plan.md")
    assert found["references"] == 1
    # It renames no files for a server, so it gets the links alone, and the user a word.
    assert list(found["rename"]) == ["changes"]
    assert "Rename the file Plan.md" in done.stderr
    assert running.events("active_note_set")[0]["data"]["note"] == "Home.md"


@pytest.mark.parametrize("installed", [True, False], ids=["installed", "not installed"])
def test_the_documented_lines_of_emacs_start_the_server_only_where_it_is(
    emacs: str, tmp_path: Path, installed: bool
) -> None:
    page = (ROOT / "docs/how-to/language-clients.md").read_text()
    [lines] = re.findall(r"^```elisp\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "a.md").write_text("# A\n")
    (tmp_path / "init.el").write_text(f"""
(setq eglot-connect-timeout 60 eglot-sync-connect 60 vc-handled-backends nil)
(define-derived-mode markdown-mode text-mode "Markdown")
(add-to-list 'auto-mode-alist '("\\\\.md\\\\'" . markdown-mode))
{lines}
(require 'eglot)
(find-file "{tmp_path}/a.md")
(run-hooks 'post-command-hook)
(princ (list major-mode (and (eglot-current-server) t)))
""")
    (tmp_path / "workspaced").write_text(f'#!/bin/sh\nexec {sys.executable} -m workspaced "$@"\n')
    (tmp_path / "workspaced").chmod(0o755 if installed else 0o644)
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = ran([emacs, "--batch", "--load", str(tmp_path / "init.el")], env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"(markdown-mode {'t' if installed else 'nil'})"
