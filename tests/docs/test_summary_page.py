"""What docs/how-to/summarise-in-time.md says is true: its program sums up before turns leave."""

from typing import Any

import pytest
from support import documentation as page
from support.model_server import ModelServer

PAGE = page.Page(*page.SUMMARY_PAGES)


@pytest.mark.thorough
def test_its_program_sums_up_before_a_fold_leaves_turns_out(daemon: Any) -> None:
    running = daemon(start=False)
    home = PAGE.serve(running)
    model = ModelServer()
    with model as url:
        PAGE.run(running, home, MODEL="any", OPENAI_BASE_URL=f"{url}/v1", OPENAI_API_KEY="none", NO_PROXY="*")
    assert [made.answer for made in model.exchanges if made.status != 200] == []
    summed_up = [made for made in model.exchanges if b"<conversation_summary>" in made.raw]
    assert summed_up, "later prompts have the summary"
