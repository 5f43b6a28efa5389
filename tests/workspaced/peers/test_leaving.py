"""What remains of an origin once its machine has left the link, or become another one; without a server."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint

from workspaced.peers.keys.invitation import code_of, new_invitation
from workspaced.peers.keys.origin_keys import load_keys, new_keys, save_keys
from workspaced.peers.keys.roster import new_roster
from workspaced.peers.link import FOLDER, Link
from workspaced.peers.membership import Ask, Membership, load_membership, save_membership
from workspaced.peers.outbox import Sent, SharedNames, load_sent, save_sent
from workspaced.settings.link import LinkSettings
from workspaced_events.ids import LinkedVaultId, NoteId
from workspaced_events.peers.without_notes import name_hash
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema.peer_events import AskedName

SERVERS = ("nats://127.0.0.1:1",)
LINKED, NOTE = LinkedVaultId("d" * 32), NoteId("secret.md")
ASK = Ask(LINKED, AskedName(name_hash(LINKED, NOTE), 0))


def link_of(data: Path) -> Link:
    threads: Any = SimpleNamespace(run=anyio.to_thread.run_sync)
    tail: Any = SimpleNamespace(state=EMPTY)
    return Link(data, LinkSettings(servers=SERVERS), SimpleNamespace(), tail, {}, threads)  # type: ignore[arg-type]


def changed(data: Path, act: Callable[[Link], Awaitable[Any]]) -> None:
    """Acts on a link whose sender is keeping a message just then."""

    async def main() -> None:
        link = link_of(data)
        started = anyio.Event()

        async def run_live(membership: Membership) -> None:
            if membership.roster is None:
                return
            link._live = SimpleNamespace()  # type: ignore[assignment]
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    for _ in range(100):
                        await checkpoint()
                    await anyio.to_thread.run_sync(save_sent, data / FOLDER, Sent(1, 2))

        link._run_live = run_live  # type: ignore[method-assign]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(link.run)
            await started.wait()
            await act(link)
            tasks.cancel_scope.cancel()

    anyio.run(main)


def linked(data: Path) -> tuple[Membership, str]:
    """A link that has shared a note and asks to forget it, and a code of it."""
    keys = new_keys()
    made = Membership(
        "0" * 32, keys.verify_key, "laptop", roster=new_roster("0" * 32, keys, "Ann", "laptop"), asks=(ASK,)
    )
    save_keys(data / FOLDER, keys)
    save_membership(data / FOLDER, made)
    SharedNames(data / FOLDER).add([(LINKED, NOTE)])
    return made, code_of(made.link, made.creator_key, new_invitation("Ann", datetime.now(UTC)))


def test_what_is_sent_last_goes_with_the_link_and_which_names_have_left_is_known_to_who_joins_again(
    tmp_path: Path,
) -> None:
    _made, code = linked(tmp_path)
    changed(tmp_path, Link.leave)
    assert [each.name for each in (tmp_path / FOLDER).iterdir()] == ["names"]
    anyio.run(lambda: link_of(tmp_path).join(code, SERVERS, "desk"))
    assert load_membership(tmp_path / FOLDER) is not None and load_keys(tmp_path / FOLDER) is not None
    assert SharedNames(tmp_path / FOLDER).holds(LINKED, NOTE)


def test_who_joins_after_a_crash_while_leaving_sends_nothing_of_the_former_origin(tmp_path: Path) -> None:
    _made, code = linked(tmp_path)
    save_sent(tmp_path / FOLDER, Sent(1, 2))
    (tmp_path / FOLDER / "link.json").unlink()
    anyio.run(lambda: link_of(tmp_path).join(code, SERVERS, "desk"))
    assert load_sent(tmp_path / FOLDER) == Sent()
