"""The models by name. Each function writes one file and returns its path."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from tests.make_models import shapes
from tests.make_models.gguf_file import TRAINED, Weights, read_weights, tokenizer, write_model
from tests.make_models.random_weights import random_weights
from tests.make_models.shapes import N_EMBD, Settings

_NARROW: Final = 32


def write_family(folder: Path) -> None:
    """Write every model into `folder`."""
    for write in (write_dflash2_plain, write_dflash2, write_dflash_own_tokens):
        write(folder)
    for write in (
        write_qwen3,
        write_qwen3_eagle3,
        write_qwen3_dflash,
        write_eagle3_narrow,
        write_eagle3_norms,
    ):
        write(folder)
    for write in (write_mimo2, write_mtp_mimo2, write_mimo2_eagle3, write_glm4moe, write_mtp_glm4moe):
        write(folder)


# ------------------------------------------------------------------------------------------------ DFlash


def write_dflash2_plain(folder: Path) -> Path:
    """A DFlash-2 for llama.gguf that drafts what the trained llama-dflash.gguf does, token for token.

    Its convolutions pass everything through and its selector is indifferent.
    """
    weights = _trained_dflash()
    for name, shape in shapes.dflash2_parts().items():
        weights[name] = np.zeros(shape, np.float32)
        if name.endswith("conv_base"):
            weights[name][:, 0] = 1.0
    return _block_drafter(folder / "llama-dflash2-plain.gguf", shapes.dflash2_settings(), weights)


def write_dflash2(folder: Path) -> Path:
    """The same with convolutions that mix neighbours a little and a selector that has opinions."""
    chance = np.random.default_rng(50)
    weights = _trained_dflash()
    for name, shape in shapes.dflash2_parts().items():
        noise = chance.standard_normal(shape)
        if name.endswith("conv_base"):
            noise *= 0.1
            noise[:, 0] += 1.0
        elif "conv_proj" in name:
            noise *= 0.1 / np.sqrt(N_EMBD)
        elif name == "selector_hidden.weight":
            noise /= np.sqrt(N_EMBD)
        else:
            noise *= 0.5
        weights[name] = noise.astype(np.float32)
    return _block_drafter(folder / "llama-dflash2.gguf", shapes.dflash2_settings(), weights)


def write_dflash_own_tokens(folder: Path) -> Path:
    """A DFlash for llama.gguf with token table and output matrix of its own: the target's, so that it drafts the same
    as llama-dflash.gguf, but for the mask token.
    """
    target = read_weights(TRAINED / "llama.gguf")
    own = {name: target[name] for name in ("token_embd.weight", "output.weight")}
    return _block_drafter(
        folder / "llama-dflash-own-tokens.gguf", shapes.dflash_settings(), _trained_dflash() | own
    )


def _trained_dflash() -> Weights:
    return read_weights(TRAINED / "llama-dflash.gguf")


def _block_drafter(path: Path, settings: Settings, weights: Weights) -> Path:
    return write_model(path, "dflash", settings, weights, tokenizer(with_mask=True))


# ----------------------------------------------------------------------------------------- qwen3, EAGLE-3


def write_qwen3(folder: Path) -> Path:
    return write_model(
        folder / "qwen3.gguf", "qwen3", shapes.settings(4), random_weights(shapes.qwen3(4), 11)
    )


def write_qwen3_eagle3(folder: Path) -> Path:
    """Fits every target of four layers that publishes their inputs."""
    return _eagle3(folder / "qwen3-eagle3.gguf", shapes.eagle3_settings(), shapes.eagle3(), seed=12)


def write_qwen3_dflash(folder: Path) -> Path:
    weights = random_weights(shapes.dflash(), 13)
    return _block_drafter(folder / "qwen3-dflash.gguf", shapes.dflash_settings(), weights)


def write_eagle3_narrow(folder: Path) -> Path:
    """An EAGLE-3 narrower than its target, with tokens of its own."""
    made = shapes.eagle3(_NARROW, own_tokens=True)
    return _eagle3(folder / "llama-eagle3-narrow.gguf", shapes.eagle3_settings(_NARROW), made, seed=14)


def write_eagle3_norms(folder: Path) -> Path:
    """An EAGLE-3 with both of its optional norms."""
    settings = shapes.eagle3_settings() | {"norm_before_residual": True, "norm_before_fc": True}
    made = shapes.eagle3(own_tokens=True, norm_before_fc=True)
    return _eagle3(folder / "llama-eagle3-norms.gguf", settings, made, seed=15)


def _eagle3(path: Path, settings: Settings, made: shapes.Shapes, seed: int) -> Path:
    return write_model(path, "eagle3", settings, random_weights(made, seed))


# --------------------------------------------------------------------------------------------- MTP heads


def write_mimo2(folder: Path) -> Path:
    """A target with two chained MTP heads that publishes its layers' inputs too."""
    return write_model(folder / "mimo2.gguf", "mimo2", shapes.mimo2_settings(), _mimo2())


def write_mtp_mimo2(folder: Path) -> Path:
    heads = _without_trunk(_mimo2(), shapes.MIMO2_TRUNK)
    return write_model(folder / "mtp-mimo2.gguf", "mimo2", shapes.mimo2_settings(), heads)


def write_mimo2_eagle3(folder: Path) -> Path:
    return _eagle3(folder / "mimo2-eagle3.gguf", shapes.eagle3_settings(), shapes.eagle3(), seed=61)


def write_glm4moe(folder: Path) -> Path:
    """A target with experts, in its MTP head too."""
    return write_model(folder / "glm4moe.gguf", "glm4moe", shapes.glm4moe_settings(), _glm4moe())


def write_mtp_glm4moe(folder: Path) -> Path:
    heads = _without_trunk(_glm4moe(), shapes.GLM4MOE_TRUNK)
    return write_model(folder / "mtp-glm4moe.gguf", "glm4moe", shapes.glm4moe_settings(), heads)


def _mimo2() -> Weights:
    return random_weights(shapes.mimo2(), 60)


def _glm4moe() -> Weights:
    return random_weights(shapes.glm4moe(), 70)


def _without_trunk(weights: Weights, n_trunk: int) -> Weights:
    """Return what an MTP-only file keeps: the outer tensors and the blocks after the trunk."""
    trunk = tuple(f"blk.{layer}." for layer in range(n_trunk))
    return {name: array for name, array in weights.items() if not name.startswith(trunk)}
