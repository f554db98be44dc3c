"""Hidden states out of real targets: which rows they are, where they are refused, that they disturb nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.errors import DrafterCannotRun, PreconditionFailed
from engine.llama.context import Context, ContextSettings
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model
from engine.llama.taps import FinalStates, LayerInputs
from engine.models.model_file import ModelRole
from engine.speculation.protocols import HiddenStates

SETTINGS = ContextSettings(n_ctx=512, n_threads=1)
TOKENS = [376, *range(65, 97)]

Tap = Callable[[Context], HiddenStates]


def layers(*ids: int) -> Tap:
    return lambda context: LayerInputs(context, ids)


TAPPED = [
    ("qwen35", FinalStates),
    ("step35", FinalStates),
    ("gemma4", FinalStates),
    ("llama", layers(1, 2, 3)),
    ("qwen35", layers(0, 2)),
    ("gemma4", layers(0, 1, 2, 3)),
]


@pytest.mark.parametrize(("name", "tap"), TAPPED)
def test_each_token_of_a_pass_has_its_row_whatever_else_was_in_the_pass(
    llama: LlamaLibrary, tiny_models: Path, name: str, tap: Tap
) -> None:
    with Model.open(llama, tiny_models / f"{name}.gguf") as model:
        with Context(model, SETTINGS) as context:
            states = tap(context)
            context.extend(TOKENS, 1)
            whole = states.rows().copy()
            assert whole.shape == (len(TOKENS), states.width)
            assert np.abs(whole).max(axis=1).min() > 0.0
        with Context(model, SETTINGS) as context:
            states = tap(context)
            context.extend(TOKENS[:20], 0)
            first = states.rows().copy()
            context.extend(TOKENS[20:], 3)
            assert np.allclose(np.concatenate([first, states.rows()]), whole, atol=2e-2)


@pytest.mark.parametrize(("name", "tap"), TAPPED)
def test_reading_states_changes_no_logits(
    llama: LlamaLibrary, tiny_models: Path, name: str, tap: Tap
) -> None:
    with (
        Model.open(llama, tiny_models / f"{name}.gguf") as model,
        Context(model, SETTINGS) as plain,
        Context(model, SETTINGS) as tapped,
    ):
        tapped.warm_up()
        states = tap(tapped)
        for tokens in (TOKENS, [70], [71, 72, 73]):
            for context in (plain, tapped):
                context.extend(tokens, 1)
            assert states.rows().shape == (len(tokens), states.width)
            assert np.array_equal(plain.logits(0), tapped.logits(0))


def test_layers_stand_side_by_side_in_the_order_asked_for(llama_model: Model) -> None:
    with Context(llama_model, SETTINGS) as context:
        states = LayerInputs(context, (3, 1))
        context.extend(TOKENS, 1)
        third, first = np.split(states.rows(), 2, axis=1)
    with Context(llama_model, SETTINGS) as context:
        states = LayerInputs(context, (1,))
        context.extend(TOKENS, 1)
        assert np.array_equal(states.rows(), first)
        assert not np.array_equal(states.rows(), third)


def test_eagle3_reads_the_final_state_as_the_last_layer(llama: LlamaLibrary, tiny_models: Path) -> None:
    with Model.open(llama, tiny_models / "qwen35.gguf") as model, Context(model, SETTINGS) as context:
        final = FinalStates(context)
        states = LayerInputs(context, (1, model.n_layers), final_state_as_last=True)
        context.extend(TOKENS, 1)
        assert np.array_equal(states.rows()[:, model.n_embd :], final.rows())


def test_rows_that_are_nobodys_are_refused(llama_model: Model) -> None:
    with Context(llama_model, SETTINGS) as context:
        context.extend(TOKENS, 1)
        states = LayerInputs(context, (1, 2))
        with pytest.raises(PreconditionFailed):
            states.rows()  # of a pass from before they were switched on: llama.cpp would end the process
        context.extend([70], 1)
        assert len(states.rows()) == 1
        context.rewind(3)
        with pytest.raises(PreconditionFailed):
            states.rows()


@pytest.mark.parametrize(
    ("name", "tap", "word"),
    [
        ("llama", FinalStates, "llama"),
        ("step35", layers(1), "step35"),
        ("llama", layers(1, 4), "last layer"),
        ("qwen35", layers(1, 4), "last layer"),
    ],
)
def test_what_an_architecture_does_not_publish_is_refused_in_words(
    llama: LlamaLibrary, tiny_models: Path, name: str, tap: Tap, word: str
) -> None:
    with Model.open(llama, tiny_models / f"{name}.gguf") as model, Context(model, SETTINGS) as context:
        with pytest.raises(DrafterCannotRun, match=word) as refused:
            tap(context)
        assert refused.value.remedy
        context.extend(TOKENS, 1)


@pytest.mark.parametrize("ids", [(), (-1, 2), (1, 5)])
def test_layers_that_do_not_exist_are_refused(llama_model: Model, ids: tuple[int, ...]) -> None:
    with Context(llama_model, SETTINGS) as context, pytest.raises(PreconditionFailed):
        LayerInputs(context, ids)


@pytest.mark.parametrize("name", ["mtp-qwen35", "mtp-step35", "mtp-gemma4", "llama-eagle3", "llama-dspark"])
def test_a_head_opens_as_a_drafter(llama: LlamaLibrary, tiny_models: Path, name: str) -> None:
    with Model.open(llama, tiny_models / f"{name}.gguf", role=ModelRole.DRAFTER) as head:
        assert head.n_vocab == 384
        assert head.n_embd_out == 64
