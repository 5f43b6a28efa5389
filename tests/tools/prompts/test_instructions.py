"""What stands behind the user's words: the composer's and the adapter's instruction, each exactly once."""

from hypothesis import given
from hypothesis import strategies as st

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Message, Settings
from workspaced_tools.prompts.assembly.assemble import add_words
from workspaced_tools.prompts.assembly.layers import LayerBuilder, joined
from workspaced_tools.prompts.model.token_estimate import Estimator

C, A = "Answer in lists.", "Use no tables.\n\nNever."


words = st.text(alphabet="ab \n", max_size=12)


@given(said=words, composer=words, adapter=words)
def test_whatever_is_said_each_instruction_ends_the_words_once(said: str, composer: str, adapter: str) -> None:
    texts = {"m": said, "c": composer, "a": adapter}
    settings = Settings("p", "m", 9, 0, (), None, True, 1, composer_sha256="c", adapter_sha256="a")
    sheet = LayerBuilder("L5_USER", Estimator(1.0))
    add_words(sheet, Message(MessageId("m"), "user", 1, "", "m"), settings, "chat", texts.__getitem__)
    text = joined(sheet.segments)
    assert [entry.id for entry in sheet.entries] == ["m", "composer", "adapter"]
    assert text.startswith(said.strip(" \n"))
    for entry, given_text in zip(sheet.entries[1:], (composer.strip(" \n"), adapter.strip(" \n")), strict=True):
        added = [each for each in sheet.segments if each.id == entry.id]
        assert len(added) == (entry.state == "full") and (entry.state == "empty") == (not given_text)
        assert not given_text or given_text in text
    if sheet.entries[2].state == "full":
        assert text.endswith(adapter.strip(" \n"))
