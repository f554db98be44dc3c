"""Whether a drafter can draft for a target, and in words why not.

What llama.cpp itself leaves unchecked is checked here from the headers: a wrong pair aborts or crashes its process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from engine.models.architectures import (
    HAS_MTP_GRAPH,
    PUBLISHES_FINAL_STATE,
    PUBLISHES_HIDDEN_STATES,
    PUBLISHES_LAST_LAYER,
)
from engine.models.bundle import DrafterKind
from engine.models.facts import ModelFacts
from engine.models.file_kind import FileKind
from engine.models.mtp_heads import MANY_HEADS
from engine.models.vocabulary_match import vocabulary_difference

# common/speculative.cpp: an EAGLE-3 head reads three layers.
_EAGLE3_LAYERS: Final = 3
# A draft model that reads more than this share of what the target reads can hardly be faster.
_WORTHWHILE_SHARE: Final = 0.5


class PairVerdict(msgspec.Struct, frozen=True):
    """Whether a pair fits. `reason` says why not, `remark` what speaks against a pair that fits; both may be ""."""

    kind: DrafterKind
    fits: bool
    reason: str = ""
    remark: str = ""


NGRAM_FITS: Final = PairVerdict(DrafterKind.NGRAM, fits=True)


def judge(target: ModelFacts, drafter: ModelFacts) -> PairVerdict:
    """Return whether the file `drafter` can draft for `target`."""
    kind = drafter.drafter_kind
    reason = _why_not_at_all(target, drafter) or _why_not(target, drafter)
    remark = _remark(target, drafter) if kind is DrafterKind.MODEL and not reason else ""
    return PairVerdict(kind, not reason, reason, remark)


def judge_head_inside(target: ModelFacts) -> PairVerdict:
    """Return whether the target can draft for itself with an MTP head of its own."""
    has_one = target.kind is FileKind.TARGET_WITH_MTP
    reason = _heads(target) if has_one else "this model has no MTP head inside"
    return PairVerdict(DrafterKind.MTP, not reason, reason)


def _why_not_at_all(target: ModelFacts, drafter: ModelFacts) -> str:
    if not target.kind.can_answer:
        return f"the file to draft for is {target.kind.phrase}"
    if _is_same_file(target, drafter):
        return "it is the model itself"
    if drafter.kind is FileKind.UNKNOWN:
        return f"this llama.cpp does not know its architecture “{drafter.architecture}”"
    if drafter.drafter_kind is DrafterKind.NONE:
        return f"it is {drafter.kind.phrase}, which drafts nothing"
    return ""


def _why_not(target: ModelFacts, drafter: ModelFacts) -> str:
    by_kind = {
        FileKind.MTP_SIDECAR: _sidecar,
        FileKind.GEMMA4_ASSISTANT: _assistant,
        FileKind.EAGLE3: _eagle3,
        FileKind.DFLASH: _block_drafter,
        FileKind.DFLASH2: _block_drafter,
        FileKind.DSPARK: _block_drafter,
    }.get(drafter.kind)
    return (by_kind(target, drafter) if by_kind else "") or vocabulary_difference(target, drafter)


def _sidecar(target: ModelFacts, drafter: ModelFacts) -> str:
    if target.kind is FileKind.TARGET_WITH_MTP:
        return "this model has its MTP head inside already; a second one would only take memory"
    if drafter.architecture != target.architecture:
        return f"it was made for a model of the architecture {drafter.architecture}, this one is {target.architecture}"
    cannot_run = _heads(drafter)
    if cannot_run:
        return cannot_run
    if drafter.n_layers != target.n_layers:
        return f"it was made for a model of {drafter.n_layers} layers, this one has {target.n_layers}"
    return _hidden_size(target, drafter)


def _assistant(target: ModelFacts, drafter: ModelFacts) -> str:
    if target.architecture != "gemma4":
        return f"it was made for a Gemma 4 model, this one is {target.architecture}"
    sizes = zip(target.head_sizes, drafter.head_sizes, strict=True)
    if any(ours != theirs for ours, theirs in sizes if ours and theirs):
        return "it was made for a Gemma 4 model of another size: their attention heads differ"
    return _hidden_size(target, drafter)


def _eagle3(target: ModelFacts, drafter: ModelFacts) -> str:
    layers = drafter.drafter.target_layers
    if len(layers) != _EAGLE3_LAYERS:
        return f"an EAGLE-3 drafter reads {_EAGLE3_LAYERS} layers of its target, this one {len(layers)}"
    shares = target.architecture in PUBLISHES_FINAL_STATE
    return _reads_layers(target, drafter, with_last=shares) or _shared_tokens(target, drafter)


def _block_drafter(target: ModelFacts, drafter: ModelFacts) -> str:
    if not drafter.drafter.target_layers:
        return "it does not say which layers of its target it reads"
    if not drafter.vocabulary.has_mask:
        return "its vocabulary has no mask token, which such a drafter needs"
    if drafter.kind is not FileKind.DFLASH and not drafter.drafter.block_size:
        return "it does not say how many tokens it drafts at once"
    return _reads_layers(target, drafter, with_last=target.architecture in PUBLISHES_LAST_LAYER)


def _reads_layers(target: ModelFacts, drafter: ModelFacts, *, with_last: bool) -> str:
    """Return why the target cannot give what a drafter of its hidden states reads.

    `with_last`: what comes out of the last layer can be had too, as layer `n_layers`.
    """
    if target.architecture not in PUBLISHES_HIDDEN_STATES:
        return (
            f"in this llama.cpp a model of the architecture {target.architecture} publishes no hidden states"
        )
    wrong_size = _hidden_size(target, drafter)
    if wrong_size:
        return wrong_size
    furthest = max(drafter.drafter.target_layers)
    if furthest > target.n_layers or min(drafter.drafter.target_layers) < 0:
        return f"it reads layer {furthest} of its target, this one has {target.n_layers}"
    if furthest == target.n_layers and not with_last:
        return (
            f"it reads what comes out of the last layer, which a {target.architecture} model does not publish"
        )
    return ""


def _hidden_size(target: ModelFacts, drafter: ModelFacts) -> str:
    needed = drafter.drafter.target_hidden_size
    if needed in (0, target.n_embd):
        return ""
    return f"it was trained for a target of hidden size {needed}, this one has {target.n_embd}"


def _shared_tokens(target: ModelFacts, drafter: ModelFacts) -> str:
    if drafter.drafter.has_own_tokens or drafter.n_embd == target.n_embd:
        return ""
    return f"it takes the model's token table, which is {target.n_embd} wide, for one of {drafter.n_embd}"


def _heads(facts: ModelFacts) -> str:
    """Return why llama.cpp cannot run the MTP heads of this file."""
    made = facts.drafter
    if facts.architecture not in HAS_MTP_GRAPH:
        return f"this llama.cpp cannot run the MTP heads of {facts.architecture} models"
    if made.n_heads > 1 and facts.architecture not in MANY_HEADS:
        return f"it has {made.n_heads} MTP heads, and this llama.cpp runs one in {facts.architecture} models"
    return f"its MTP head is not whole: {made.missing_tensor} is missing" if made.missing_tensor else ""


def _remark(target: ModelFacts, drafter: ModelFacts) -> str:
    if drafter.read_bytes >= target.read_bytes:
        return "it is not smaller than the model itself, so that drafting would slow it down"
    if drafter.read_bytes > _WORTHWHILE_SHARE * target.read_bytes:
        return "it is more than half as large as the model, so that drafting can hardly make it faster"
    return ""


def _is_same_file(target: ModelFacts, drafter: ModelFacts) -> bool:
    if target.path == drafter.path:
        return True
    try:
        return Path(target.path).samefile(drafter.path)
    except OSError:
        return False
