"""Chats in agent frameworks, alike for tests: each keeps its own history, and asks a model through an adapter.

A framework is imported when its chat is made. `history` is what the framework stored, as a text.
"""

import json
import os
from typing import Any, Protocol

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it asks the network for prices otherwise

SYSTEM = "Help with notes."
CALLS = (
    ("look_up", {"word": "alpha"}, "Alpha is the first."),
    ("look_up", {"word": "beta"}, "Beta is the second."),
)
"""A round of parallel calls: name, arguments and result of each."""
ROUND = ("Look both up.", "Both are found.")
"""The words of the user and the answer around it."""
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Chat(Protocol):
    async def ask(self, words: str, *, image: bool = False) -> str:
        """The model's answer; the exchange is kept."""
        ...

    async def stream(self, words: str) -> str:
        """As `ask`, streamed."""
        ...

    def seed(self, *ids: str) -> None:
        """Begins with a round of parallel calls that have these ids."""
        ...

    def forget(self) -> None:
        """Takes the last exchange back."""
        ...

    @property
    def history(self) -> str: ...


class LangChain:
    extras = ("langchain", "langchain_openai")

    def __init__(self, url: str, **options: Any) -> None:
        from langchain.agents import create_agent
        from langchain_openai import ChatOpenAI

        from workspaced.adapters.langchain import WorkspacedMiddleware

        model = ChatOpenAI(model="any", base_url=f"{url}/v1", api_key="none", stream_usage=False)
        self.agent = create_agent(model, [], middleware=[WorkspacedMiddleware(**options)], system_prompt=SYSTEM)
        self.messages: list[Any] = []

    async def ask(self, words: str, *, image: bool = False) -> str:
        from langchain_core.messages import HumanMessage

        blocks = [
            {"type": "text", "text": words},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        ]
        self.messages = await self._run([*self.messages, HumanMessage(blocks if image else words)])
        return str(self.messages[-1].text)

    async def _run(self, messages: list[Any]) -> list[Any]:
        return list((await self.agent.ainvoke({"messages": messages}))["messages"])

    async def stream(self, words: str) -> str:
        from langchain_core.messages import AIMessage, HumanMessage

        given = [*self.messages, HumanMessage(words)]
        pieces = [
            str(message.text)
            async for message, _about in self.agent.astream({"messages": given}, stream_mode="messages")
        ]
        assert len(pieces) > 1
        self.messages = [*given, AIMessage("".join(pieces))]
        return "".join(pieces)

    def seed(self, *ids: str) -> None:
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        calls = [
            {"id": name, "name": tool, "args": given} for name, (tool, given, _) in zip(ids, CALLS, strict=True)
        ]
        results = [ToolMessage(found, tool_call_id=name) for name, (_, _, found) in zip(ids, CALLS, strict=True)]
        self.messages = [HumanMessage(ROUND[0]), AIMessage("", tool_calls=calls), *results, AIMessage(ROUND[1])]

    def forget(self) -> None:
        del self.messages[-2:]

    @property
    def history(self) -> str:
        return repr(self.messages)


class LangGraph(LangChain):
    """Its node is a function of ours; its adapter is told of the daemon by the environment."""

    def __init__(self, url: str, **options: Any) -> None:
        from langchain_core.messages import SystemMessage
        from langchain_openai import ChatOpenAI
        from langgraph.graph import MessagesState, StateGraph

        from workspaced.adapters import langgraph

        langgraph._PLACING = langgraph.Placing("langgraph", **options)  # the functions have no options
        model = ChatOpenAI(model="any", base_url=f"{url}/v1", api_key="none", stream_usage=False)

        async def answer(state: MessagesState) -> Any:
            messages = await langgraph.awith_context([SystemMessage(SYSTEM), *state["messages"]])
            return {"messages": [await model.ainvoke(messages)]}

        graph = StateGraph(MessagesState)
        graph.add_node("answer", answer)
        graph.set_entry_point("answer")
        graph.set_finish_point("answer")
        self.agent = graph.compile()
        self.messages = []


class PydanticAI:
    extras = ("pydantic_ai",)

    def __init__(self, url: str, **options: Any) -> None:
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        from workspaced.adapters.pydantic_ai import WorkspacedModel

        model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))
        self.agent = Agent(WorkspacedModel(model, **options), instructions=SYSTEM)
        self.messages: list[Any] = []

    async def ask(self, words: str, *, image: bool = False) -> str:
        from pydantic_ai import BinaryContent

        picture = BinaryContent.from_data_uri(f"data:image/png;base64,{PNG}")
        done = await self.agent.run([words, picture] if image else words, message_history=self.messages)
        self.messages = done.all_messages()
        return str(done.output)

    async def stream(self, words: str) -> str:
        async with self.agent.run_stream(words, message_history=self.messages) as done:
            pieces = [each async for each in done.stream_text(delta=True, debounce_by=None)]
        assert len(pieces) > 1
        self.messages = done.all_messages()
        return "".join(pieces)

    def seed(self, *ids: str) -> None:
        from pydantic_ai import messages as m

        pairs = list(zip(ids, CALLS, strict=True))
        self.messages = [
            m.ModelRequest([m.UserPromptPart(ROUND[0])]),
            m.ModelResponse([m.ToolCallPart(tool, given, name) for name, (tool, given, _) in pairs]),
            m.ModelRequest([m.ToolReturnPart(tool, found, name) for name, (tool, _, found) in pairs]),
            m.ModelResponse([m.TextPart(ROUND[1])]),
        ]

    def forget(self) -> None:
        del self.messages[-2:]

    @property
    def history(self) -> str:
        return repr(self.messages)


