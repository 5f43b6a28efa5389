"""What an adapter makes anew of a framework's message keeps all that the framework said in it."""

import json
from typing import Any

import pytest

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
URL = f"data:image/png;base64,{PNG}"

pytestmark = pytest.mark.thorough


@pytest.fixture
def looking(daemon: Any) -> Any:
    """A daemon whose user looks at a note."""
    running = daemon()
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    return running


async def test_an_image_in_a_run_keeps_the_detail_that_the_program_asked_for(looking: Any) -> None:
    agents = pytest.importorskip("agents", reason="the extra openai-agents is not installed")
    from agents.run import CallModelData, ModelInputData

    from workspaced.adapters.openai_agents import WorkspacedFilter

    image = {"type": "input_image", "image_url": URL, "detail": "low"}
    items: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": "Hm?"}, image]}]
    given = CallModelData(ModelInputData(items, "Help."), agents.Agent("helper"), None)
    made = await WorkspacedFilter(socket=looking.socket)(given)
    assert "The first note" in json.dumps(made.input)
    assert [each for each in made.input[0]["content"] if each["type"] == "input_image"] == [image]


async def test_an_image_of_pydantic_ai_keeps_the_detail_that_the_program_asked_for(looking: Any) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra pydantic-ai is not installed")
    from pydantic_ai import Agent, BinaryContent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from workspaced.adapters.pydantic_ai import WorkspacedModel

    came: list[Any] = []

    def answer(messages: Any, _info: Any) -> ModelResponse:
        came.extend(messages)
        return ModelResponse([TextPart("Yes.")])

    image = BinaryContent.from_data_uri(URL)
    image.vendor_metadata = {"detail": "low"}
    await Agent(WorkspacedModel(FunctionModel(answer), socket=looking.socket)).run(["Hm?", image])
    content = came[0].parts[0].content
    assert "The first note" in str(content)
    images = [each for each in content if isinstance(each, BinaryContent)]
    assert [each.vendor_metadata for each in images] == [{"detail": "low"}]
