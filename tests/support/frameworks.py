"""Chats in agent frameworks and SDKs, alike for tests: each keeps its own history, and asks a model.

A framework is imported when its chat is made. `history` is what the framework stored, as a text. What is built on
the client of one of these, such as LangChain, runs in tests/docs/test_pages.py.
"""

import json
import os
from collections.abc import Callable
from typing import Any, Protocol

import httpx2

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for prices otherwise

SYSTEM = "Help with notes."
FOUND = "Alpha is the first."
"""What the tool `search_workspace` answers."""


class Recorder(httpx2.AsyncBaseTransport):
    """Keeps the bodies that a framework sends, before anything is put into them."""

    def __init__(self, made: Callable[..., Any], options: dict[str, Any]) -> None:
        """`made`: makes the transport that they are sent through."""
        self.transport = made(**options)
        self.bodies: list[bytes] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(await request.aread())
        response: httpx2.Response = await self.transport.handle_async_request(request)
        return response


class Chat(Protocol):
    bodies: list[bytes]
    """What the framework sent, oldest first."""
    history: Any

    async def ask(self, words: str) -> str:
        """The model's answer; the exchange is kept."""
        ...

    async def stream(self, words: str) -> str:
        """As `ask`, streamed."""
        ...


class _OnHttpx:
    def __init__(self, url: str, **options: Any) -> None:
        from workspaced.adapters.httpx import AsyncContextTransport

        recorder = Recorder(AsyncContextTransport, options)
        self.bodies = recorder.bodies
        self.history: Any = []
        self.begin(url, httpx2.AsyncClient(transport=recorder, timeout=60))

    def begin(self, url: str, http: httpx2.AsyncClient) -> None:
        raise NotImplementedError


class OpenAIChat(_OnHttpx):
    """The SDK, with chat completions."""

    package = "openai"

    def begin(self, url: str, http: httpx2.AsyncClient) -> None:
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=http)
        self.history = [{"role": "system", "content": SYSTEM}]

    async def _call(self, content: Any, **more: Any) -> Any:
        self.history.append({"role": "user", "content": content})
        return await self.client.chat.completions.create(model="any", messages=self.history, **more)

    async def ask(self, words: str) -> str:
        done = await self._call(words)
        self.history.append({"role": "assistant", "content": done.choices[0].message.content})
        return str(done.choices[0].message.content)

    async def stream(self, words: str) -> str:
        pieces = [
            each.choices[0].delta.content or ""
            async for each in await self._call(words, stream=True)
            if each.choices
        ]
        assert len(pieces) > 1
        self.history.append({"role": "assistant", "content": "".join(pieces)})
        return "".join(pieces)


class LiteLLM(OpenAIChat):
    """The hook as the proxy calls it; what it gives is sent with OpenAI's client."""

    package = "litellm"

    def __init__(self, url: str, **options: Any) -> None:
        from workspaced.adapters.litellm import WorkspacedHandler

        self.bodies = []
        self.handler = WorkspacedHandler(**options)
        self.begin(url, httpx2.AsyncClient(timeout=60))

    async def _call(self, content: Any, **more: Any) -> Any:
        self.history.append({"role": "user", "content": content})
        data = {"model": "any", "messages": [*self.history], **more}
        self.bodies.append(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
        data = await self.handler.async_pre_call_hook(None, None, data, "acompletion")
        return await self.client.chat.completions.create(**data)


class Anthropic(_OnHttpx):
    """The SDK."""

    package = "anthropic"

    def begin(self, url: str, http: httpx2.AsyncClient) -> None:
        from anthropic import AsyncAnthropic

        self.client = AsyncAnthropic(base_url=url, api_key="none", http_client=http)

    def _params(self, content: Any) -> dict[str, Any]:
        self.history.append({"role": "user", "content": content})
        return {"model": "any", "max_tokens": 1_000, "system": SYSTEM, "messages": self.history}

    def _keep(self, text: str) -> str:
        self.history.append({"role": "assistant", "content": text})
        return text

    async def ask(self, words: str) -> str:
        done = await self.client.messages.create(**self._params(words))
        return self._keep(done.content[0].text)

    async def stream(self, words: str) -> str:
        async with self.client.messages.stream(**self._params(words)) as stream:
            pieces = [each async for each in stream.text_stream]
        assert len(pieces) > 1
        return self._keep("".join(pieces))


class Gemini(_OnHttpx):
    """The SDK, and its chat."""

    package = "google.genai"

    def begin(self, url: str, http: httpx2.AsyncClient) -> None:
        from google import genai
        from google.genai.types import GenerateContentConfig, HttpOptions

        options = HttpOptions(base_url=url, httpx_async_client=http, httpx_client=httpx2.Client())
        self.client = genai.Client(api_key="none", vertexai=False, http_options=options)
        config = GenerateContentConfig(system_instruction=SYSTEM)
        self.chat = self.client.aio.chats.create(model="any", config=config)

    async def ask(self, words: str) -> str:
        done = await self.chat.send_message(words)
        self.history = self.chat.get_history()
        return str(done.text)

    async def stream(self, words: str) -> str:
        pieces = [each.text or "" async for each in await self.chat.send_message_stream(words)]
        self.history = self.chat.get_history()
        return "".join(pieces)


class OpenAIAgents(_OnHttpx):
    """An agent with a tool, on the responses API."""

    package = "agents"

    def begin(self, url: str, http: httpx2.AsyncClient) -> None:
        import agents
        from openai import AsyncOpenAI

        @agents.function_tool
        def search_workspace(query: str) -> str:
            """Searches."""
            return FOUND

        agents.set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=http)
        model = agents.OpenAIResponsesModel("any", client)
        self.agent = agents.Agent("helper", instructions=SYSTEM, model=model, tools=[search_workspace])

    async def ask(self, words: str) -> str:
        from agents import Runner

        done = await Runner.run(self.agent, [*self.history, {"role": "user", "content": words}])
        self.history = done.to_input_list()
        return str(done.final_output)

    async def stream(self, words: str) -> str:
        from agents import Runner

        done = Runner.run_streamed(self.agent, [*self.history, {"role": "user", "content": words}])
        events = [each async for each in done.stream_events()]
        assert len(events) > 1
        self.history = done.to_input_list()
        return str(done.final_output)


FRAMEWORKS: dict[str, Any] = {
    "openai": OpenAIChat,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "openai-agents": OpenAIAgents,
    "litellm": LiteLLM,
}
