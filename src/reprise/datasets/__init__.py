"""Data and weights: an asset registry, and plain functions that return arrays."""

import importlib

_EXPORTS = {
    "AssetError": "registry",
    "MissingAsset": "registry",
    "WrongHash": "registry",
    "NotFetched": "fetch",
    "asset": "registry",
    "content_hash": "registry",
    "needed": "registry",
    "state": "registry",
    "table": "registry",
    "fetch_assets": "fetch",
    "fashion_mnist": "images",
    "mnist_5k": "images",
    "digits": "images",
    "novel": "text",
}


def __getattr__(name):
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(_EXPORTS)
