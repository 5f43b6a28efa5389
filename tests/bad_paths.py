"""Paths that lead out of a vault, or are none, and a vault to ask for them in. Loaded by its path: tests are no
package."""

from pathlib import Path

CANARY = "canary-of-what-lies-outside"
OUTSIDE = ("outside", "vault-2", "vaultsecret.md")
"""What lies beside the vault and holds the canary."""

BAD = [
    *["..", "../outside/secret.md", "../outside/secret", "work/../../outside/secret.md", "./../outside/secret.md"],
    *["work/..", "work/../top.md", "../vault/top.md", "../vault-2/secret.md", "../vaultsecret.md", "/../x.md"],
    *[
        "/etc/passwd",
        "/etc/passwd.md",
        "//etc/passwd",
        "/top.md",
        "{outside}/secret.md",
        "file://{outside}/secret.md",
    ],
    *["a\0.md", "top.md\0", "\0", "../outside/secret.md\0.md", "work//plan.md", "//", "work/", "top.md/"],
    *["top.md.", "top.md ", "top.md. ", "work./plan.md", "work /plan.md", "top.md/.", ".", "./top.md"],
    *["%2e%2e/outside/secret.md", "..%2foutside%2fsecret.md", "%252e%252e/outside/secret.md", "..%c0%afsecret.md"],
    *[
        "..\\outside\\secret.md",
        "~/secret.md",
        "$HOME/secret.md",
        "．．/outside/secret.md",
        "..∕outside∕secret.md",
    ],
    *["link/secret.md", "link/secret", "file.md", "proc/etc/passwd.md", "up/outside/secret.md", "loop/loop/x.md"],
    *[
        "x" * 300 + ".md",
        "x/" * 900 + "x.md",
        "../" * 600 + "etc/passwd",
        "[[../outside/secret]]",
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
