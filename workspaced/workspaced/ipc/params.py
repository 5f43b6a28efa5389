"""The base of all our methods' parameters."""

import msgspec


class Params(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Parameters of a method; an unknown one is an error."""
