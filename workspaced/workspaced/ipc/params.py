"""What the parameters of all our methods have in common."""

import msgspec


class Params(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Parameters of a method; an unknown one is an error."""
