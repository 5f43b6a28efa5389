"""An agent of LangChain gets context in its requests, and keeps none of it."""

from typing import Any

import pytest
from support.model_server import ModelServer

pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from workspaced.adapters.langchain import WorkspacedMiddleware


def test_a_request_has_the_note_that_the_user_looks_at(daemon: Any) -> None:
    running = daemon()
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    server = ModelServer()
    with server as url:
        model = ChatOpenAI(model="any", base_url=f"{url}/v1", api_key="none")
        agent = create_agent(
            model, [], middleware=[WorkspacedMiddleware(socket=running.socket)], system_prompt="Help."
        )
        done = agent.invoke({"messages": [{"role": "user", "content": "What is the first note?"}]})
    sent = server.exchanges[-1].body["messages"]
    assert "The first note, see [[b]]." in sent[-1]["content"]
    assert done["messages"][0].content == "What is the first note?"
    assert done["messages"][-1].content == "It says: The first note, see [[b]]."
