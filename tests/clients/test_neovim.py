"""The Neovim plugin: a real, headless editor, driven over its own RPC, tells a real daemon what it shows."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ROOT
from support.neovim import ANSWER_S, NVIM, PLUGIN, Editor
from support.publishers.desk import shown

pytestmark = pytest.mark.skipif(NVIM is None, reason="nvim is not installed (Debian: apt-get install neovim)")


@pytest.fixture
def editor() -> Iterator[Callable[..., Editor]]:
    """`editor(daemon)`: an editor in the home of the daemon's user, in the vault's folder."""
    made: list[Editor] = []

    def start(running: Any, *, setup: str = "", env: dict[str, str] | None = None) -> Editor:
        home = Path(running.env["HOME"])
        made.append(Editor(home, running.vault, {**running.env, **(env or {})}, setup))
        return made[-1]

    yield start
    for each in made:
        each.close()


def events(client: Any, *, of_editor: bool = True) -> list[dict[str, Any]]:
    """Everything in the log, or what editors published."""
    found: list[dict[str, Any]] = client.call("workspaced/log", {"from": 1})["events"]
    return [event for event in found if not of_editor or event["source"].startswith("neovim")]


def until_type(client: Any, wanted: str, since: int = 0) -> None:
    """Waits for an event of that type after sequence `since`; one that is there already counts too."""
    next(iter(client.events(since=since, types=[wanted])))


# -- what is shown --


def test_windows_become_active_note_tabs_and_pins_and_go_when_closed(daemon: Any, editor: Any) -> None:
    running = daemon()
    client, nvim = running.connect(), editor(running)

    def shows(note: str | None, tabbed: list[str], pinned: list[str]) -> None:
        nvim.settled()
        assert shown(client.state()) == (note, tabbed, pinned)

    nvim.do("edit a.md")
    shows("a.md", [], [])
    nvim.do("edit b.md")
    shows("b.md", [], [])
    nvim.do("split a.md")
    shows("a.md", ["b.md", "a.md"], [])
    nvim.do("wincmd p")
    shows("b.md", ["b.md", "a.md"], [])
    nvim.do("WorkspacedPin")
    shows("b.md", ["a.md"], ["b.md"])
    assert "workspaced: pinned b.md" in nvim.messages()
    nvim.do("pedit c.md")
    shows("b.md", ["a.md", "c.md"], ["b.md"])
    nvim.do("tabedit work/plan.md")
    shows("work/plan.md", ["a.md", "c.md", "work/plan.md"], ["b.md"])
    nvim.do("tabclose", "pclose")
    shows("b.md", ["a.md"], ["b.md"])
    nvim.do("WorkspacedUnpin")
    shows("b.md", ["b.md", "a.md"], [])
    nvim.do("%bdelete")
    shows(None, [], [])
    nvim.do("edit c.md", "split a.md", "WorkspacedPin")
    shows("a.md", ["c.md"], ["a.md"])
    before = client.call("workspaced/status")["seq"]
    nvim.quit()
    until_type(client, "temporary_tab_closed", since=before)
    until_type(client, "active_note_cleared", since=before)
    last = client.state()
    assert shown(last)[1:] == ([], ["a.md"]), "pins outlast the editor"


def test_what_is_no_note_keeps_the_last_one_until_it_is_closed(shared: Any, editor: Any) -> None:
    (shared.vault / ".code.py").write_text("pass\n")
    client, nvim = shared.connect(), editor(shared)
    floating = "{'relative':'editor','width':9,'height':3,'row':0,'col':0}"
    for away in (
        *("edit .code.py", "enew", "terminal", "help", "vsplit .code.py", "edit scratch://x.md"),
        f"call nvim_open_win(bufadd('b.md'), 1, {floating})",
    ):
        nvim.do("edit a.md")
        nvim.settled()
        before = len(events(client))
        nvim.do(away)
        nvim.settled()
        assert shown(client.state()).active == "a.md" and len(events(client)) == before, away
        if "nvim_open_win" in away:
            nvim.do("wincmd p")  # from within a floating window Neovim deletes no buffer
        nvim.do("bdelete! a.md", "only")
        nvim.settled()
        assert shown(client.state())[:2] == (None, []), away
    nvim.do("enew", "WorkspacedPin")
    assert "no file" in nvim.messages()


def test_a_vault_reached_over_a_symlink_is_the_vault(shared: Any, editor: Any) -> None:
    client, nvim = shared.connect(), editor(shared)
    link = shared.root / "link"
    link.symlink_to(shared.vault)
    (shared.vault / "alias.md").symlink_to("b.md")
    nvim.do(f"edit {link}/work/plan.md")
    nvim.settled()
    assert shown(client.state()).active == "work/plan.md"
    nvim.do("edit alias.md")
    nvim.settled()
    assert shown(client.state()).active == "b.md"


def test_a_selection_is_told_once_it_rests_and_ends_when_the_cursor_goes_on(daemon: Any, editor: Any) -> None:
    running = daemon(notes={"a.md": "eins\nzwei žluť\ndrei\n", "b.md": "x\n"})
    client, nvim = running.connect(), editor(running)
    nvim.do("edit a.md")
    nvim.settled()

    def selected(number: int) -> tuple[int, int, str]:
        for _, notice in zip(range(number), client.events(since=0, types=["selection_changed"]), strict=False):
            found = notice.params["events"][-1]["data"]
        assert found["note"] == "a.md"
        return found["startLine"], found["endLine"], found["text"]

    nvim.keys("vjl")
    assert selected(1) == (1, 2, "eins\nzw")
    nvim.keys("<Esc>2GV")
    assert selected(2) == (2, 2, "zwei žluť")
    nvim.keys("<Esc>0wlvl")
    assert selected(3) == (2, 2, "lu")
    nvim.keys("<Esc>G")
    assert selected(4) == (2, 2, ""), "where the selection was; the cursor alone is told to nobody"
    nvim.keys("gg0<C-V>jl")
    assert selected(5) == (1, 2, "ei\nzw")
    nvim.keys("<Esc>")
    nvim.do("edit b.md")
    nvim.settled()
    assert client.state()["selection"] is None


def test_without_the_setting_no_selection_is_told(shared: Any, editor: Any) -> None:
    client = shared.connect()
    nvim = editor(shared, setup="require('workspaced').setup({ selection = false })")
    nvim.do("edit a.md")
    nvim.settled()
    nvim.keys("V")
    nvim.until("vim.api.nvim_get_mode().mode == 'V'")
    nvim.settled()
    assert not nvim.lua("return vim.tbl_isempty(vim.api.nvim_get_autocmds({ group = 'workspaced' }))")
    assert "selection_changed" not in [event["type"] for event in events(client)]


# -- names --


def test_a_file_renamed_in_the_editor_is_a_renamed_note_and_a_copy_is_not(daemon: Any, editor: Any) -> None:
    running = daemon("--no-watch")
    client, nvim = running.connect(), editor(running)
    nvim.do("edit a.md", "WorkspacedPin")
    nvim.settled()
    nvim.do("saveas copy.md")
    nvim.settled()
    assert shown(client.state()).active == "copy.md" and shown(client.state()).pins == ["a.md"]
    nvim.do("edit a.md")
    nvim.settled()
    nvim.do("call rename('a.md', 'new.md')", "file new.md", "write!")
    nvim.until("s.renames == 0")  # past the second look at what `:saveas` left
    nvim.settled()
    state = client.state()
    assert shown(state).active == "new.md" and shown(state).pins == ["new.md"]
    renames = [event["data"] for event in events(client) if event["type"] == "note_renamed"]
    assert renames == [{"from": "a.md", "to": "new.md"}]


# -- who is told --


@pytest.mark.parametrize("spoilt", ["garbage", "open to others", "another host", "a folder open to others"])
def test_a_record_that_is_not_plainly_ours_is_not_believed(daemon: Any, editor: Any, spoilt: str) -> None:
    running = daemon()
    (record,) = (running.root / "home").glob("**/daemons/*.json")
    match spoilt:
        case "garbage":
            record.write_text('{"workspaced": 1, "vaults": [7]')
        case "open to others":
            record.chmod(0o644)
        case "another host":
            record.write_text(record.read_text().replace(socket.gethostname(), "elsewhere"))
        case _:
            record.parent.chmod(0o755)
    nvim = editor(running)
    nvim.do("edit a.md")
    nvim.until("#s.unserved == 1")
    nvim.looked()
    assert nvim.status()["daemons"] == []
    record.parent.chmod(0o700)


def test_a_busy_daemon_is_told_again(daemon: Any, editor: Any) -> None:
    running = daemon(start=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(running.socket))
        listening.listen()
        listening.settimeout(ANSWER_S)
        nvim = editor(running, env={"WORKSPACED_SOCKET": str(running.socket)})
        nvim.do("edit a.md")
        connection, _ = listening.accept()
    vaults = [{"id": "v", "path": str(running.vault)}]
    busy = {"code": 4002, "message": "Too much waits.", "data": {"code": "BUSY", "retryAfterMs": 5}}
    with connection, connection.makefile("rw") as lines:
        connection.settimeout(ANSWER_S)
        asked = []
        greets: list[dict[str, Any]] = [{"result": {"vaults": vaults}}, {"result": {"subscription": "pauses"}}]
        for answer in [*greets, {"error": busy}, {"error": busy}, {"result": {"events": []}}]:
            request = json.loads(lines.readline())
            asked.append(request)
            lines.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
            lines.flush()
        nvim.settled()
        methods = [request["method"].removeprefix("workspaced/") for request in asked]
        assert methods == ["hello", "subscribe", "snapshot", "snapshot", "snapshot"]
        assert asked[2]["params"] == asked[3]["params"] == asked[4]["params"]
        assert asked[2]["params"]["active"] == "a.md"


@pytest.fixture
def listening(daemon: Any) -> Iterator[tuple[Any, Path, socket.socket]]:
    """A daemon that is not started, and two folders, in the inner of which something listens."""
    running = daemon(start=False)
    folder = running.root / "a" / "b"
    folder.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s"))
        listening.listen()
        listening.settimeout(ANSWER_S)
        yield running, folder, listening


def greeted(listening: socket.socket) -> bool:
    connection, _ = listening.accept()
    with connection:
        connection.settimeout(ANSWER_S)
        return bool(json.loads(connection.recv(65_536))["method"] == "workspaced/hello")


@pytest.mark.fault(row=55)
@pytest.mark.parametrize(("above", "mode"), [(0, 0o770), (1, 0o707)], ids=["its folder", "the one above"])
def test_a_socket_below_a_folder_that_others_can_write_to_is_not_connected_to(
    listening: Any, editor: Any, above: int, mode: int
) -> None:
    running, folder, waits = listening
    open_one = [folder, folder.parent][above]
    open_one.chmod(mode)
    nvim = editor(running, env={"WORKSPACED_SOCKET": str(folder / "s")})
    nvim.do("edit a.md")
    nvim.until("s.problem ~= nil and s.problem:find(a[1], 1, true)", f"others can write to {open_one.resolve()}")
    open_one.chmod(0o1777)
    assert greeted(waits)


@pytest.mark.fault(row=55)
@pytest.mark.parametrize("what", ["another user", "no socket", "longer than"])
def test_nor_is_one_of_another_user_a_file_or_one_whose_path_would_be_cut(
    listening: Any, editor: Any, what: str
) -> None:
    running, folder, _ = listening
    place = folder / "s"
    if what == "another user":
        if os.geteuid() != 0:
            pytest.skip("needs root to give folders away")
        os.chown(folder.parent, 65_534, 65_534)
    elif what == "no socket":
        (folder / "file").touch()
        place = folder / "link"
        place.symlink_to(folder / "file")
    else:
        place = folder / ("s" * 120)
    nvim = editor(running, env={"WORKSPACED_SOCKET": str(place)})
    nvim.do("edit a.md")
    nvim.until("s.problem ~= nil and s.problem:find(a[1], 1, true)", what)


CHANGE_FIRST = """
local uv = vim.uv or vim.loop
local new_pipe = uv.new_pipe
uv.new_pipe = function(...)
  os.remove('{link}')
  assert(uv.fs_symlink('{stranger}', '{link}'))
  uv.new_pipe = new_pipe
  return new_pipe(...)
