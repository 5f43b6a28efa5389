"""Two editors on one folder, every ordered pair: the last active one wins, and each keeps what is its own."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

import pytest
from support.daemon import Factory
from support.publishers import EDITORS, marks
from support.publishers.desk import Desk, shown
from support.publishers.protocol import PublishingEditor

SOON = {"WORKSPACED_PUBLISHER_GRACE_S": "0.05"}


PAIRS = [
    pytest.param(pair, id="+".join(pair), marks=marks(*pair))
    for pair in product(EDITORS, repeat=2)
    # One that infers yields to one that knows, which is a situation of its own. A window of VS Code takes seconds.
    if len({"focus" in EDITORS[name].can for name in pair}) == 1
    and ("vscode" not in pair or {*pair} == {"vscode"})
]
EACH = {name: pytest.param(kind, id=name, marks=marks(name)) for name, kind in EDITORS.items()}
KNOW = [EACH[name] for name, kind in EDITORS.items() if "focus" in kind.can]
INFER = [EACH[name] for name, kind in EDITORS.items() if "focus" not in kind.can]


class Pair(NamedTuple):
    """Two editors; the user is in the second, which started last."""

    desk: Desk
    first: PublishingEditor
    second: PublishingEditor


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, daemon: Factory) -> Iterator[Callable[..., Pair]]:
    """`pair(*needs)`: the first shows a.md, the second, which has the focus, b.md."""
    kinds = [EDITORS[name] for name in request.param]
    with Desk(daemon(env=SOON), kinds[0]) as here:

        def make(*needs: str) -> Pair:
            first = here.showing("a.md", *needs)
            if "focus" in first.can:
                first.blur()
                first.settled()
            second = here.showing("b.md", *needs, kind=kinds[1])
            assert here.shown().active == "b.md"
            return Pair(here, first, second)

        yield make


def test_the_editor_that_the_user_comes_back_to_is_right_at_once(pair: Callable[..., Pair]) -> None:
    here, first, second = pair("focus")
    for editor, other, active in ((first, second, "a.md"), (second, first, "b.md")) * 2:
        other.blur()
        editor.focus()
        editor.settled()
        other.settled()
        assert here.shown().active == active
    second.quit()
    here.until(lambda state: shown(state).active != "b.md")
    first.focus()
    first.settled()
    assert here.shown().active == "a.md"


def test_what_moves_in_an_editor_that_the_user_is_not_in_changes_nothing(pair: Callable[..., Pair]) -> None:
    here, first, _second = pair("focus")
    here.mark()
    here.opens(first, "c.md")
    first.close(here.vault / "c.md")
    first.open(here.vault / "work" / "plan.md")
    first.settled()
    assert here.shown().active == "b.md"
    assert here.events("active_note_set", "active_note_cleared") == []


def test_after_a_restart_focus_decides_and_not_who_reconnects_last(pair: Callable[..., Pair]) -> None:
    here, first, second = pair("focus")
    second.blur()
    first.focus()
    first.settled()
    second.settled()
    assert here.shown().active == "a.md"
    for _ in range(3):
        here.daemon.kill()
        here.daemon.start()
        first.settled()
        second.settled()
        assert here.shown().active == "a.md"


# -- one that infers what the user looks at, beside one that knows --


@pytest.mark.parametrize("knows", KNOW)
@pytest.mark.parametrize("infers", INFER)
def test_an_editor_that_infers_yields_to_one_that_knows_until_that_one_leaves(
    daemon: Factory, knows: type[PublishingEditor], infers: type[PublishingEditor]
) -> None:
    with Desk(daemon(env={"WORKSPACED_PUBLISHER_GRACE_S": "3600"}), infers) as here:
        first = here.showing("a.md")
        assert here.shown().active == "a.md"
        second = here.showing("b.md", kind=knows)
        here.opens(first, "c.md")
        assert here.shown().active == "b.md"
        second.quit()
        here.until(lambda state: shown(state).active == "c.md")
