"""Small language models: tiny ones that are trained here."""

import importlib

_EXPORTS = {
    "CharLSTM": "tiny",
    "GPTConfig": "tiny",
    "LSTMConfig": "tiny",
    "TinyGPT": "tiny",
    "Trained": "tiny",
    "Vocabulary": "vocabulary",
    "batches": "tiny",
    "bits_per_token": "tiny",
    "train": "tiny",
}


def __getattr__(name):
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(_EXPORTS)
