"""Pairs that llama.cpp aborts on, crashes on, or takes without a word; what it does is in the comments.

Tried with llama-speculative-simple of llama.cpp 0.5.0-dev (Oct 2026).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from engine.models.bundle import DrafterKind
from tests.engine.models.gguf_writer import Entry
from tests.gguf_patch import rename, replace_numbers, replace_u32
from tests.make_models import shapes
from tests.make_models.family import write_mtp_mimo2
from tests.make_models.gguf_file import TOKENS, TRAINED, Weights, read_weights, tokenizer, write_model
from tests.make_models.random_weights import random_weights

WriteDrafter = Callable[[Path], Path]
"""Puts a drafter into a folder, or finds it where it is, and returns its path."""


@dataclass(frozen=True)
class WrongPair:
    """A pair that must not load. `reason` is part of what is said about it.

    `kind` is what the drafter is asked to be, which is not always what its file is.
    """

    name: str
    target: str
    drafter: WriteDrafter
    kind: DrafterKind
    reason: str

    @property
    def target_path(self) -> Path:
        return TRAINED / f"{self.target}.gguf"


def trained(name: str) -> WriteDrafter:
    return lambda _: TRAINED / f"{name}.gguf"


def patched(name: str, patch: Callable[[bytes], bytes]) -> WriteDrafter:
    def write(folder: Path) -> Path:
        path = folder / f"{name}.gguf"
        path.write_bytes(patch((TRAINED / path.name).read_bytes()))
        return path

    return write


def with_number(name: str, key: str, number: int) -> WriteDrafter:
    return patched(name, lambda data: replace_u32(data, key, number))


def with_layers(name: str, *layers: int) -> WriteDrafter:
    architecture = "eagle3" if "eagle3" in name else "dflash"
    return patched(name, lambda data: replace_numbers(data, f"{architecture}.target_layers", layers))


def without(name: str, key: str) -> WriteDrafter:
    return patched(name, lambda data: rename(data, key, "x" * len(key)))


def eagle3_of_two_layers(folder: Path) -> Path:
    made = shapes.eagle3() | {"fc.weight": (shapes.N_EMBD, 2 * shapes.N_EMBD)}
    settings = {**shapes.eagle3_settings(), "target_layers": [1, 2]}
    return write_model(folder / "eagle3-two.gguf", "eagle3", settings, random_weights(made, 1))


def write_mimo2_with_parted_attention(folder: Path) -> Path:
    """Write a mimo2 whose MTP heads have queries, keys and values apart (assert in mimo2.cpp)."""
    made = shapes.mimo2()
    for layer in range(shapes.MIMO2_TRUNK, shapes.MIMO2_TRUNK + shapes.MIMO2_HEADS):
        del made[f"blk.{layer}.attn_qkv.weight"]
        made |= shapes.attention(f"blk.{layer}")
    return write_model(folder / "mimo2.gguf", "mimo2", shapes.mimo2_settings(), random_weights(made, 60))


def draft_model(vocabulary: dict[str, Entry], n_more: int = 0) -> WriteDrafter:
    """Return a writer of the trained draft model with another vocabulary, of `n_more` tokens more."""

    def write(folder: Path) -> Path:
        weights: Weights = dict(read_weights(TRAINED / "llama-draft.gguf"))
        for name in ("token_embd.weight", "output.weight"):
            weights[name] = np.pad(weights[name], ((0, n_more), (0, 0)))
        settings = shapes.settings(1) | {"vocab_size": shapes.N_VOCAB + n_more}
        return write_model(folder / "draft.gguf", "llama", settings, weights, vocabulary)

    return write


def with_another_text() -> dict[str, Entry]:
    vocabulary = tokenizer()
    tokens = vocabulary[TOKENS]
    assert isinstance(tokens, list)
    return vocabulary | {TOKENS: [f"{text}~" if i == 300 else str(text) for i, text in enumerate(tokens)]}


EAGLE3, DFLASH, DSPARK = DrafterKind.EAGLE3, DrafterKind.DFLASH, DrafterKind.DSPARK
MTP, MODEL = DrafterKind.MTP, DrafterKind.MODEL

MISFITS: Final = (
    # Abort: failed to add embedding at index 0.
    WrongPair(
        "eagle3 of a wider target", "llama", with_number("llama-eagle3", "eagle3.target_hidden_size", 128),
        EAGLE3, "trained for a target of hidden size 128, this one has 64",
    ),
    WrongPair(
        "dflash of a wider target", "llama", with_number("llama-dflash", "dflash.embedding_length", 128),
        DFLASH, "trained for a target of hidden size 128, this one has 64",
    ),
    # Runs; the third feature is silently zero.
    WrongPair(
        "eagle3 of the last layer's output", "llama", with_layers("llama-eagle3", 1, 2, 4), EAGLE3,
        "what comes out of the last layer, which a llama model does not publish",
    ),
    # Abort.
    WrongPair(
        "eagle3 of a layer that is not there", "llama", with_layers("llama-eagle3", 1, 2, 5), EAGLE3,
        "reads layer 5 of its target, this one has 4",
    ),
    # Load error.
    WrongPair("eagle3 of two layers", "llama", eagle3_of_two_layers, EAGLE3, "reads 3 layers of its target"),
    # Abort: layer input tensor is null (llama-graph.cpp:1384).
    *(
        WrongPair(
            f"dflash of the last layer's output of {target}", target, with_layers("llama-dflash", 1, 2, 4),
            DFLASH, "what comes out of the last layer",
        )
        for target in ("llama", "qwen35")
    ),
    WrongPair(
        "dspark of the last layer's output", "llama", with_layers("llama-dspark", 1, 2, 4), DSPARK,
        "what comes out of the last layer",
    ),
    WrongPair("eagle3 on step35", "step35", trained("llama-eagle3"), EAGLE3, "publishes no hidden states"),
    WrongPair("dflash on step35", "step35", trained("llama-dflash"), DFLASH, "publishes no hidden states"),
    WrongPair("dspark on step35", "step35", trained("llama-dspark"), DSPARK, "publishes no hidden states"),
    # Segmentation fault when the context is made.
    WrongPair("assistant on llama", "llama", trained("mtp-gemma4"), MTP, "made for a Gemma 4 model"),
    WrongPair(
        "assistant of another size", "gemma4",
        with_number("mtp-gemma4", "gemma4-assistant.attention.key_length_swa", 64), MTP,
        "their attention heads differ",
    ),
    # Runs without a word.
    WrongPair("step35's heads on qwen35", "qwen35-nomtp", trained("mtp-step35"), MTP, "architecture step35"),
    WrongPair("qwen35's head on llama", "llama", trained("mtp-qwen35"), MTP, "architecture qwen35"),
    WrongPair("mimo2's heads on llama", "llama", write_mtp_mimo2, MTP, "architecture mimo2"),
    # Assert in qwen35.cpp.
    WrongPair(
        "two heads in qwen35", "qwen35-nomtp", with_number("mtp-qwen35", "qwen35.nextn_predict_layers", 2),
        MTP, "it has 2 MTP heads",
    ),
    # Abort in get_sub_batch; the mask token is -1.
    *(
        WrongPair(
            f"{kind} without a mask token", "llama", without(f"llama-{kind}", "tokenizer.ggml.mask_token_id"),
            kind, "no mask token",
        )
        for kind in (DFLASH, DSPARK)
    ),
    # Assert dflash.cpp:312.
    WrongPair(
        "dspark without a block size", "llama", without("llama-dspark", "dflash.block_size"), DSPARK,
        "how many tokens it drafts at once",
    ),
    # std::runtime_error, terminate.
    WrongPair(
        "200 tokens more", "llama", draft_model(tokenizer(n_more=200), 200), MODEL, "384 and 584 tokens"
    ),
    WrongPair("one token of another text", "llama", draft_model(with_another_text()), MODEL, "token 300"),
    WrongPair(
        "another beginning", "llama", draft_model(tokenizer() | {"tokenizer.ggml.bos_token_id": 380}), MODEL,
        "at the beginning of a text",
    ),
    WrongPair(
        "no beginning", "llama", draft_model(tokenizer() | {"tokenizer.ggml.add_bos_token": False}), MODEL,
        "at the beginning of a text",
    ),
    WrongPair("the model itself", "llama", trained("llama"), MODEL, "the model itself"),
)  # fmt: skip
"""What headers tell apart, whatever the drafter is asked to be."""

MISTAKEN: Final = (
    # Both run without a word.
    WrongPair("dspark as dflash", "llama", trained("llama-dspark"), DFLASH, "DSpark"),
    WrongPair("dflash as dspark", "llama", trained("llama-dflash"), DSPARK, "DFlash"),
    # Abort.
    WrongPair("dflash as eagle3", "llama", trained("llama-dflash"), EAGLE3, "DFlash"),
    # The draft's decode fails.
    WrongPair("eagle3 as dflash", "llama", trained("llama-eagle3"), DFLASH, "EAGLE-3"),
    # Runs; nothing is ever accepted.
    WrongPair("eagle3 as draft model", "llama", trained("llama-eagle3"), MODEL, "EAGLE-3"),
    # Segmentation fault at the first decode.
    WrongPair("mtp heads as draft model", "qwen35-nomtp", trained("mtp-qwen35"), MODEL, "MTP"),
    WrongPair("assistant as draft model", "gemma4", trained("mtp-gemma4"), MODEL, "Gemma 4"),
    WrongPair("draft model as eagle3", "llama", trained("llama-draft"), EAGLE3, "language model"),
    WrongPair("draft model as mtp heads", "llama", trained("llama-draft"), MTP, "language model"),
)
"""Files that would do as what they are, asked to be something else."""
