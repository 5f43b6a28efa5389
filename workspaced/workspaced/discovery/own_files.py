"""What of ours lies on this machine beside settings of other programs: protected, and found for `workspaced
uninstall`.

The daemon's own directories are trusted, so only their user may access them. A directory of another user, or one
that others may write to, is refused with the command that repairs it, because somebody else may have prepared its
content. If others may only read a directory (0755), the daemon closes its own files there to them, and the
directory itself if it holds nothing else.

Only names that we give are ours: in a folder that a user chose for data or cache, anything else is theirs. What
belongs to another user, and what a link leads to, is never looked into and never removed.
"""

import os
import re
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import platformdirs

from workspaced_events.private_files import FILE_MODE, FOLDER_MODE, make_folder

from ..errors import SettingsInvalid
from .beside import SUFFIXES
from .records import is_listening, running, state_directory

_OTHERS = 0o077
_OTHERS_WRITE = 0o022
DATA_NAMES = frozenset(
    (
        *("log", "start", "blobs", "served", "swept", "policy", "quarantine", "snapshots", "forgetting"),
        *("cache", "lock", "link", "overlay-key"),
    )
)
"""The daemon's names in a data directory."""
INDEX_NAME = re.compile(r"[0-9a-f]{24}\.(sqlite.*|seal|new)")
"""The daemon's names in a cache directory (tools/vault/index/database.py)."""
_LEVELS = 2
"""Levels below the directory that are checked: its folders and their entries."""


def own_folder(directory: Path, what: str) -> None:
    """Makes the directory, or checks that it and its content are ours alone.

    Args:
        what: `data` or `cache`, as in the option's name.

    Raises:
        SettingsInvalid: an entry belongs to another user, or others may write to a folder.
        SettingsInvalid: the directory cannot be made or checked.
    """
    try:
        make_folder(directory)
        status = directory.stat()
        _check(directory, status, what)
        for path, inner in _within(directory, _LEVELS):
            _check(path, inner, what)
        if stat.S_IMODE(status.st_mode) & _OTHERS:
            _close(directory)
    except OSError as error:
        raise SettingsInvalid(
            f"Cannot use the {what} directory {directory}: {error.filename or directory}: {error.strerror}.",
            hint=f"Give a folder that you may write to: --{what}-dir DIR, or WORKSPACED_{what.upper()}_DIR.",
            path=str(directory),
        ) from error