end
"""


@pytest.mark.fault(row=55)
def test_a_symlink_that_is_changed_after_it_was_looked_at_leads_nowhere_else(daemon: Any, editor: Any) -> None:
    running = daemon(start=False)
    link, stranger = running.root / "link", running.root / "t"
    link.symlink_to(running.socket)
    with socket.socket(socket.AF_UNIX) as ours, socket.socket(socket.AF_UNIX) as strangers:
        for listening, path in ((ours, running.socket), (strangers, stranger)):
            listening.bind(str(path))
            listening.listen()
            listening.settimeout(ANSWER_S)
        setup = " ".join(CHANGE_FIRST.format(link=link, stranger=stranger).split())
        nvim = editor(running, setup=setup, env={"WORKSPACED_SOCKET": str(link)})
        nvim.do("edit a.md")
        assert greeted(ours)
        assert link.resolve() == stranger.resolve()


def test_stopping_takes_the_view_back_and_starting_again_shows_it_again(daemon: Any, editor: Any) -> None:
    running = daemon()
    client, nvim = running.connect(), editor(running)
    nvim.do("edit a.md")
    nvim.settled()
    nvim.lua("require('workspaced').stop()")
    until_type(client, "active_note_cleared")
    nvim.do("edit b.md")
    assert nvim.status()["running"] is False
    nvim.lua("require('workspaced').setup({})")
    nvim.settled()
    assert shown(client.state()).active == "b.md"


# -- for people --


def test_health_and_status_say_what_is_told_to_whom(shared: Any, editor: Any) -> None:
    nvim = editor(shared)
    nvim.do("edit a.md")
    nvim.settled()
    nvim.do(f"split {shared.root}/other.md")
    nvim.until("#s.unserved == 1")
    nvim.settled()
    nvim.do("WorkspacedStatus")
    assert "active a.md" in nvim.messages() and "No daemon serves" in nvim.messages()
    nvim.do("checkhealth workspaced")
    said = "\n".join(nvim.ask("nvim_buf_get_lines", 0, 0, -1, False))
    assert "connected to workspaced" in said and "no daemon serves" in said and "active note: a.md" in said


def test_a_wrong_setting_is_an_error_that_names_the_known_ones_and_what_is_no_duration_pauses_nothing(
    shared: Any, editor: Any
) -> None:
    nvim = editor(shared)
    for settings in ({"sockt": "/x"}, {"socket": 7}):
        worked, said = nvim.lua("return { pcall(require('workspaced').setup, ...) }", settings)
        assert not worked and "socket" in said
    for wrong in ("30", "m", "1m1h", "x", "0s"):
        assert nvim.lua("return require('workspaced.pausing').seconds(...) == nil", wrong) is True
    assert nvim.lua("return require('workspaced.pausing').seconds('1h30m')") == 5_400


def test_the_help_has_every_command_and_setting(shared: Any, editor: Any, tmp_path: Path) -> None:
    text = (PLUGIN / "doc" / "workspaced.txt").read_text()
    for tag in (":WorkspacedPin", ":WorkspacedUnpin", ":WorkspacedStatus", "workspaced.setup()"):
        assert f"*{tag}*" in text
    nvim = editor(shared)
    for setting in nvim.lua("return vim.tbl_keys(require('workspaced').options)"):
        assert f"`{setting}`" in text
    shown = shared.cli("path", "--help").stdout
    assert textwrap.dedent(shown).count(textwrap.indent(INIT, "  ")) == 1
    doc = tmp_path / "doc"
    shutil.copytree(PLUGIN / "doc", doc)
    nvim.do(f"helptags {doc}")


def test_a_pause_that_others_begin_and_end_is_seen(daemon: Any, editor: Any) -> None:
    running = daemon()
    client = running.connect()
    client.pause()
    with editor(running) as made:
        made.do("edit a.md")
        made.until("s.paused")
        client.resume()
        made.until("not s.paused")
        client.pause(60)
        made.until("s.paused and s.daemons[1].paused['until'] ~= nil")
        made.do("WorkspacedPause")
        made.until("s.paused and s.daemons[1].paused['until'] == nil")


# -- files that are no Markdown --


def test_any_file_of_the_vault_is_published_and_none_of_elsewhere_is_sought(
    daemon: Callable[..., Any], editor: Callable[..., Editor]
) -> None:
    notes = {"a.md": "# A\n", "src/a.py": "a = 1\n", "Board.canvas": "{}", "data.csv": "a,b\n", ".env": "x"}
    running = daemon(notes=notes)
    (running.root / "other.py").write_text("c = 1\n")
    nvim = editor(running)
    with running.connect() as client:
        for name in ("src/a.py", "Board.canvas", "data.csv"):
            nvim.do(f"edit {name}")
            nvim.settled()
            assert shown(client.state()).active == name
        nvim.do("edit .env", "edit ../other.py")
        nvim.settled()
        assert shown(client.state()).active == "data.csv", "what is no file of the vault leaves the last one"
        nvim.do("edit src/a.py", "WorkspacedPin")
        until_type(client, "note_pinned")
        assert shown(client.state()).pins == ["src/a.py"]
    assert not any("other.py" in path for path in nvim.status()["unserved"])


# -- init.lua --

INIT = re.findall(r"^```lua\n(.*?)^```", (ROOT / "docs/how-to/neovim.md").read_text(), re.MULTILINE | re.DOTALL)[0]
COMMANDS = {
    "installed": f'#!/bin/sh\nexec {sys.executable} -m workspaced "$@"\n',
    "missing": None,
    "failing": "#!/bin/sh\necho It failed. >&2\nexit 1\n",
    "without its interpreter": "#!/gone/bin/python\n",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_documented_init_lua_loads_the_plugin_or_leaves_the_editor_as_it_was(
    command: str, tmp_path: Path
) -> None:
    """As reported of another program: daipeihust/im-select#42."""
    (tmp_path / "init.lua").write_text(f"{INIT}vim.g.reached = 1\n")
    if (script := COMMANDS[command]) is not None:
        (tmp_path / "workspaced").write_text(script)
        (tmp_path / "workspaced").chmod(0o755)
    shown = "[g:reached, exists(':WorkspacedStatus'), stridx(&runtimepath, 'failed')]"
    editor = [str(NVIM), "--headless", "-n", "-i", "NONE", "-u", str(tmp_path / "init.lua")]
    env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    asked = [*editor, "-c", f"echo {shown}", "-c", "quit"]
    done = subprocess.run(asked, capture_output=True, text=True, env=env, timeout=ANSWER_S)
    assert done.stderr == f"[1, {2 if command == 'installed' else 0}, -1]"
