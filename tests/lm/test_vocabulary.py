from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.lm import Vocabulary


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_characters_survive_the_round_trip(text):
    vocabulary = Vocabulary.of(text)
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert len(vocabulary) == len(set(text))


def test_words_are_numbered_by_frequency_after_the_unknown_one():
    vocabulary = Vocabulary.of("a whale, a sea, a ship’s\ndeck", level="words")
    assert vocabulary.tokens[:3] == ("<unk>", "a", ",")
    assert "ship’s" in vocabulary.tokens
    assert "\n" in vocabulary.tokens
    assert vocabulary.decode(vocabulary.encode("a whale,")) == "a whale ,"


def test_words_beyond_the_largest_size_are_unknown():
    vocabulary = Vocabulary.of("a a a b b c", level="words", max_size=3)
    assert vocabulary.tokens == ("<unk>", "a", "b")
    assert vocabulary.encode("c b nothing").tolist() == [0, 2, 0]


def test_a_character_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="`text` holds 'z'"):
        Vocabulary.of("abc").encode("abz")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "bytes"}, "`level` must be 'characters' or 'words', got 'bytes'"),
        ({"max_size": 5}, "`max_size` is for words only, got 5"),
        ({"level": "words", "max_size": 0}, "`max_size` must be at least 1, got 0"),
    ],
)
def test_bad_vocabularies_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Vocabulary.of("a b", **options)
