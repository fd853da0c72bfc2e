"""Texts as token numbers: characters or words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

UNKNOWN = "<unk>"
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]|\n")


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of a text, numbered; index 0 of a vocabulary of words is `<unk>`.

    Parameters
    ----------
    tokens : all different
    level : "characters", or "words" (words, single punctuation marks, line ends; spaces are lost)
    """

    tokens: tuple[str, ...]
    level: Literal["characters", "words"]

    @classmethod
    def of(
        cls,
        text: str,
        *,
        level: Literal["characters", "words"] = "characters",
        max_size: int | None = None,
    ) -> Vocabulary:
        """Return the vocabulary of a text: characters sorted, words by falling frequency.

        Parameters
        ----------
        max_size : keep that many words, `<unk>` among them (words only)
        """
        if level not in ("characters", "words"):
            raise ValueError(f"`level` must be 'characters' or 'words', got {level!r}")
        if level == "characters":
            if max_size is not None:
                raise ValueError(f"`max_size` is for words only, got {max_size}")
            return cls(tuple(sorted(set(text))), level)
        if max_size is not None and max_size < 1:
            raise ValueError(f"`max_size` must be at least 1, got {max_size}")
        counts = Counter(_WORD.findall(text))
        ordered = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((UNKNOWN, *ordered)[:max_size], level)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> Tensor:
        """Return the token numbers of a text, `(time,)` int64.

        Raises
        ------
        ValueError
            For a character that the vocabulary doesn't have; unknown words become `<unk>`.
        """
        index = {token: i for i, token in enumerate(self.tokens)}
        if self.level == "words":
            return torch.tensor([index.get(w, 0) for w in _WORD.findall(text)], dtype=torch.int64)
        try:
            return torch.tensor([index[char] for char in text], dtype=torch.int64)
        except KeyError as error:
            raise ValueError(f"`text` holds {error.args[0]!r}, not in the vocabulary") from None

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of token numbers; words are joined by single spaces."""
        return ("" if self.level == "characters" else " ").join(self.tokens[int(i)] for i in tokens)
