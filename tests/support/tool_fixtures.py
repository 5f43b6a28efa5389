"""Vaults on disk, states and views made from short descriptions, and tool calls held against their schemas."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support import answers, images
from support.client_view import World
from workspaced_events.ids import NoteId, TabId, VaultId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import (
    ActiveNote,
    Pin,
    Selection,
    Tab,
    VaultState,
    WorkspaceState,
)
from workspaced_events.projections.workspace_state import Vault as RegisteredVault
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.limits import SETTLE_EMPTY_S
from workspaced_tools.ports.asking import VaultSource
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import run
from workspaced_tools.vault.vault import Vault

MakeVault = Callable[..., Vault]
MakeState = Callable[..., VaultState]
MakeView = Callable[..., View]
Call = Callable[..., dict[str, Any]]
"""What the fixtures below are."""
NOW = "2026-03-01T12:00:00.000000Z"
EARLIER = "2026-03-01T11:00:00.000000Z"
VAULT_ID = VaultId("brain")
LATER_NS = 10_000_000_000


def later_ns() -> int:
    """A wall clock by which files that were just written are old."""
    return time.time_ns() + LATER_NS


class HeldClock:
    """A vault's clock that holds up who builds the index, at the first note, until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __call__(self) -> int:
        if threading.current_thread().name == "vault-index":
            self.reached.set()
            assert self.go_on.wait(60)
        return later_ns()


class OwnClock:
    """A vault's own clock, which stands until a test sets it: nothing settles because a machine is slow."""

    def __init__(self) -> None:
        self.now_s = time.monotonic()

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def settle() -> Callable[[Vault], Any]:
    """settle(vault) -> what a second look finds, after as long as anything takes to settle."""

    def look(vault: Any) -> Any:
        vault.policy.refresh()
        vault.own_clock.now_s += SETTLE_EMPTY_S
        return vault.settle()

    return look


@pytest.fixture
def make_vault(tmp_path: Path) -> Iterator[Callable[..., Vault]]:
    """make_vault({path: text}) -> a Vault over those files, indexed unless `indexed` is false."""
    made: list[Any] = []

    def make(contents: dict[str, str | bytes], *, indexed: bool = True, **options: Any) -> Vault:
        folder = tmp_path / f"vault{len(made)}"
        folder.mkdir()
        images.write(folder, contents)
        images.age(folder)
        # Files just written count as certain: the vault's clock runs ahead of theirs.
        options = {"clock_ns": later_ns, "clock_s": OwnClock(), **options}
        vault: Any = Vault(folder, **options)
        vault.own_clock = options["clock_s"]
        made.append(vault)
        if indexed:
            vault.reconcile()
        return vault

    yield make
    for vault in made:
        vault.close()


@pytest.fixture
def make_state() -> Callable[..., VaultState]:
    """make_state(active="a.md", pins=[...], tabs=[...], recents=[oldest, ..., newest], ...)."""

    def make(
        active: str | None = None,
        pins: tuple[str, ...] = (),
        tabs: tuple[str, ...] = (),
        recents: tuple[str, ...] = (),
        archived: tuple[str, ...] = (),
        former: dict[str, str] | None = None,
        selection: Selection | None = None,
        tab_accessed: str = EARLIER,
    ) -> VaultState:
        return VaultState(
            active=ActiveNote(NoteId(active), EARLIER) if active else None,
            pins={NoteId(each): Pin(NoteId(each), EARLIER, "ui") for each in pins},
            tabs={
                NoteId(each): Tab(TabId(f"tab-{at}"), NoteId(each), "search", EARLIER, tab_accessed, "ui")
                for at, each in enumerate(tabs, start=1)
            },
            recents={NoteId(each): EARLIER for each in recents},
            archived={NoteId(each): None for each in archived},
            former={NoteId(old): NoteId(new) for old, new in (former or {}).items()},
            selection=selection,
            last_updated=NOW,
        )

    return make


@pytest.fixture
def make_view() -> Callable[..., View]:
    """make_view(vault, state, visits) -> the View at sequence 7 with that vault current."""

    def make(
        vault: VaultSource | None, state: VaultState, visits: Sequence[Visit] = (), *, registered: bool = True
    ) -> View:
        vaults = {VAULT_ID: RegisteredVault(VAULT_ID, "Brain", "/home/someone/brain", True)}
        known = WorkspaceState(7, VAULT_ID, vaults, {VAULT_ID: state}) if registered else WorkspaceState(seq=7)
        return shared_view(known, NOW, vault, lambda: visits, level="all", withheld=lambda _note: False)

    return make


@pytest.fixture(scope="session")
def check_result() -> Callable[[str, dict[str, Any]], None]:
    """Holds a result against the tool's output schema and against the listed one."""
    return answers.check


@pytest.fixture
def call(check_result: Callable[[str, dict[str, Any]], None], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """call(tool, view, **arguments) -> the result, checked, with its defaults.

    Only `vaultInfo.path` names a path of the host.
    """

    def make(tool: str, view: View, **arguments: Any) -> dict[str, Any]:
        result = run(TOOLS[tool], view, arguments)
        check_result(tool, result)
        info = (result.get("data") or {}).get("vaultInfo", {})
        text = msgspec.json.encode(result).decode().replace(f',"path":"{info.get("path")}"', "")
        assert str(tmp_path) not in text
        assert "/home/someone" not in text
        answers.fill(tool, result)
        return result

    return make


MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(make_vault: Callable[..., Vault], make_state: Callable[..., VaultState]) -> MakeWorld:
    """make_world({path: text}, level="all", deny=[...], **as for make_state) -> a World."""

    def make(
        files: dict[str, str | bytes] | None, *, level: Sharing = "all", deny: Sequence[str] = (), **state: Any
    ) -> World:
        vault = make_vault(files, deny=deny) if files is not None else None
        return World(vault, make_state(**state), level)

    return make
