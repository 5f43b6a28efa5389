"""The recorded requests, to which the TypeScript client is held, are what the reader makes of them today."""

from support.overlay_vectors import FILE, text_of_file


def test_the_recorded_requests_are_read_as_before() -> None:
    assert text_of_file() == FILE.read_text(), "run tests/support/overlay_vectors.py and look at the difference"
