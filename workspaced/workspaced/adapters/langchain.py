"""LangChain 1: a middleware that puts context into each request of an agent to its model.

    agent = create_agent(model, tools, middleware=[WorkspacedMiddleware()])

The agent's state and its checkpoints never hold the context.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse

from .langgraph import in_place, with_library
from .placing import Placing, Transform


class WorkspacedMiddleware(AgentMiddleware[Any, Any, Any]):
    """Puts context into requests; they go on as they are if the daemon cannot help."""

    def __init__(self, name: str = "langchain", **options: Any) -> None:
        """
        Args:
            name, options: as `Placing`.
        """
        super().__init__()
        self._placing = Placing(name, **options)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return handler(self._placing.place(_with_context, request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return await handler(await self._placing.place_async(_with_context, request))


def _with_context(transform: Transform, request: ModelRequest[Any]) -> ModelRequest[Any]:
    made = in_place(transform, request.system_message, request.messages)
    system = with_library(request.system_message, made.library)
    return request.override(messages=made.messages, system_message=system)
