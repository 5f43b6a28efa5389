"""The ledger of what lies in settings of other programs and bears no mark of ours.

An entry or a hook is known by its command. A folder that was made for a settings file is not, nor is a rule that
denies reading. The ledger also names each file that holds something of ours, because the environment may name
others later (CLAUDE_CONFIG_DIR).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..discovery.records import state_directory
from ..errors import SettingsInvalid
from .settings_files import read

FILE: Final = "written.json"


class Ledger(NamedTuple):
    """What lies in the settings of other programs."""

    files: Mapping[str, Sequence[str]] = {}
    """Those that hold something of ours, each with the rules in it that we have added."""
    folders: Sequence[str] = ()
    """Those that were made, an outer one before the inner."""

    def rules(self, path: Path) -> Sequence[str]:
        """The rules in a file that we have added."""
        return self.files.get(str(path), ())


def ledger_path() -> Path:
    """Where the ledger is, whether or not it exists."""
    return Path(state_directory()).parent / FILE


def read_ledger() -> Ledger:
    """The ledger; an empty one if there is none.

    Raises:
        SettingsInvalid: it cannot be read.
    """
    return parsed(read(ledger_path()))


def text_of(ledger: Ledger) -> str | None:
    """The text of the ledger's file; None: there is to be none."""
    return json.dumps(ledger._asdict(), indent=1) + "\n" if any(ledger) else None


def parsed(text: str | None) -> Ledger:
    """Raises SettingsInvalid: the text is no ledger of ours."""
    try:
        whole: Any = json.loads(text) if text is not None else {}
        files = {str(path): list(map(str, rules)) for path, rules in whole.get("files", {}).items()}
        return Ledger(files, list(map(str, whole.get("folders", []))))
    except (ValueError, AttributeError, TypeError):
        raise SettingsInvalid(
            f"{ledger_path()} is no ledger of ours.", hint="Remove it; folders that were made then stay."
        ) from None
