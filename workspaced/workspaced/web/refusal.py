"""A request over HTTP that is refused."""


class Refused(Exception):
    """A refusal: a status of HTTP, a code, what is wrong, and the next step."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
