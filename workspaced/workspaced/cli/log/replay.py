"""`workspaced replay`; with `--verify` it repeats recorded calls and prompts and shows the first that differs."""

import difflib
from collections import Counter
from typing import Any

import click
import msgspec

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import VaultId
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.state_diff import changes
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.blob_check import NamedBlobs
from workspaced_events.replay.position import Position, feed_until, parse_position
from workspaced_events.replay.replay import replay
from workspaced_events.replay.source import DirectorySource, ExportSource, Source
from workspaced_events.schema.catalogue import Event, PromptOverlaid, UnknownEvent

from ...errors import SettingsInvalid
from ...evals.fork_command import Forked, fork_options
from ...terminal.log import open_log
from ...terminal.options import complain_of_blobs, given, json_option, utc_option
from ...terminal.output import output, print_warnings, segment_progress
from ...terminal.printing import counted, print_json, say, say_difference, say_text
from ...terminal.state_text import print_state
from ...terminal.step_text import step_block


@click.command()
@click.argument("log", metavar="LOG")
@click.option(
    "--until", metavar="SEQ|TIME", help="Fold up to this event, or to the last one at or before this time."
)
@click.option("--steps", "in_steps", is_flag=True, help="Print each event and what it changed.")
@click.option("--verify", "is_verified", is_flag=True, help="Make every recorded call again and compare.")
@click.option("--of-vault", metavar="ID", help="Of this vault instead of the current one.")
@fork_options
@utc_option
@json_option
def replay_command(
    log: str, until: str | None, in_steps: bool, is_verified: bool, of_vault: str | None, forked: Forked
) -> int:
    """Fold LOG without a daemon and print the state it leads to; or give one of its prompts to models.

    LOG is a data directory, an export, a bundle, or - for standard input. A TIME is ISO 8601, of UTC unless it
    says otherwise.

    --steps prints with --json {"event", "changes"}, one a line.

    --verify runs every call over what it read then, and compares the answers byte for byte. Exit code 1 where one
    differs, 3 where something cannot be compared, unless a sweep or a version explains it, 4 where a text that the
    log names is damaged.

    --prompt shows a recorded prompt as it would be with other notes, and what models answer to it; tools answer
    what the log holds. The key is that in OPENAI_API_KEY. Exit code 1 where a model gave no answer, or --check
    does not call it right.
    """
    if in_steps and is_verified:
        raise SettingsInvalid("Expected --steps or --verify, got both.")
    if forked.prompt is not None:
        if in_steps or is_verified or until is not None or of_vault is not None:
            raise SettingsInvalid(
                "--prompt is about one prompt: leave --until, --steps, --verify, --of-vault out."
            )
        return forked.run(log)
    place = parse_position(until) if until is not None else None
    vault = VaultId(of_vault) if of_vault is not None else None
    with open_log(log) as source:
        if is_verified:
            code = verify_log(source, place)
            if isinstance(source, DirectorySource):  # the others are single files with checksums
                named = NamedBlobs()
                feed_until(source, place, named)
                complain_of_blobs(named.examine(RealDisk(source.root)).damaged)
            return code
        (_print_steps if in_steps else _print_end)(source, place, vault)
    return 0


def _print_end(source: Source, until: Position | None, vault: VaultId | None) -> None:
    with segment_progress("folding") as progress:
        replayed = replay(source, until=until, progress=progress)
    print_warnings(replayed.warnings)

    def tell(state_json: StateJson) -> None:
        say(counted(replayed.events, "event") + " folded")
        print_state(msgspec.to_builtins(state_json))

    output(_state_json(replayed.state, vault), tell)


def _print_steps(source: Source, until: Position | None, vault: VaultId | None) -> None:
    state, state_json, as_json = source.start, to_json(source.start, vault), given("json")

    def print_each(events: list[Event]) -> None:
        nonlocal state, state_json
        for event in events:
            state, before = apply(state, event), state_json
            state_json = to_json(state, vault)
            differences = changes(before, state_json)
            if as_json:
                print_json({"event": event, "changes": differences})
            else:
                say_text(f"{step_block(event, differences)}\n")

    print_warnings(feed_until(source, until, print_each))
    _state_json(state, vault)