def _within(directory: Path, levels: int) -> Iterator[tuple[Path, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            path = Path(entry.path)
            try:
                status = entry.stat()
            except FileNotFoundError:  # a dangling link, or removed meanwhile
                continue
            yield path, status
            if levels > 1 and stat.S_ISDIR(status.st_mode):
                yield from _within(path, levels - 1)


def _check(path: Path, status: os.stat_result, what: str) -> None:
    quoted = shlex.quote(str(path))
    if status.st_uid != os.getuid():
        raise SettingsInvalid(
            f"{path} in the {what} directory belongs to user {status.st_uid}, and we are {os.getuid()}.",
            hint=f"Give another --{what}-dir; if you trust what is in it: sudo chown -R {os.getuid()} {quoted}",
            path=str(path),
        )
    if stat.S_ISDIR(status.st_mode) and status.st_mode & _OTHERS_WRITE:
        raise SettingsInvalid(
            f"Others may write to {path} in the {what} directory (mode {stat.S_IMODE(status.st_mode):04o}).",
            hint=f"If you trust what is in it: chmod 700 {quoted}",
            path=str(path),
        )


def _close(directory: Path) -> None:
    """Removes other users' rights on our files and folders in a directory that others may read."""
    names = set(os.listdir(directory))
    ours = {name for name in names if name in DATA_NAMES or INDEX_NAME.fullmatch(name)}
    for name in ours:
        _close_one(directory / name)
        for folder, folders, files in os.walk(directory / name):
            for inner in (*folders, *files):
                _close_one(Path(folder, inner))
    if ours == names:
        directory.chmod(FOLDER_MODE)


def _close_one(path: Path) -> None:
    status = path.lstat()
    if stat.S_IMODE(status.st_mode) & _OTHERS and not stat.S_ISLNK(status.st_mode):
        path.chmod(FOLDER_MODE if stat.S_ISDIR(status.st_mode) else FILE_MODE)


Kind = Literal["data", "settings", "cache", "state", "demo"]

_LINK: Final = "link"
_SETTINGS: Final = {
    "config.toml": "your settings",
    "templates": "your request templates",
    "prices.toml": "your prices",
    "proxy-token": "the token by which programs use the proxy",
}
_STATE: Final = ("start.lock", "started.log")
_OWN: Final = "workspaced"
DEMO: Final = "workspaced-demo-"
"""How the names of the demo's folders begin, in the temporary directory."""
DEMO_HOME: Final = ".home-of-demo"
"""The file in such a folder that says in which home the demo ran."""
DEMO_SOCKET: Final = "demo.sock"
"""Where a demo that runs listens, in its folder."""


class Place(NamedTuple):
    """Files of ours in one folder."""

    kind: Kind
    folder: Path
    names: tuple[str, ...]
    holds: str
    """What they are, for people."""
    may_go: bool = True
    """No: they are links, another user's, or in use."""

    @property
    def paths(self) -> list[Path]:
        return [self.folder / name for name in self.names]

    def size_bytes(self) -> int:
        """What the files hold, without what cannot be read."""
        return sum(_size(each) for path in self.paths for each in (path, *path.rglob("*")))


def places(data: Iterable[Path], cache: Iterable[Path], sockets: Path) -> Iterator[Place]:
    """What of ours there is.

    Args:
        data: data directories beside the default ones.
        cache: cache directories beside the default ones.
        sockets: the folder of the default sockets.
    """
    for folder in _folders(platformdirs.user_data_path("workspaced"), data):
        yield from _data(folder)
    settings = platformdirs.user_config_path("workspaced")
    for name, holds in _SETTINGS.items():
        yield from _place("settings", settings, [name], holds)
    cached = platformdirs.user_cache_path("workspaced")
    yield from _place("cache", cached, ("demo.wsb",), "the demo's log")
    for folder in _folders(cached, cache):
        yield from _place(
            "cache", folder, filter(INDEX_NAME.fullmatch, _names(folder)), "an index, made anew if needed"
        )
    state = Path(state_directory())
    left = [each for each in _names(state) if each in _STATE or each.endswith((".stopped", ".json", *SUFFIXES))]
    yield from _place("state", state, left, "records of what ran")
    yield from _place("state", state.parent, ["past"], "runs in the past, with texts of notes")
    yield from _sockets(sockets)
    if sys.platform == "darwin":
        logs = Path.home() / "Library" / "Logs"
        said = [name for name in _names(logs) if name.startswith("workspaced.") and name.endswith(".log")]
        yield from _place("state", logs, said, "what services said")
    yield from _demos(Path(tempfile.gettempdir()))


def remove(place: Place) -> None:
    """Removes the files. What is gone already is no error.

    Raises:
        OSError: something cannot be removed; the rest of it may be gone.
    """
    for path in place.paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def remove_empty_folders(sockets: Path) -> None:
    """Removes the folders of ours that hold nothing.

    Args:
        sockets: the folder of the default sockets.
    """
    roots = [platformdirs.user_data_path(_OWN), platformdirs.user_cache_path(_OWN)]
    inner = [root / name for root in roots for name in _names(root)]
    state = Path(state_directory())
    for folder in (*inner, *roots, platformdirs.user_config_path(_OWN), state, state.parent, sockets):
        if _is_ours(folder):
            with suppress(OSError):  # it holds something, or is no folder
                folder.rmdir()


def _data(folder: Path) -> Iterator[Place]:
    names = [each for each in _names(folder) if each in DATA_NAMES and each != _LINK]
    names.sort(key="log".__eq__)  # the log at last: by it a folder is known that was not removed to its end
    yield from _place(
        "data", folder, [_LINK], "the keys of the link: without them this machine is out of it for good"
    )
    yield from _place("data", folder, names, "the log, and what agents were shown")


def _sockets(folder: Path) -> Iterator[Place]:
    """Homes may share the folder: where a daemon of another one listens is not ours."""
    own = {each.socket for each in running()}
    names = [each for each in _names(folder) if each.endswith(".sock")]
    others = tuple(each for each in names if (path := str(folder / each)) not in own and is_listening(path))
    yield from _place("state", folder, [each for each in names if each not in others], "sockets")
    if others:
        yield Place(
            "state", folder, others, "a daemon that this home has no record of listens there", may_go=False
        )


def _demos(temporary: Path) -> Iterator[Place]:
    """The demo's folders of this home: other homes may share the temporary directory."""
    for name in _names(temporary):
        folder = temporary / name
        if name.startswith(DEMO) and _is_ours(folder) and _demo_home(folder) == str(Path.home()):
            if is_listening(str(folder / DEMO_SOCKET)):
                yield Place("demo", temporary, (name,), "a demo that runs now", may_go=False)
            else:
                holds = "a copy of the sample vault, and what was recorded of it"
                yield Place("demo", temporary, (name,), holds)


def _demo_home(folder: Path) -> str | None:
    try:
        return (folder / DEMO_HOME).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _folders(root: Path, more: Iterable[Path]) -> Iterator[Path]:
    """The folders of workspaces below a root of ours, and those elsewhere that hold a log or an index."""
    own = [root / name for name in _names(root) if not name.startswith(".") and (root / name).is_dir()]
    yield from own
    for folder in dict.fromkeys(more):
        if folder not in own and (
            (folder / "log" / "HEAD").is_file() or any(map(INDEX_NAME.fullmatch, _names(folder)))
        ):
            yield folder


def _place(kind: Kind, folder: Path, names: Iterable[str], holds: str) -> Iterator[Place]:
    is_reached = _is_ours(folder)
    found = [name for name in names if os.path.lexists(folder / name)]
    ours = tuple(name for name in found if is_reached and _is_ours(folder / name))
    if ours:
        yield Place(kind, folder, ours, holds)
    if others := tuple(name for name in found if name not in ours):
        yield Place(kind, folder, others, "a link, or of another user", may_go=False)


def _is_ours(path: Path) -> bool:
    """Whether it is no link, and belongs to this user, as its folder does if we make that."""
    own = [path, *(each for each in path.parents if each.name == _OWN)]
    try:
        return all(each.lstat().st_uid == os.getuid() and not each.is_symlink() for each in own)
    except OSError:
        return False


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
