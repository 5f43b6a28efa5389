"""The tokens that a provider counted, given as numbers or as the provider's own report."""

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.conversations import Prompt, Settings
from workspaced_tools.limits import CONTEXT_TOKENS_MAX, ECHO_CHARS_MAX
from workspaced_tools.prompts.providers.known import SHAPES, counted, provider_named

from . import params as p


def check_usage(params: p.Usage) -> None:
    """
    Raises:
        InvalidArgument: there must be either the tokens or a report, not both.
    """
    if (params.input_tokens is None) == (params.report is None):
        raise InvalidArgument(
            f"Expected either `inputTokens` or `report`, got {'neither' if params.report is None else 'both'}.",
            hint="Give the provider's usage object as `report`, or the tokens by name.",
        )
    if params.report is None and params.cached_in_input is None:
        raise InvalidArgument(
            "Expected `cachedInInput` with `inputTokens`: some providers count the tokens from their cache among "
            "the input's, others apart, and a wrong guess counts them twice or not at all.",
            hint="Say true for OpenAI and Gemini, false for Anthropic; or give the provider's usage as `report`.",
        )
    if params.report is not None and (
        params.cached_tokens or params.output_tokens or params.cached_in_input is not None
    ):
        raise InvalidArgument(
            "A `report` tells of all tokens itself.",
            hint="Leave `cachedTokens`, `outputTokens` and `cachedInInput` out.",
        )
    if params.report is None and params.shape is not None:
        raise InvalidArgument("`shape` says how a `report` is read, and there is none.", hint="Leave it out.")


def tokens_of(params: p.Usage, settings: Settings, prompt: Prompt) -> tuple[int, int, int]:
    """The input, cached and output tokens, as in `usage_reported`: there `settings` decide whether the input
    tokens include the cached ones, whatever the report says of its own.

    Raises:
        InvalidArgument: more cached than input tokens, too many tokens, or the report's provider is not known.
        ArgumentInvalid: the report is not a valid one of its provider.
    """
    if params.report is not None:
        read, cached, output = counted(params.report, _shape(params, settings, prompt))
    else:
        assert params.input_tokens is not None, "checked"
        cached, output = params.cached_tokens, params.output_tokens
        read = params.input_tokens if params.cached_in_input else params.input_tokens + cached
    if (most := max(read, output)) > CONTEXT_TOKENS_MAX:
        raise InvalidArgument(
            f"Expected at most {CONTEXT_TOKENS_MAX} tokens of a prompt, got a number of {most.bit_length()} bits.",
            hint="Give the usage of the provider's answer as it came.",
        )
    if cached > read:
        raise InvalidArgument(
            f"Expected cachedTokens <= inputTokens ({read}), got {cached}.",
            hint="If this provider counts cached tokens apart, say cachedInInput: false.",
        )
    return read if settings.cached_in_input else read - cached, cached, output


def _shape(params: p.Usage, settings: Settings, prompt: Prompt) -> str:
    """The shape of the requests whose answers have reports of this form.

    Raises:
        InvalidArgument: it is not known.
    """
    shape = params.shape or (prompt.shape.name if prompt.shape is not None else "")
    provider = params.provider or settings.provider
    if shape not in SHAPES and params.shape is None and (found := provider_named(provider)) is not None:
        shape = found.shape or ""
    if shape not in SHAPES:
        raise InvalidArgument(
            f"How {(params.shape or provider)[:ECHO_CHARS_MAX]!r} reports usage is not known.",
            hint=f"Name in `shape` how it does: {', '.join(SHAPES)}; or give the tokens themselves.",
        )
    return shape
