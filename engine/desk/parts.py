"""The parts of the engine that need the network, put together once; importing them takes a third of a second."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.download.line import Hub
from engine.download.manager import DownloadOptions, Downloads
from engine.folders import headers_folder
from engine.hub.client import HubClient
from engine.hub.connection import OnContact
from engine.hub.resolve import resolve_bundle
from engine.hub.token import read_token
from engine.models.catalogue import CatalogueEntry, load_catalogue
from engine.models.remote import RemoteBundle


class Parts:
    """A client of the Hub, the downloads into `folder`, and the catalogue.

    `endpoint` "": the Hub, or its mirror. `on_contact` hears whether the Hub could be reached.
    """

    def __init__(self, folder: Path, endpoint: str, on_contact: OnContact) -> None:
        self.client = HubClient(endpoint, on_contact=on_contact)
        self.entries: tuple[CatalogueEntry, ...] = load_catalogue()
        self.headers_folder = headers_folder()
        self.downloads = Downloads(
            folder,
            Hub(self.client.endpoint, read_token),
            DownloadOptions(resolve=lambda bundle: resolve_bundle(bundle, self.client)),
        )

    def entry_of(self, bundle: RemoteBundle | None) -> CatalogueEntry | None:
        """Return the catalogue's entry for `bundle`, with the drafter that `bundle` has; None if there is none."""
        entry = next((one for one in self.entries if bundle is not None and one.bundle.id == bundle.id), None)
        if entry is None or bundle is None or entry.bundle == bundle:
            return entry
        return msgspec.structs.replace(entry, bundle=bundle, rough_drafter_bytes=0)

    def owner_of(self, token: str) -> str:
        """Return whom the Hub knows by `token`, "" for none; raises TokenRefused, and what HubClient raises."""
        client = HubClient(self.client.endpoint, lambda: token)
        try:
            return client.whoami()
        finally:
            client.close()

    def close(self, timeout_s: float) -> None:
        """Pause the downloads for the next start, and close the connections."""
        self.downloads.stop(timeout_s)
        self.client.close()
