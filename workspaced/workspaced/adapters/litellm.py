"""LiteLLM's proxy: a hook before each call. A module `hook.py` beside the proxy's configuration:

    from workspaced.adapters.litellm import handler

and in the configuration:

    litellm_settings:
      callbacks: hook.handler

Calls of chat completions, of Anthropic's messages and of OpenAI's responses get context; others pass as they are.
A hook sees no bytes but values: those of the client stay equal.
"""

from typing import Any, Final

import msgspec
from anyio import to_thread
from litellm.integrations.custom_logger import CustomLogger

from ..overlay.request import MESSAGES, Form
from .overlaying import Overlaying

_FORMS: Final[dict[str, Form]] = {
    "completion": "openai",
    "acompletion": "openai",
    "anthropic_messages": "anthropic",
    "responses": "responses",
    "aresponses": "responses",
}
"""By the type of the call."""
_ABOUT_THE_CHAT: Final = ("prompt_cache_key", "previous_response_id")
"""Not `metadata`: there LiteLLM keeps what differs from call to call."""


class WorkspacedHandler(CustomLogger):
    """Puts context into the proxy's requests; they go on as they are if the daemon cannot help."""

    def __init__(self, name: str = "litellm", **options: Any) -> None:
        """
        Args:
            name, options: as `Overlaying`.
        """
        super().__init__()
        self._overlaying = Overlaying(name, **options)

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,  # noqa: ARG002 (LiteLLM names these parameters)
        cache: Any,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        form = _FORMS.get(call_type)
        return data if form is None else await to_thread.run_sync(self._with_context, form, data)

    def _with_context(self, form: Form, data: dict[str, Any]) -> dict[str, Any]:
        """What goes on: a hook is not told whether the request leaves, so it counts as sent."""
        field = MESSAGES[form]
        told = {name: data[name] for name in (field, *_ABOUT_THE_CHAT) if data.get(name) is not None}
        overlay = self._overlaying.overlay(form, b"", msgspec.json.encode(told))
        if overlay is None:
            return data
        overlay.left()
        return {**data, field: msgspec.json.decode(overlay.body)[field]}


handler: Final = WorkspacedHandler()
