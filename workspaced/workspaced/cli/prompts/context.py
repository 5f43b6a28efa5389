"""`workspaced context`: the content of prompts, and the provider's cache hits and misses."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.conversations import Conversation
from workspaced_tools.ports.manifest import Manifest
from workspaced_tools.prompts.audit.cache_accounting import Accounted, account, summed
from workspaced_tools.prompts.audit.overlaid_chats import OverlaidChat
from workspaced_tools.prompts.audit.sent_prompts import (
    PromptHistory,
    RebuiltPrompt,
    SentPrompt,
    read_prompt_history,
    rebuild_prompts,
)
from workspaced_tools.prompts.model.stored_texts import manifest_of_prompt, texts_in
from workspaced_tools.prompts.model.types import Block, Envelope, Layer

from ...terminal.daemon import ask
from ...terminal.log import open_log
from ...terminal.options import WithList, daemon_options, given, utc_option
from ...terminal.output import output, print_table, print_warnings, segment_progress, write_lines
from ...terminal.printing import counted, print_bytes, print_json, say, say_text, styled
from ...terminal.screen import local_time

_STATE_COLOURS = {
    "reference": "cyan",
    "shortened": "yellow",
    "elided": "yellow",
    "dropped": "red",
    "failed": "red",
}
_OUTCOME_COLOURS = {"hit": "green", "miss": "yellow"}
_KEY_CHARS = 12
"""Of a hash that people read."""


@click.group(name="context", cls=WithList)
def context_command() -> None:
    """What prompts held: list, show; a conversation as a file: export.

    \b
    workspaced context                         the conversations
    workspaced context show TALK               the last prompt of a conversation, as it was sent
    workspaced context show TALK --manifest    what is in it, what was left out, and why
    workspaced context show TALK --cache       what became of the provider's cache, prompt by prompt
    workspaced context show TALK --body sent   the body that it was given as; openai: as OpenAI would take it
    workspaced context show 3f2a               what was put into the requests of an overlaid chat
    workspaced context export TALK -o chat.md  the conversation as Markdown

    A prompt is made again from the log and its blobs, to the byte. A conversation is named by its id or the
    beginning of it, a chat whose requests were overlaid by its hash, which the list has. LOG is a data directory,
    an export, a bundle, or - for standard input; without it that of the running daemon is read, or where none runs
    the workspace's own.
    """


@context_command.command("export")
@click.argument("conversation")
@click.option(
    "-o",
    "--output",
    "to",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to; default: standard output.",
)
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
@daemon_options
def export_command(conversation: str, to: Path | None, force: bool) -> None:
    """Write a conversation as Markdown, for reading and keeping.

    What was attached is named, but for withheld notes, which are counted.
    """
    exported = ask("workspaced/context/export", {"conversation": conversation})
    if exported["withheld"]:
        say(f"left out, since their notes are withheld: {exported['withheld']}", err=True)
    if to is not None:
        if to.is_dir():
            raise InvalidArgument(f"{str(to)!r} is a folder.", hint="Name a file.")
        if to.exists() and not force:
            raise InvalidArgument(
                f"The file {str(to)!r} exists.", hint="Name another one, or replace it with --force."
            )
        write_lines(iter([exported["text"].encode()]), to)
    if given("json"):
        print_json(exported)
    elif to is not None:
        say(f"wrote {to!s}", err=True)
    else:
        print_bytes(exported["text"].encode())


# -- list --


@context_command.command("list")
@click.argument("log", required=False, metavar="[LOG]")
@utc_option
@daemon_options
def list_command(log: str | None) -> None:
    """List the conversations, the one spoken of last at the end, and the chats whose requests were overlaid."""
    with open_log(log) as source:
        history = _read_history(source)
    prompts = history.prompts
    listed = [_listed(each, len(prompts.get(name, ()))) for name, each in history.conversations.by_id.items()]
    chats = [_listed_chat(history, name) for name in history.overlaid.by_chat]
    if given("json"):
        print_json(*listed, *chats)
        return
    if listed:
        head = ("CONVERSATION", "LAST", "MODEL", "MESSAGES", "PROMPTS", "~TOKENS", "HITS", "MISSES", "")
        print_table([head, *map(_row, listed)], right={3, 4, 5, 6, 7}, drop=(5, 3, 7, 6, 2, 1), wrap=0)
    if chats:
        head_of_chats = ("OVERLAID CHAT", "LAST", "CLIENT", "FORM", "INSERTIONS", "REQUESTS")
        rows = [tuple(map(str, {**each, "last": local_time(each["last"])}.values())) for each in chats]
        print_table([head_of_chats, *rows], right={4, 5}, drop=(3, 1, 5), wrap=0)
    if not listed and not chats:
        say("no conversations", err=True)


def _listed(conversation: Conversation, prompts: int) -> dict[str, Any]:
    messages, latest = conversation.messages, conversation.prompts[-1:]
    return {
        "conversation": conversation.id,
        "last": messages[next(reversed(messages))].at if messages else None,
        "provider": conversation.settings.provider,
        "model": conversation.settings.model,
        "messages": len(messages),
        "prompts": prompts,
        "estimate": latest[0].estimate if latest else None,
        "ended": conversation.ended,
        "cache": summed(account(conversation)),
    }


def _listed_chat(history: PromptHistory, name: str) -> dict[str, Any]:
    latest = history.overlaid.by_chat[name][-1]
    return {
        "chat": name,
        "last": latest.time,
        "caller": latest.data.caller,
        "form": latest.data.event,
        "insertions": len(history.overlaid.insertions_of(name)),
        "requests": len(history.overlaid.requests_of(name)),
    }


def _row(listed: dict[str, Any]) -> tuple[str, ...]:
    cache = listed["cache"]
    return (
        listed["conversation"],
        local_time(listed["last"] or ""),
        f"{listed['provider']}/{listed['model']}",
        str(listed["messages"]),
        str(listed["prompts"]),
        f"{listed['estimate']:,}" if listed["estimate"] is not None else "",
        str(cache.hits),
        str(cache.misses),
        "ended" if listed["ended"] else "",
    )


# -- show --


@context_command.command("show")
@click.argument("conversation")
@click.argument("log", required=False, metavar="[LOG]")
@click.option("--message", metavar="ID", help="The prompt for this message instead of the last one.")
@click.option("--prompt", metavar="SEQ", type=int, help="The prompt of this sequence: --cache lists them.")
@click.option("--layers", "form", flag_value="layers", help="The five layers and their texts.")
@click.option("--manifest", "form", flag_value="manifest", help="What is in it, what was left out, and why.")
@click.option("--cache", "form", flag_value="cache", help="Every prompt, and what the provider had cached of it.")
@click.option("--body", metavar="SHAPE|FILE", help="What a provider is sent: `sent`, a shape's name, a template.")
@utc_option
@daemon_options
def show_command(
    conversation: str, log: str | None, message: str | None, prompt: int | None, form: str | None, body: str | None
) -> int:
    """Show a prompt as it was sent: its messages, with the size of each. By default the last one of the chat.

    Exit code 1 where this program makes another prompt of the log and its blobs.

    With --body it is the JSON that a provider takes: of `openai`, `responses`, `anthropic`, `gemini`, or of an own
    template, by its name or file (*.jinja); `sent` is what the runtime was given, by the template of then.

    Of a chat whose requests were overlaid: each text that was put into it, with its notes, and the requests that
    left with it. The client's own words are not recorded, so there is no more to show.
    """
    if form == "cache" and (message is not None or prompt is not None):
        raise click.UsageError("--cache is of all prompts: leave --message and --prompt out.")
    if form is not None and body is not None:
        raise click.UsageError(f"--body and --{form} are two things to show: leave one out.")
    with open_log(log) as source:
        history = _read_history(source)
        about = history.conversation_or_chat(conversation)
        if isinstance(about, str):
            if form is not None or body is not None or message is not None or prompt is not None:
                raise click.UsageError("Of a chat whose requests were overlaid there is one thing to show.")
            output(history.overlaid.shown(about, source.blob), _print_chat)
            return 0
        if form == "cache":
            prompts = account(about)
            output({"prompts": prompts, "summary": summed(prompts)}, lambda _: _print_cache(prompts))
            return 0
        sent = history.sent(about, message, prompt)
        if form == "manifest":
            manifest = manifest_of_prompt(sent.data.manifest_sha256, texts_in(source.blob))
            output(manifest, lambda manifest: _print_manifest(sent, manifest))
            return 0
        [rebuilt] = rebuild_prompts(source, [sent])
        if body is not None:
            from .request_body import body_of, print_body  # templates need an engine that nothing else here does

            shaped, differs = body_of(rebuilt, body, source)
            return max(print_body(rebuilt, shaped, differs=differs), _warn_of_difference([rebuilt]))
    envelope = rebuilt.made.envelope
    if not given("json"):
        _print_head(sent, envelope.manifest)
    if form == "layers":
        output(envelope.layers, _print_layers)
    else:
        output(envelope, _print_messages)
    return _warn_of_difference([rebuilt])


def _print_chat(chat: OverlaidChat) -> None:
    say(f"put into the requests of {chat.caller} in the chat {chat.chat}:")
    for each in chat.insertions:
        after = "everything" if each.from_seq is None else f"what differs from event {each.from_seq}"
        told = f"event {each.seq} at {local_time(each.time)}, turn {each.turn[:_KEY_CHARS]} ({each.form}): {after}"
        say(styled(f"--- {told}", bold=True))
        if each.withdrawn_at is not None:
            say(styled(f"withdrawn at event {each.withdrawn_at}: a note that it names is withheld", fg="yellow"))
        if not each.requests:
            say(styled("no request is known to have left with it", fg="yellow"))
        for told_note in each.notes:
            revision = told_note.revision[:_KEY_CHARS] if told_note.revision is not None else "no revision"
            say(f"note {told_note.note}, {revision}")
        if each.text:
            say_text(each.text)
        else:
            say("The text is not kept." if each.text is None else "No text: nothing was new to the turn before.")
    rows = [("REQUEST", "TIME", "INSERTIONS", "READ", "CACHED", "OUTPUT")]
    for sent in chat.requests:
        tokens = _count(sent.input_tokens), _count(sent.cached_tokens), _count(sent.output_tokens)
        stood = " ".join(map(str, sent.insertions)) or "not recorded"
        rows.append((str(sent.seq), local_time(sent.time), stood, *tokens))
    print_table(rows, right={0, 3, 4, 5}, drop=(1, 5), wrap=2)


def _read_history(source: Any) -> PromptHistory:
    with segment_progress("reading") as progress:
        history = read_prompt_history(source, progress)
    print_warnings(history.warnings)
    return history


def _warn_of_difference(prompts: list[RebuiltPrompt]) -> int:
    """Warns of prompts that differ from the sent ones; returns the exit code."""
    differing = [each for each in prompts if each.differs is not None]
    for each in differing:
        print_warnings([f"prompt {each.sent.event.seq} is not as it was sent: {each.differs} is another one."])
    return 1 if differing else 0


def _print_head(sent: SentPrompt, manifest: Manifest) -> None:
    event = sent.event
    of = f"for message {manifest.message} of conversation {manifest.conversation}"
    pipeline = sent.data.pipeline
    of += f", for {pipeline}" if pipeline != "chat" else ""
    say(f"prompt {event.seq} at {local_time(event.time)}, {of}")
    tools = f", {manifest.tool_tokens:,} of them tools" if manifest.tool_tokens else ""
    say(f"about {manifest.estimate:,} of {manifest.limit:,} tokens{tools}, by {manifest.estimator}")
    rows, colours = [], {}
    for number, layer in enumerate(manifest.layers):
        cached = sum(each.tokens for each in manifest.entries if each.layer == layer.id and each.cached)
        stable = "stable" if layer.stable else "changed"
        colours[number] = "green" if layer.stable else "yellow"
        size = f"{layer.tokens:,} tokens", f"{layer.bytes:,} bytes"
        rows.append((layer.id, *size, stable, f"{cached:,} cached", layer.hash[:12]))
    print_table(rows, right={1, 2, 4}, colours=colours, drop=(5, 2, 4))
    for warning in manifest.warnings:
        say(styled("warning:", fg="yellow"), f" {warning}")


def _print_messages(envelope: Envelope) -> None:
    for message in envelope.messages:
        name = f" {message.id}" if message.id else ""
        say(styled(f"--- {message.role}{name}", bold=True))
        for number, block in enumerate(message.content):
            if number:
                say()
            _print_block(block)


def _print_block(block: Block) -> None:
    if block.type != "text":
        words = (block.type, block.name, block.id, block.media_type, block.blob, "error" if block.is_error else "")
        say(styled(f"[{' '.join(word for word in words if word)}]", fg="cyan"))
    if block.text:
        say_text(block.text)


def _print_layers(layers: Sequence[Layer]) -> None:
    for layer in layers:
        colour = "green" if layer.stable else "yellow"
        say(styled(f"--- {layer.id}", bold=True, fg=colour))
        if layer.text:
            say_text(layer.text)


def _print_manifest(sent: SentPrompt, manifest: Manifest) -> None:
    _print_head(sent, manifest)
    rows = [("LAYER", "STATE", "KIND", "ID", "~TOKENS", "BYTES", "CACHED", "WHY")]
    colours = {}
    for number, entry in enumerate(manifest.entries, start=1):
        if entry.state in _STATE_COLOURS:
            colours[number] = _STATE_COLOURS[entry.state]
        rows.append(
            (
                entry.layer,
                entry.state,
                entry.kind,
                entry.id,
                f"{entry.tokens:,}",
                f"{entry.bytes:,}",
                "cached" if entry.cached else "",
                entry.why if entry.detail is None else f"{entry.why}: {entry.detail}",
            )
        )
    print_table(rows, right={4, 5}, colours=colours, drop=(5, 6, 0, 4), wrap=7)


def _print_cache(prompts: tuple[Accounted, ...]) -> None:
    if not prompts:
        say("no prompts", err=True)
        return
    rows = [("PROMPT", "MESSAGE", "~TOKENS", "~EXPECTED", "READ", "CACHED", "CACHE", "WHY")]
    colours = {}
    for number, each in enumerate(prompts, start=1):
        if each.outcome in _OUTCOME_COLOURS:
            colours[number] = _OUTCOME_COLOURS[each.outcome]
        tokens = (_count(each.input_tokens), _count(each.cached_tokens))
        size = f"{each.estimate:,}", f"{each.expected:,}"
        message = each.message if each.pipeline == "chat" else f"{each.message} ({each.pipeline})"
        rows.append((str(each.seq), message, *size, *tokens, each.outcome, each.cause or ""))
    print_table(rows, right={0, 2, 3, 4, 5}, colours=colours, drop=(3, 4, 5, 2), wrap=7)
    summary = summed(prompts)
    hits = f"{counted(summary.hits, 'hit')}, {counted(summary.misses, 'miss')}"
    say(
        f"{counted(summary.prompts, 'prompt')}: {hits}, {summary.not_reported} not reported; "
        f"{summary.cached_tokens:,} of {summary.input_tokens:,} tokens came from the cache"
    )
    for cause, count in sorted(summary.causes.items(), key=lambda pair: -pair[1]):
        say(f"  missed ({count}): {cause}")


def _count(tokens: int | None) -> str:
    return f"{tokens:,}" if tokens is not None else ""
