"""What is on this computer: each target with the drafters beside it, wherever it lies."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from engine.models.bundle import Bundle


class Place(StrEnum):
    """Where a file was found."""

    STARTER = "starter"
    DOWNLOADED = "downloaded"
    HUB_CACHE = "hub-cache"
    LM_STUDIO = "lm-studio"
    JAN = "jan"
    OLLAMA = "ollama"
    FOLDER = "folder"
    OPENED = "opened"


class InstalledModel(msgspec.Struct, frozen=True):
    """A bundle on this computer; `id` is what the command line calls it.

    `size_bytes` is the target's with all parts and the drafter's file. `remote_id` is the RemoteBundle it came from, ""
    if it was not downloaded here. Only what Slipstream downloaded itself can be removed by it. `trouble` says why a
    download cannot be used: damaged, or not whole yet; "" for every model that can be loaded.
    """

    id: str
    bundle: Bundle
    place: Place
    size_bytes: int
    architecture: str = ""
    quantisation: str = ""
    n_ctx_train: int = 0
    n_params: int = 0
    remote_id: str = ""
    licence: str = ""
    trouble: str = ""

    @property
    def can_remove(self) -> bool:
        return self.place is Place.DOWNLOADED
