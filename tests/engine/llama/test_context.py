"""Contexts on real llama.cpp: rows, rewinding, guards, cancelling."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import Cancelled, ContextTooLarge, PreconditionFailed, PromptTooLong
from engine.llama.cancel import CancelFlag
from engine.llama.context import Context, ContextSettings
from engine.llama.library import LlamaLibrary
from engine.llama.model import Model

SETTINGS = ContextSettings(n_ctx=1024, n_threads=1)
TEXT = "def read_header(path):\n    with open(path) as file:\n        return file.read()\n\n"
# full attention, a running state, a sliding window of 32 tokens, three more layers of another kind
ARCHITECTURES = ("llama.gguf", "qwen35.gguf", "gemma4.gguf", "step35.gguf")


class CountingContext(Context):
    """Counts the tokens that it evaluates."""

    n_evaluated = 0

    def extend(self, tokens: Sequence[int], n_rows: int) -> None:
        self.n_evaluated += len(tokens)
        super().extend(tokens, n_rows)


def evaluate(context: Context, tokens: list[int]) -> None:
    for start in range(0, len(tokens), context.n_batch):
        context.extend(tokens[start : start + context.n_batch], 1)


def from_scratch(model: Model, tokens: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    with Context(model, SETTINGS) as context:
        evaluate(context, tokens)
        return context.logits(0).copy()


def test_rows_are_those_of_the_last_tokens(llama_model: Model) -> None:
    tokens = llama_model.vocabulary.tokenize(TEXT)
    with Context(llama_model, SETTINGS) as context:
        context.extend(tokens, 3)
        rows = [context.logits(row).copy() for row in range(3)]
        assert list(context.cached) == tokens
    for row, logits in enumerate(rows):
        expected = from_scratch(llama_model, tokens[: len(tokens) - 2 + row])
        assert np.allclose(logits, expected, atol=1e-3)


def test_a_row_is_a_view_of_float32_over_the_whole_vocabulary(llama_model: Model) -> None:
    with Context(llama_model, SETTINGS) as context:
        context.warm_up()
        context.extend([1, 2, 3], 1)
        row = context.logits(0)
        assert row.dtype == np.float32
        assert row.shape == (llama_model.n_vocab,)
        assert not row.flags.owndata
        before = row.ctypes.data
        context.extend([4], 1)
        assert context.logits(0).ctypes.data == before


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("kept", [0, 1, 40, 300, 620, 699])
def test_rewinding_equals_never_having_gone_there(
    llama: LlamaLibrary, tiny_models: Path, name: str, kept: int
) -> None:
    with Model.open(llama, tiny_models / name) as model:
        tokens = (model.vocabulary.tokenize(TEXT) * 20)[:700]
        other = model.vocabulary.tokenize("import threading", add_special=False)
        with Context(model, SETTINGS) as context:
            evaluate(context, tokens)
            context.rewind(kept)
            assert list(context.cached) == tokens[:kept]
            context.extend(other, 1)
            after = context.logits(0).copy()
            assert list(context.cached) == tokens[:kept] + other
        assert np.allclose(after, from_scratch(model, tokens[:kept] + other), atol=2e-2)


@pytest.mark.parametrize("name", ["gemma4.gguf", "qwen35.gguf"])
def test_many_small_rewinds_stay_correct(llama: LlamaLibrary, tiny_models: Path, name: str) -> None:
    rng = np.random.default_rng(1)
    with Model.open(llama, tiny_models / name) as model, Context(model, SETTINGS) as context:
        for _ in range(120):
            context.extend([int(t) for t in rng.integers(0, 376, 9)], 9)
            context.rewind(len(context.cached) - int(rng.integers(0, 9)))
        tokens = list(context.cached)
        context.extend([65], 1)
        assert np.allclose(context.logits(0), from_scratch(model, [*tokens, 65]), atol=2e-2)


@pytest.mark.parametrize("kept", [[7], [6], [5], [3], [1], [7, 6], [6, 3]])
def test_a_running_state_goes_back_no_further_than_its_last_pass(
    llama: LlamaLibrary, tiny_models: Path, kept: list[int]
) -> None:
    """llama.cpp would take any state for it that lies in the buffer of its moments."""
    settings = replace(SETTINGS, n_rs_seq=16)
    with Model.open(llama, tiny_models / "qwen35.gguf") as model, Context(model, settings) as context:
        context.extend([376, 275, 102], 1)
        context.extend([318, 97, 261], 3)
        context.extend([40, 281], 2)
        for n_tokens in kept:
            context.rewind(n_tokens)
        tokens = [*context.cached, 70]
        context.extend([70], 1)
        assert np.allclose(context.logits(0), from_scratch(model, tokens), atol=2e-2)


def test_a_running_state_that_was_set_aside_is_void_where_other_tokens_lead(
    llama: LlamaLibrary, tiny_models: Path
) -> None:
    settings = replace(SETTINGS, n_rs_seq=16)
    with Model.open(llama, tiny_models / "qwen35.gguf") as model, Context(model, settings) as context:
        context.extend([376, 275, 102, 318, 97, 261], 1)  # the end of a prompt: its state is kept
        context.rewind(4)
        for token in (40, 281, 70):
            context.extend([token], 1)
        context.rewind(6)
        context.extend([65], 1)
        expected = from_scratch(model, [376, 275, 102, 318, 40, 281, 65])
        assert np.allclose(context.logits(0), expected, atol=2e-2)


@pytest.mark.parametrize("name", ["qwen35.gguf", "llama.gguf"])
def test_rejected_drafts_cost_no_prefill(llama: LlamaLibrary, tiny_models: Path, name: str) -> None:
    with Model.open(llama, tiny_models / name) as model:
        tokens = (model.vocabulary.tokenize(TEXT) * 20)[:500]
        with CountingContext(model, SETTINGS) as context:
            context.extend(tokens, 1)
            for kept in (3, 0, 4, 2):
                n_before = len(context.cached)
                context.extend([65, 66, 67, 68], 4)
                context.rewind(n_before + kept)
            context.rewind(500)
            assert context.n_evaluated <= 500 + 4 * 4 + (3 + 0 + 0 + 2)
            context.extend([70], 1)
            assert np.allclose(context.logits(0), from_scratch(model, [*tokens, 70]), atol=2e-2)


ROLLING = ContextSettings(n_ctx=1024, n_threads=1, n_rs_seq=4)


def test_a_running_state_is_rolled_back_without_evaluating_anything_again(
    llama: LlamaLibrary, tiny_models: Path
) -> None:
    with Model.open(llama, tiny_models / "qwen35.gguf") as model:
        tokens = (model.vocabulary.tokenize(TEXT) * 20)[:300]
        with CountingContext(model, ROLLING) as context:
            context.extend(tokens, 1)
            n_bytes = context.snapshot_bytes
            for n_rejected in (4, 1, 3, 2):
                before = list(context.cached)
                context.extend([65, 66, 67, 68, 69], 5)
                context.rewind(len(before) + 5 - n_rejected)
                tokens = list(context.cached)
                context.extend([70], 1)
                assert np.allclose(context.logits(0), from_scratch(model, [*tokens, 70]), atol=2e-2)
            assert context.n_evaluated == 300 + 4 * 6
            assert context.snapshot_bytes == n_bytes


@pytest.mark.parametrize("how", ["twice", "over-two-passes", "longer-than-kept", "after-a-short-pass"])
def test_what_cannot_be_rolled_back_is_evaluated_again_and_right(
    llama: LlamaLibrary, tiny_models: Path, how: str
) -> None:
    """llama.cpp itself would take a state of another pass for one of this (src/llama-memory-recurrent.cpp)."""
    with Model.open(llama, tiny_models / "qwen35.gguf") as model, Context(model, ROLLING) as context:
        tokens = (model.vocabulary.tokenize(TEXT) * 20)[:300]
        context.extend(tokens, 1)
        if how == "longer-than-kept":
            context.extend([*range(65, 73)], 8)
            context.rewind(301)
        else:
            context.extend([65, 66, 67, 68], 4)
            if how == "twice":
                context.rewind(303)
                context.rewind(301)
            elif how == "over-two-passes":
                context.extend([69, 70], 2)
                context.rewind(302)
            else:
                context.extend([69], 1)
                context.rewind(303)
        kept = list(context.cached)
        context.extend([75], 1)
        assert np.allclose(context.logits(0), from_scratch(model, [*kept, 75]), atol=2e-2)


def test_rewinding_to_the_end_keeps_the_cache_and_forward_is_refused(llama_model: Model) -> None:
    with Context(llama_model, SETTINGS) as context:
        context.extend([1, 2, 3], 1)
        context.rewind(3)
        assert list(context.cached) == [1, 2, 3]
        with pytest.raises(PreconditionFailed):
            context.rewind(4)


def test_what_llama_cpp_would_abort_on_is_refused_with_a_sentence(llama_model: Model) -> None:
    with Context(llama_model, ContextSettings(n_ctx=1024, n_threads=1, max_rows=2)) as context:
        for tokens, n_rows in (
            ([], 0),
            ([1] * (context.n_batch + 1), 1),
            ([1, 2, 3], 3),
            ([1], 2),
            ([1], -1),
            ([-1], 1),
            ([1, llama_model.n_vocab], 1),
        ):
            with pytest.raises(PreconditionFailed) as caught:
                context.extend(tokens, n_rows)
            assert caught.value.sentence.endswith(".")
        assert list(context.cached) == []
        context.extend([1, 2], 1)
        with pytest.raises(PreconditionFailed):
            context.logits(1)


def test_more_tokens_than_the_context_holds_are_refused(llama_model: Model) -> None:
    with Context(llama_model, ContextSettings(n_ctx=256, n_threads=1)) as context:
        context.extend([1] * 250, 1)
        with pytest.raises(PromptTooLong, match=r"257 tokens do not fit the context of 256\."):
            context.extend([1] * 7, 1)
        assert len(context.cached) == 250


def test_a_context_beyond_the_models_own_is_refused(llama_model: Model) -> None:
    with pytest.raises(ContextTooLarge, match="at most 4,096 tokens"):
        Context(llama_model, ContextSettings(n_ctx=5000))


def test_a_closed_context_and_model_answer_with_a_sentence(llama: LlamaLibrary, tiny_models: Path) -> None:
    model = Model.open(llama, tiny_models / "llama.gguf")
    context = Context(model, SETTINGS)
    model.close()
    model.close()
    with pytest.raises(PreconditionFailed):
        context.extend([1], 1)
    with pytest.raises(PreconditionFailed):
        Context(model, SETTINGS)


def test_cancel_breaks_off_a_pass_and_leaves_the_cache_as_it_was(starter: Model) -> None:
    tokens = (starter.vocabulary.tokenize(TEXT) * 40)[:160]
    flag = CancelFlag()
    with Context(starter, SETTINGS, flag) as context:
        context.extend(tokens[:16], 1)
        begin = time.perf_counter()
        context.extend(tokens[16:], 1)
        whole_s = time.perf_counter() - begin
        context.rewind(16)
        timer = threading.Timer(whole_s / 10, flag.set)
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(Cancelled):
            context.extend(tokens[16:], 1)
        stopped_s = time.perf_counter() - begin
        timer.join()
        assert stopped_s < whole_s / 2
        assert list(context.cached) == tokens[:16]
        with pytest.raises(Cancelled):
            context.extend([1], 1)
        flag.clear()
        context.extend(tokens[16:24], 1)
        assert np.allclose(context.logits(0), from_scratch(starter, tokens[:24]), atol=0.2)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_is_usable_after_a_cancel(
    llama: LlamaLibrary, tiny_models: Path, name: str
) -> None:
    flag = CancelFlag()
    with Model.open(llama, tiny_models / name) as model:
        tokens = (model.vocabulary.tokenize(TEXT) * 20)[:512]
        with Context(model, SETTINGS, flag) as context:
            context.extend(tokens[:50], 1)
            for _ in range(20):
                flag.clear()
                timer = threading.Timer(0.002, flag.set)
                timer.start()
                try:
                    context.extend(tokens[50:], 1)
                except Cancelled:
                    assert len(context.cached) in (0, 50)
                timer.join()
                flag.clear()
                context.rewind(min(50, len(context.cached)))
                if not context.cached:
                    context.extend(tokens[:50], 1)
            context.extend(tokens[50:60], 1)
            assert np.allclose(context.logits(0), from_scratch(model, tokens[:60]), atol=2e-2)
