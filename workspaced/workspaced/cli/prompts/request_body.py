"""`workspaced context show --body`: a prompt as a provider's JSON request body."""

import json
from pathlib import Path
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.replay.source import Source
from workspaced_tools.prompts.audit.sent_prompts import RebuiltPrompt
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.prompts.providers.bodies import RenderedBody, body_hash, rebuild_request_body, shape
from workspaced_tools.prompts.providers.templates import Template, template_named

from ...settings.settings import load_settings
from ...terminal.options import given
from ...terminal.output import print_warnings
from ...terminal.printing import print_bytes, print_readable_json

SENT: Final = "sent"
"""Names the body that the runtime got."""
_FILE_ENDING: Final = ".jinja"


def body_of(rebuilt: RebuiltPrompt, wanted: str, source: Source) -> tuple[RenderedBody, bool]:
    """A prompt as a request body: the sent one for SENT, otherwise by the named template or template file.

    Also whether it differs from the one that was sent.

    Raises:
        InvalidArgument: the prompt was sent as messages; or the file is no template.
        UnknownShape, TemplateFailed: the template is unknown or fails.
        NotRecorded: the template of the sent body, or an image, is no longer kept.
    """
    envelope, settings, data = rebuilt.made.envelope, rebuilt.conversation.settings, rebuilt.sent.data
    if wanted != SENT:
        texts = texts_in(source.blob)
        shaped = shape(envelope, settings, _template(wanted), texts, source.blob)
        return shaped, False
    recorded = data.shape
    if recorded is None:
        raise InvalidArgument(
            f"The prompt {rebuilt.sent.event.seq} was given as messages, not as a body.",
            hint=f"Name a shape instead of `{SENT}`, such as openai.",
        )
    shaped = rebuild_request_body(recorded, envelope, settings, source.blob)
    return shaped, body_hash(shaped.body) != recorded.body_hash


def _template(wanted: str) -> Template:
    if not wanted.endswith(_FILE_ENDING):
        return template_named(wanted, load_settings().templates_path)
    path = Path(wanted)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidArgument(f"Cannot read the template {path}: {why}.") from None
    return Template(path.name.removesuffix(_FILE_ENDING).removesuffix(".json"), text)


def print_body(rebuilt: RebuiltPrompt, shaped: RenderedBody, *, differs: bool) -> int:
    """Prints the JSON, and on stderr its differences from the messages. Returns the exit code: 1 if it differs."""
    content = msgspec.json.encode(shaped.body)
    if given("json"):
        print_bytes(content + b"\n")
    else:
        print_readable_json(json.loads(content))
    print_warnings(shaped.changes)
    if differs:
        print_warnings([f"the body of prompt {rebuilt.sent.event.seq} is not as it was sent."])
    return 1 if differs else 0
