"""A process of its own that downloads until all is over or it is killed; argv: endpoint, folder, file of bundles."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import msgspec

from engine.download.line import Hub
from engine.download.manager import DownloadOptions, Downloads
from engine.download.progress import DownloadProgress, DownloadState
from engine.models.remote import RemoteBundle
from tests.engine.download.kit import HASTY

_END = (DownloadState.DONE, DownloadState.FAILED)


def main(endpoint: str, folder: str, bundles_path: str) -> None:
    """Print one line of JSON for each download that came to an end."""
    bundles = msgspec.json.decode(Path(bundles_path).read_bytes(), type=list[RemoteBundle])
    left = {bundle.id for bundle in bundles}
    ended = threading.Event()

    def hear(progress: DownloadProgress) -> None:
        if progress.state in _END and progress.id in left:
            left.discard(progress.id)
            print(msgspec.json.encode(progress).decode(), flush=True)
            if not left:
                ended.set()

    downloads = Downloads(
        Path(folder),
        Hub(endpoint, lambda: None),
        DownloadOptions(read_facts=None, transfer=HASTY, n_streams=6),
    )
    downloads.start(hear)
    for bundle in bundles:
        downloads.download(bundle)
    ended.wait()
    downloads.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