class OpenAIAgents:
    extras = ("agents",)

    def __init__(self, url: str, **options: Any) -> None:
        import agents
        from openai import AsyncOpenAI

        from workspaced.adapters.openai_agents import WorkspacedFilter

        agents.set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
        model = agents.OpenAIResponsesModel("any", client)
        self.agent = agents.Agent("helper", instructions=SYSTEM, model=model)
        self.config = agents.RunConfig(call_model_input_filter=WorkspacedFilter(**options))
        self.items: list[Any] = []

    async def ask(self, words: str, *, image: bool = False) -> str:
        from agents import Runner

        blocks = [
            {"type": "input_text", "text": words},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
        ]
        given = [*self.items, {"role": "user", "content": blocks if image else words}]
        done = await Runner.run(self.agent, given, run_config=self.config)
        self.items = done.to_input_list()
        return str(done.final_output)

    async def stream(self, words: str) -> str:
        from agents import Runner

        given = [*self.items, {"role": "user", "content": words}]
        done = Runner.run_streamed(self.agent, given, run_config=self.config)
        events = [each async for each in done.stream_events()]
        assert len(events) > 1
        self.items = done.to_input_list()
        return str(done.final_output)

    def seed(self, *ids: str) -> None:
        pairs = list(zip(ids, CALLS, strict=True))
        self.items = [
            {"role": "user", "content": ROUND[0]},
            *(
                {"type": "function_call", "call_id": name, "name": tool, "arguments": json.dumps(given)}
                for name, (tool, given, _) in pairs
            ),
            *({"type": "function_call_output", "call_id": name, "output": found} for name, (_, _, found) in pairs),
            {"role": "assistant", "content": ROUND[1]},
        ]

    def forget(self) -> None:
        del self.items[-2:]

    @property
    def history(self) -> str:
        return repr(self.items)


class LiteLLM:
    """The hook as the proxy calls it; what it gives is sent with OpenAI's client.

    LiteLLM's own call leaves clients and tasks behind that outlive the loop of a test.
    """

    extras = ("litellm",)

    def __init__(self, url: str, **options: Any) -> None:
        from openai import AsyncOpenAI

        from workspaced.adapters.litellm import WorkspacedHandler

        self.client = AsyncOpenAI(base_url=f"{url}/v1", api_key="none")
        self.handler = WorkspacedHandler(**options)
        self.messages: list[Any] = [{"role": "system", "content": SYSTEM}]

    async def _call(self, content: Any, **more: Any) -> Any:
        self.messages = [*self.messages, {"role": "user", "content": content}]
        data = {"model": "any", "messages": self.messages, **more}
        data = await self.handler.async_pre_call_hook(None, None, data, "acompletion")
        return await self.client.chat.completions.create(**data)

    async def ask(self, words: str, *, image: bool = False) -> str:
        blocks = [
            {"type": "text", "text": words},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        ]
        done = await self._call(blocks if image else words)
        self.messages.append({"role": "assistant", "content": done.choices[0].message.content})
        return str(done.choices[0].message.content)

    async def stream(self, words: str) -> str:
        pieces = [each.choices[0].delta.content or "" async for each in await self._call(words, stream=True)]
        assert len(pieces) > 1
        self.messages.append({"role": "assistant", "content": "".join(pieces)})
        return "".join(pieces)

    def seed(self, *ids: str) -> None:
        pairs = list(zip(ids, CALLS, strict=True))
        calls = [
            {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
            for name, (tool, given, _) in pairs
        ]
        self.messages += [
            {"role": "user", "content": ROUND[0]},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": name, "content": found} for name, (_, _, found) in pairs),
            {"role": "assistant", "content": ROUND[1]},
        ]

    def forget(self) -> None:
        del self.messages[-2:]

    @property
    def history(self) -> str:
        return repr(self.messages)


FRAMEWORKS: dict[str, Any] = {
    "langchain": LangChain,
    "langgraph": LangGraph,
    "pydantic-ai": PydanticAI,
    "openai-agents": OpenAIAgents,
    "litellm": LiteLLM,
}
