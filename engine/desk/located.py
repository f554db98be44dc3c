"""Where the files of a bundle are that is asked about: on this computer, or as headers fetched from the Hub."""

from __future__ import annotations

from pathlib import Path

from engine.budget.budget import BudgetQuestion
from engine.desk.jobs import CancelToken
from engine.errors import BadOption
from engine.hub.remote_header import fetch_bundle_headers
from engine.hub.token import read_token
from engine.models_service import BudgetRequest


def question_of(
    request: BudgetRequest, held: tuple[tuple[str, int], ...], folder: Path, endpoint: str, token: CancelToken
) -> BudgetQuestion:
    """Return `request` with files that llama.cpp can be asked about; headers go into `folder`.

    Raises what fetch_bundle_headers raises, and BadOption for a request without a bundle.
    """
    if request.remote is not None:
        bundle = fetch_bundle_headers(
            request.remote,
            folder,
            token=read_token(),
            endpoint=endpoint,
            is_cancelled=lambda: token.is_set,
        )
    elif request.bundle is not None:
        bundle = request.bundle
    else:
        raise BadOption("There is no model to ask about.")
    return BudgetQuestion(
        bundle.target,
        bundle.drafter,
        request.contexts,
        request.kv_types,
        request.n_gpu_layers,
        request.draft_length,
        request.race,
        held,
    )