def _state_json(state: WorkspaceState, vault: VaultId | None) -> StateJson:
    if vault is not None and vault not in state.vaults and vault not in state.by_vault:
        known = ", ".join(each for each in state.vaults) or "none"
        raise InvalidArgument(f"The log holds no vault {vault!r}.", hint=f"Its vaults: {known}.")
    return to_json(state, vault)


def verify_log(source: Source, until: Position | None) -> int:
    """Prints the outcomes of the recorded calls and prompts.

    Returns the exit code: 1 if one differs; 3 if something cannot be compared: a recording is damaged, or missing
    though nobody removed it, an event is of an unknown type, or no call, or no prompt, was compared; else 0.
    """
    from workspaced_tools.replay.verify import Rebuilt, Verified, verify

    calls, prompts, unknown = _Tally("call"), _Tally("prompt"), Counter[str]()
    is_export, as_json = isinstance(source, ExportSource), given("json")

    def each(call: Verified) -> None:
        calls.take(call := _of_export(call) if is_export else call)
        if as_json:
            print_json(_json(call))

    def each_prompt(rebuilt: Rebuilt) -> None:
        prompts.take(rebuilt := _of_export(rebuilt) if is_export else rebuilt)
        if as_json:
            print_json(_prompt_json(rebuilt))

    def each_unknown(event: UnknownEvent) -> None:
        unknown[event.type] += 1
        if as_json:
            print_json({"seq": event.seq, "type": event.type, "outcome": "unknownType"})

    with segment_progress("verifying") as progress:
        print_warnings(
            verify(
                source, each, each_prompt=each_prompt, each_unknown=each_unknown, until=until, progress=progress
            )
        )
    if not as_json:
        _print_outcomes(calls, prompts, source)
    is_whole = source.redacted and calls.counts["same"]  # though redaction removed what prompts were made from
    of_prompts = [] if is_whole else prompts.troubles()
    troubles = [*calls.troubles(), *of_prompts]
    if unknown:
        types = ", ".join(f"{count} {name}" for name, count in sorted(unknown.items()))
        troubles.append(f"Events of types that this program does not know were not compared: {types}.")
    if troubles and is_export:
        troubles.append(_VERIFY_INSTEAD)
    for trouble in troubles:
        say(trouble, err=True)
    if calls.differing is not None or prompts.differing is not None:
        return 1
    return _NOT_VERIFIED if troubles else 0


def _print_outcomes(calls: "_Tally", prompts: "_Tally", source: Source) -> None:
    calls.print("answer the same")
    if source.redacted and prompts.counts:
        say(f"{counted(prompts.counts.total(), 'prompt')}: redaction removed what they were made from.")
    elif prompts.counts:
        prompts.print("are the same")
    if calls.differing is not None:
        _print_call(calls.differing)
    if prompts.differing is not None:
        _print_prompt(prompts.differing, source)


_NOT_VERIFIED = 3
_IN_NO_EXPORT = "An export holds no recordings; the data directory does, and a bundle of it."
_VERIFY_INSTEAD = (
    "  Verify the data directory, or a bundle: `workspaced bundle -o FILE`, "
    "then `workspaced replay FILE --verify`."
)
_UNCOMPARED = {"notRecorded": "not recorded", "damaged": "damaged", "otherVersion": "another version"}


def _of_export(made: Any) -> Any:
    """An outcome with the reason that an export gives."""
    is_missing = made.outcome == "notRecorded"
    return msgspec.structs.replace(made, why=_IN_NO_EXPORT, is_explained=True) if is_missing else made


