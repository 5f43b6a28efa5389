"""Keeps compiled modules where Python itself would compile them again at each start.

Python keeps what it compiled beside the sources, unless it may not: PYTHONDONTWRITEBYTECODE is set, often by an
image or a tool that the user does not think of, or the installation is read-only. Then each start takes twice as
long. The variable keeps folders of sources clean; a folder of our own in the user's cache does so, too.

What lies in that folder is run. So it must be ours alone, and nobody else may be able to replace it.

Imports only a small part of the standard library, because it runs before all that it speeds up.
"""

import os
import stat
import sys
from pathlib import Path
from typing import Final

from workspaced_events.private_files import make_folder

_FOLDER: Final = ".bytecode"
"""In our cache directory, beside the folders of workspaces, whose names begin with a letter or digit."""
_OTHERS: Final = 0o077
_OTHERS_WRITE: Final = 0o022


def keep_bytecode() -> None:
    """Lets this process and those it starts keep compiled modules in the user's cache.

    Does nothing where modules are compiled already, where Python can keep them itself, where the user has said
    otherwise (PYTHONPYCACHEPREFIX, `python -B`), or where no folder is safe.
    """
    # This very module's bytecode lies beside it, or cannot lie anywhere.
    if sys.pycache_prefix is not None or (__spec__.cached is None or os.path.exists(__spec__.cached)):
        return
    if sys.dont_write_bytecode and not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return
    if (folder := _folder()) is not None:
        sys.pycache_prefix, sys.dont_write_bytecode = folder, False
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _folder() -> str | None:
    """The folder, made if it is missing; None if it cannot be made or others could change what is in it."""
    import platformdirs

    folder = os.path.join(os.path.abspath(platformdirs.user_cache_dir("workspaced")), _FOLDER)
    try:
        make_folder(Path(folder))
        status = os.lstat(folder)
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
        return folder if is_ours and _is_safe_above(folder) else None
    except OSError:
        return None


def _is_safe_above(folder: str) -> bool:
    """Whether only root and we can rename what lies on the way to the folder."""
    above = os.path.realpath(folder)
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
        status = os.stat(above)
        others_write = status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX
        if status.st_uid not in (0, os.geteuid()) or others_write:
            return False
    return True
