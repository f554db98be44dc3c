"""Where the files of a bundle are that is asked about: on this computer, or as headers fetched from the Hub."""

from __future__ import annotations

from pathlib import Path

from engine.budget.budget import BudgetQuestion
from engine.desk.jobs import CancelToken
from engine.errors import BadOption
from engine.hub.remote_header import fetch_header
from engine.hub.token import read_token
from engine.models.bundle import DrafterChoice
from engine.models.remote import RemoteBundle, RemoteFile
from engine.models_service import BudgetRequest


def question_of(
    request: BudgetRequest, held: tuple[tuple[str, int], ...], folder: Path, endpoint: str, token: CancelToken
) -> BudgetQuestion:
    """Return `request` with files that llama.cpp can be asked about; headers go into `folder`.

    Raises what fetch_header raises, and BadOption for a request without a bundle.
    """
    if request.remote is not None:
        target, drafter = _headers(request.remote, folder, endpoint, token)
    elif request.bundle is not None:
        target, drafter = request.bundle.target, request.bundle.drafter
    else:
        raise BadOption("There is no model to ask about.")
    return BudgetQuestion(
        target,
        drafter,
        request.contexts,
        request.kv_types,
        request.n_gpu_layers,
        request.draft_length,
        request.race,
        held,
    )


def _headers(
    bundle: RemoteBundle, folder: Path, endpoint: str, token: CancelToken
) -> tuple[str, DrafterChoice]:
    def fetch(files: tuple[RemoteFile, ...]) -> str:
        path = fetch_header(
            files[0],
            folder,
            token=read_token(),
            endpoint=endpoint,
            is_cancelled=lambda: token.is_set,
            parts=files,
        )
        return str(path)

    target = fetch(bundle.target)
    return target, DrafterChoice(bundle.drafter_kind, fetch(bundle.drafter) if bundle.drafter else "")
