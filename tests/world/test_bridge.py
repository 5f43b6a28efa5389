"""What happens to agents' sessions when a daemon goes away, and what is right then: one file a case, in `bridge/`.

A case is TOML: `follows` (the public report or document, `repository#number`), `right`, optionally `era`
(`modern`: MCP 2026-07-28; `none`: the case does its own handshake), `on_demand` (the bridge starts its daemon),
`limits` (of the bridge: NAME=SECONDS), and `[[step]]`s, each with one of:

    asks, tells     a request or notification of the agent's; `filled_to`: the length of its line, by spaces in it
    writes          the agent's bytes
    daemon          killed (once the bridge has read what the agent wrote), hangs, started, stopped by its user
                    (`workspaced stop`), stopped by a signal, or is none: none runs
    user_opens      a note
    sees            what the agent reads next (`answer`, `holds`, `lacks`: see support/world.py)
    exits           the agent closes its end, and the bridge ends with this code

In the end the agent has read everything that it was sent.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from support.bridge import INITIALIZE, META, BridgedSession
from support.daemon import Factory
from support.world import lacking, read

CASES = sorted((Path(__file__).parent / "bridge").glob("*.toml"))


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_session_of_the_world_outlives_its_daemon(case: Path, sessions: Any) -> None:
    told = read(case)
    era = told.get("era", "handshake")
    session: BridgedSession = sessions(on_demand=told.get("on_demand", False), limits=told.get("limits", ()))
    if era == "handshake":
        session.ask(INITIALIZE)
        assert session.hear()["result"]
        session.tell({"method": "notifications/initialized"})
    for step in told["step"]:
        match step:
            case {"asks": request}:
                meta = {"params": {**request.get("params", {}), "_meta": META}} if era == "modern" else {}
                session.ask({**request, **meta}, filled_to=step.get("filled_to", 0))
            case {"tells": notification}:
                session.tell(notification)
            case {"writes": text}:
                session.write(text.encode())
            case {"daemon": happening}:
                session.daemon(happening)
            case {"user_opens": note}:
                session.open_note(note)
            case {"sees": expected}:
                seen = session.hear()
                assert lacking(seen, expected) == [], json.dumps(seen, indent=1)
            case {"exits": code}:
                assert session.end() == code
            case _:
                raise AssertionError(f"no step: {step}")
    assert session.end() == 0
    assert session.rest() == b""


@pytest.fixture
def sessions() -> Any:
    factory = Factory()
    made: list[BridgedSession] = []

    def begin(**options: Any) -> BridgedSession:
        made.append(BridgedSession(factory, **options))
        return made[-1]

    yield begin
    for each in made:
        each.close()
    factory.tear_down()
