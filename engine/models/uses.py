"""What a file can be used for and what it needs, as sentences for a person."""

from __future__ import annotations

from engine.models.architectures import HAS_MTP_GRAPH, PUBLISHES_HIDDEN_STATES
from engine.models.facts import ModelFacts
from engine.models.file_kind import FileKind


def uses(facts: ModelFacts) -> tuple[str, ...]:
    """Return what a file can do, what for, and what it cannot; at least one sentence."""
    if facts.kind is FileKind.UNKNOWN:
        return (f"This llama.cpp does not know the architecture “{facts.architecture}”. {facts.kind.place}",)
    if facts.kind.can_answer:
        return _of_a_model(facts)
    if facts.kind.is_drafter_only:
        return (_made_for(facts),)
    return (facts.kind.place,)


def _of_a_model(facts: ModelFacts) -> tuple[str, ...]:
    words = [
        "It answers, with n-gram lookup or a draft model of the same vocabulary as its drafter.",
        f"It can draft for larger models with the same {facts.n_vocab:,} tokens.",
    ]
    if facts.kind is FileKind.TARGET_WITH_MTP:
        runs = facts.architecture in HAS_MTP_GRAPH
        words.append(
            "Its MTP head inside drafts for it." if runs else "Its MTP head cannot be run by this llama.cpp."
        )
    if facts.architecture in PUBLISHES_HIDDEN_STATES:
        words.append(
            f"EAGLE-3, DFlash and DSpark drafters fit if they were made for hidden size {facts.n_embd} and at most "
            f"{facts.n_layers} layers."
        )
    else:
        words.append(
            f"EAGLE-3, DFlash and DSpark drafters cannot be used: {facts.architecture} publishes no hidden states here."
        )
    return tuple(words)


def _made_for(facts: ModelFacts) -> str:
    made = facts.drafter
    if facts.kind is FileKind.GEMMA4_ASSISTANT:
        return (
            f"It drafts for the Gemma 4 model of hidden size {made.target_hidden_size} that it was made for."
        )
    if facts.kind is FileKind.MTP_SIDECAR:
        return (
            f"It drafts for the {facts.architecture} model of {facts.n_layers} layers and hidden size "
            f"{made.target_hidden_size} that it was cut from."
        )
    layers = ", ".join(str(layer) for layer in made.target_layers)
    block = f", up to {made.block_size} tokens at once" if made.block_size else ""
    return f"It drafts for a model of hidden size {made.target_hidden_size}, from its layers {layers}{block}."
