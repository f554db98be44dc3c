"""The Hub as the verbs of `slipstream models` ask it."""

from __future__ import annotations

import sys

from engine.hub.client import HubClient
from engine.hub.token import token_trouble


def open_hub() -> HubClient:
    """Return a client of the Hub; a token that cannot be sent is told of on standard error, as it would be missed."""
    if trouble := token_trouble():
        print(f"slipstream: {trouble}", file=sys.stderr)
    return HubClient()
