"""What the page about the proxy shows is what happens."""

from typing import Any

import pytest
from support import documentation as page
from support.model_server import ModelServer
from support.proxy import Proxy

PAGE = page.Page(*page.PROXY_PAGES)


@pytest.mark.thorough
def test_its_programs_and_commands_do_what_it_shows(daemon: Any) -> None:
    running = daemon(start=False)
    home = PAGE.serve(running)
    model = ModelServer()
    with model as url, Proxy(running, f"{url}/v1") as proxy:
        PAGE.run(running, home, MODEL="any", OPENAI_BASE_URL=proxy.url, OPENAI_API_KEY="none", NO_PROXY="*")
    assert [made.status for made in model.exchanges] == [200] * 4


def test_each_of_its_programs_is_run() -> None:
    commands = {command for command, _shown in PAGE.commands}
    assert {f"python {name}" for name in PAGE.files} <= commands and len(PAGE.files) == 2
