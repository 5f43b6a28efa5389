"""The tokens that a provider counted: as a runtime says them, or as the provider's own report does."""

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.conversations import Prompt, Settings
from workspaced_tools.limits import ECHO_CHARS_MAX
from workspaced_tools.prompts.requests.usage_report import FAMILIES, counted, family_of

from ..limits import CONTEXT_TOKENS_MAX
from . import params as p


def check_usage(params: p.Usage) -> None:
    """
    Raises:
        InvalidArgument: not either the tokens or a report.
    """
    if (params.input_tokens is None) == (params.report is None):
        raise InvalidArgument(
            f"Expected either `inputTokens` or `report`, got {'neither' if params.report is None else 'both'}.",
            hint="Give the provider's usage object as `report`, or the tokens by name.",
        )
    if params.report is not None and (params.cached_tokens or params.output_tokens):
        raise InvalidArgument(
            "A `report` tells of all tokens itself.", hint="Leave `cachedTokens` and `outputTokens` out."
        )
    if params.report is None and params.shape is not None:
        raise InvalidArgument("`shape` says how a `report` is read, and there is none.", hint="Leave it out.")


def tokens_of(params: p.Usage, settings: Settings, prompt: Prompt) -> tuple[int, int, int]:
    """Those of the input, of it from the cache, and of the output, as `usage_reported` has them: the input's with
    or without the cached ones, as `settings` say.

    Raises:
        InvalidArgument: more came from the cache than was read; a report of nobody known.
        ArgumentInvalid: a report that is none.
    """
    is_apart = not settings.cached_in_input
    if params.report is not None:
        read, cached, output = counted(params.report, _family(params, settings, prompt))
        if (most := max(read, output)) > CONTEXT_TOKENS_MAX:
            raise InvalidArgument(
                f"Expected at most {CONTEXT_TOKENS_MAX} tokens in a report, got one of {most.bit_length()} bits.",
                hint="Give the usage of the provider's answer as it came.",
            )
    else:
        assert params.input_tokens is not None, "checked"
        read, cached, output = params.input_tokens, params.cached_tokens, params.output_tokens
        if is_apart:
            return read, cached, output
    if cached > read:
        raise InvalidArgument(
            f"Expected cachedTokens <= inputTokens ({read}), got {cached}.",
            hint="If this provider counts cached tokens apart, start with cachedInInput: false.",
        )
    return read - cached if is_apart else read, cached, output


def _family(params: p.Usage, settings: Settings, prompt: Prompt) -> str:
    """Whose report it is.

    Raises:
        InvalidArgument: that is not known.
    """
    shaped = prompt.shape.name if prompt.shape is not None else None
    provider = params.provider or settings.provider
    family = params.shape or (shaped if shaped in FAMILIES else None) or family_of(provider)
    if family not in FAMILIES:
        raise InvalidArgument(
            f"How {(params.shape or provider)[:ECHO_CHARS_MAX]!r} reports usage is not known.",
            hint=f"Name in `shape` how it does: {', '.join(FAMILIES)}; or give the tokens themselves.",
        )
    return family
