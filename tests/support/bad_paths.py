"""Paths that lead out of a vault, or are none, and a vault to ask for them in."""

from pathlib import Path

from workspaced_events.ids import NoteId
from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_events.projections.workspace_state import ActiveNote, VaultState, WorkspaceState
from workspaced_events.projections.workspace_state import Vault as RegisteredVault
from workspaced_tools.limits import QUERY_CHARS_MAX
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Json, run
from workspaced_tools.vault.vault import Vault

NOW = "2026-03-01T12:00:00.000000Z"
CANARY = "canary-of-what-lies-outside"
OUTSIDE = ("outside", "vault-2", "vaultsecret.md")
"""What lies beside the vault and holds the canary."""

BAD = [
    *["..", "../outside/secret.md", "../outside/secret", "work/../../outside/secret.md", "./../outside/secret.md"],
    *["work/..", "work/../top.md", "../vault/top.md", "../vault-2/secret.md", "../vaultsecret.md", "/../x.md"],
    *[
        *("/etc/passwd", "/etc/passwd.md", "//etc/passwd", "/top.md", "{outside}/secret.md"),
        "file://{outside}/secret.md",
    ],
    *["a\0.md", "top.md\0", "\0", "../outside/secret.md\0.md", "work//plan.md", "//", "work/", "top.md/"],
    *["top.md.", "top.md ", "top.md. ", "work./plan.md", "work /plan.md", "top.md/.", ".", "./top.md"],
    *["%2e%2e/outside/secret.md", "..%2foutside%2fsecret.md", "%252e%252e/outside/secret.md", "..%c0%afsecret.md"],
    *[
        *("..\\outside\\secret.md", "~/secret.md", "$HOME/secret.md", "．．/outside/secret.md"),
        "..∕outside∕secret.md",
    ],
    *["link/secret.md", "link/secret", "file.md", "proc/etc/passwd.md", "up/outside/secret.md", "loop/loop/x.md"],
    *[
        *("x" * 300 + ".md", "x/" * 900 + "x.md", "../" * 600 + "etc/passwd", "[[../outside/secret]]"),
        ".obsidian/x.md",
    ],
]


def bad(vault: Path) -> list[str]:
    """The paths, for this vault."""
    return [path.replace("{outside}", str(vault.parent / "outside")) for path in BAD]


def make_world(root: Path) -> Path:
    """A vault beside folders with canaries, full of symlinks to them."""
    vault = root / "vault"
    (vault / "work").mkdir(parents=True)
    (vault / "work/plan.md").write_text("# Plan")
    (vault / "top.md").write_text(
        "# Top\n[[../outside/secret]] [x](../outside/secret.md) ![[link/secret]] [[file]]\n"
        "![](../outside/secret.png)\n"
    )
    for name in OUTSIDE[:2]:
        (root / name).mkdir()
        (root / name / "secret.md").write_text(f"# {CANARY}")
        (root / name / "secret.png").write_text(CANARY)
    (root / OUTSIDE[2]).write_text(f"# {CANARY}")
    for name, target in (
        *[("link", root / "outside"), ("file.md", root / "outside/secret.md"), ("up", Path(".."))],
        *[
            ("proc", Path("/proc/self/root")),
            ("loop", Path("loop")),
            ("deep.md", Path("/proc/self/root/etc/passwd")),
        ],
    ):
        (vault / name).symlink_to(target)
    return vault


# -- asking --


def view_of(vault: Vault, active: str = "top.md") -> View:
    state = VaultState(active=ActiveNote(NoteId(active), NOW), recents={NoteId(active): NOW})
    registered = {"v": RegisteredVault("v", "V", "/v", True)}  # type: ignore[arg-type]
    known = WorkspaceState(7, "v", registered, {"v": state})  # type: ignore[arg-type, dict-item]
    return shared_view(known, NOW, vault, level="all", withheld=lambda _note: False)


def ask_everything(vault: Vault, path: str) -> list[Json]:
    """Every tool, with `path` as the note in question: asked for, looked for, and as the active note.

    Nothing is recorded here, so answers about the past are left out.
    """
    asked = {"reference": path, "query": path[:QUERY_CHARS_MAX], "folder": path[:NOTE_ID_CHARS_MAX]}
    results = [
        run(
            tool,
            view_of(vault, active),
            {name: asked[name] for name in tool.input_schema["properties"] if name in asked}
            | {name: True for name in tool.input_schema["properties"] if name.startswith("include")},
        )
        for tool in TOOLS.values()
        for active in ({"top.md", path} if (vault.root.path / "top.md").exists() else {path})
    ]
    return [result for result in results if result.get("code") != "NOT_RECORDED"]