class _Tally:
    """Counts the outcomes of calls or of prompts, and keeps the first that differs."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._unexplained = 0
        self.counts: Counter[str] = Counter()
        self.differing: Any = None
        """The first that differs."""
        self._reasons: Counter[tuple[str, str]] = Counter()

    def take(self, made: Any) -> None:
        self.counts[made.outcome] += 1
        self._unexplained += made.outcome == "notRecorded" and not made.is_explained
        if made.outcome in _UNCOMPARED:
            self._reasons[made.outcome, made.why] += 1
        elif made.outcome == "different" and self.differing is None:
            self.differing = made

    def print(self, same: str) -> None:
        of = self.counts
        rest = [(of["damaged"], "damaged"), (of["otherVersion"], "of another version")]
        say(
            f"{counted(of.total(), self._what)}: {of['same']} {same}, {of['different']} differ, "
            f"{of['notRecorded']} are not recorded{''.join(f', {count} {how}' for count, how in rest if count)}."
        )
        for (outcome, why), count in self._reasons.most_common():
            say(f"  {_UNCOMPARED[outcome]} ({count}): {why}")

    def troubles(self) -> list[str]:
        """The reasons why the outcomes prove nothing about some or all of them."""
        what, total, damaged = self._what, self.counts.total(), self.counts["damaged"]
        messages = []
        if damaged:
            messages.append(
                f"What was kept of {damaged} of {counted(total, what)} is damaged; the files are named above."
            )
        if self._unexplained:
            messages.append(
                f"{self._unexplained} of {counted(total, what)} could not be compared, and no sweep explains it; "
                "the reasons are named above."
            )
        if total and not self.counts["same"] and not self.counts["different"]:
            messages.append(f"No {what} could be compared: nothing was verified.")
        return messages


def _print_call(call: Any) -> None:
    from workspaced_tools.recording.call_diff import readable_json

    say(f"The first that differs is call {call.seq}, {call.called.tool} by {call.called.caller}:")
    if call.differs != "answer":
        say(f"  the answer is the same, but `{call.differs}` of its event is another one.")
        return
    if call.served is None or call.answered is None:
        say("  what was served is not kept; its hash is another one.")
        return
    served, answered = readable_json(call.served), readable_json(call.answered)
    say_difference(difflib.unified_diff(served, answered, "served", "answered now", lineterm=""))


def _print_prompt(rebuilt: Any, source: Source) -> None:
    from workspaced_tools.prompts.model.stored_texts import manifest_of_prompt, texts_in

    prompt, envelope = rebuilt.prompt, rebuilt.envelope
    if isinstance(prompt, PromptOverlaid):
        say(f"The first that differs is the request of event {rebuilt.seq}: `{rebuilt.differs}` is another one.")
        return
    of = f"for message {prompt.message} of conversation {prompt.conversation}"
    say(f"The first that differs is prompt {rebuilt.seq}, {of}:")
    if envelope is None:
        say(f"  {rebuilt.why}")
        return
    from workspaced_tools.prompts.providers.bodies import BODY

    if rebuilt.differs == BODY:
        say("  The prompt is the same; the body made of it is another one: `context show --body sent`.")
        return
    say(f"  {rebuilt.differs} is another one. What the manifests say:")
    try:
        sent = manifest_of_prompt(prompt.manifest_sha256, texts_in(source.blob))
    except WorkspacedError as error:
        say(f"  {error.message}")
        return
    before, after = _manifest_lines(sent), _manifest_lines(envelope.manifest)
    say_difference(difflib.unified_diff(before, after, "sent", "assembled now", lineterm=""))


def _manifest_lines(manifest: Any) -> list[str]:
    """A line for each layer and each entry, with all its fields."""
    layers = [f"{each.id} {each.tokens} tokens, {each.bytes} bytes, {each.hash}" for each in manifest.layers]
    entries = [
        f"{each.layer} {each.kind} {each.id}: {each.state}, {each.why}, {each.tokens} tokens, {each.bytes} bytes, "
        f"{each.revision or 'no revision'}{', cached' if each.cached else ''}"
        for each in manifest.entries
    ]
    return [*layers, *entries, f"estimate {manifest.estimate} of {manifest.limit}", *manifest.warnings]


def _json(call: Any) -> dict[str, Any]:
    report = {"seq": call.seq, "tool": call.called.tool, "caller": call.called.caller, "outcome": call.outcome}
    if call.why:
        report["why"] = call.why
    if call.outcome == "different":
        report["differs"] = call.differs
        report["served"] = call.served.decode() if call.served is not None else None
        report["answered"] = call.answered.decode()
    return report


def _prompt_json(rebuilt: Any) -> dict[str, Any]:
    names = ("insertion",) if isinstance(rebuilt.prompt, PromptOverlaid) else ("conversation", "message")
    of = {name: getattr(rebuilt.prompt, name) for name in names}
    report = {"seq": rebuilt.seq, **of, "outcome": rebuilt.outcome}
    if rebuilt.why:
        report["why"] = rebuilt.why
    if rebuilt.differs is not None:
        report["differs"] = rebuilt.differs
    return report
