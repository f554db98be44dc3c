"""EAGLE-3 and block drafters on llama.cpp: conversations, cancels, and what is refused before llama.cpp would abort."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from engine.errors import Cancelled, DrafterCannotRun, PairUnfit, PreconditionFailed
from engine.llama.block_context import BlockContext, BlockShape, open_block_drafter
from engine.llama.context import Context, ContextSettings
from engine.llama.drafter_contexts import drafter_settings
from engine.llama.eagle3_context import Eagle3Context, check_width
from engine.llama.library import LlamaLibrary
from engine.llama.markov_head import N_CANDIDATES, MarkovHead
from engine.llama.model import Model
from engine.llama.taps import LayerInputs
from engine.models.bundle import DrafterKind
from engine.models.gguf_header import read_header
from engine.models.model_file import ModelRole
from engine.speculation.draft_length import FixedLength
from engine.speculation.round import DraftSource, Round
from engine.speculation.settings import SamplingSettings
from tests.engine.speculation.reference.pairs import Pair, opened_pair
from tests.gguf_patch import rename
from tests.make_models.gguf_file import read_weights

PLAIN: Final = ContextSettings(n_ctx=512, n_threads=1)
OWN: Final = drafter_settings(PLAIN, DrafterKind.DFLASH, 0)
KINDS: Final = {
    ("llama", "llama-eagle3-d2t"): DrafterKind.EAGLE3,
    ("llama", "llama-dflash"): DrafterKind.DFLASH,
    ("llama", "llama-dspark"): DrafterKind.DSPARK,
    ("qwen35", "qwen35-eagle3"): DrafterKind.EAGLE3,
    ("qwen35", "qwen35-dflash"): DrafterKind.DFLASH,
}
TEXT: Final = "def main(argv):\n    import sys\n    for name in argv:\n        print(name)\n"


@pytest.fixture(scope="module", params=KINDS, ids="+".join)
def pair(llama: LlamaLibrary, tiny_models: Path, request: pytest.FixtureRequest) -> Iterator[Pair]:
    target, drafter = (tiny_models / f"{name}.gguf" for name in request.param)
    with opened_pair(llama, target, drafter, KINDS[request.param]) as opened:
        yield opened


def drafts(rounds: list[Round]) -> list[tuple[int, ...]]:
    return [done.drafted for done in rounds if not done.is_prompt_pass]


def answered(pair: Pair, prompt: list[int], n_draft: int = 4, max_tokens: int = 30) -> list[Round]:
    return list(pair.rounds(prompt, FixedLength(n_draft), max_tokens=max_tokens))


# ----------------------------------------------------------------------------------------- conversations


def test_drafts_are_those_of_a_fresh_drafter_whatever_was_before(
    llama: LlamaLibrary, tiny_models: Path, pair: Pair, request: pytest.FixtureRequest
) -> None:
    first = pair.tokens(TEXT)
    edited = [*first[:10], 70, *first[11:]]
    conversation = [*first, *[token for done in answered(pair, first) for token in done.tokens], *first[5:9]]
    prompts = [first, edited, first[:1], conversation, first[:20]]
    used = [drafts(answered(pair, prompt)) for prompt in prompts]
    names = request.node.callspec.params["pair"]
    for prompt, before in zip(prompts, used, strict=True):
        files = [tiny_models / f"{name}.gguf" for name in names]
        with opened_pair(llama, files[0], files[1], KINDS[names]) as fresh:
            assert drafts(answered(fresh, prompt)) == before


def test_a_next_turn_shows_the_drafter_only_what_is_new(pair: Pair) -> None:
    prompt = pair.tokens(TEXT)
    said = [token for done in answered(pair, prompt) for token in done.tokens]
    again = answered(pair, [*prompt, *said, 70, 71])
    assert sum(done.n_prompt for done in again) <= 8


def test_a_cancelled_answer_leaves_a_drafter_that_goes_on(pair: Pair) -> None:
    prompt = pair.tokens(TEXT)
    whole = answered(pair, prompt)
    rounds = pair.rounds(prompt, FixedLength(4), max_tokens=30)
    next(rounds)
    done = next(rounds)
    pair.target.cancel.set()
    with pytest.raises(Cancelled):
        next(rounds)
    pair.target.cancel.clear()
    assert drafts([done])[0] == drafts(whole)[0]
    assert drafts(answered(pair, prompt)) == drafts(whole)


def test_a_context_that_is_nearly_full_is_filled(pair: Pair) -> None:
    prompt = (pair.tokens(TEXT) * 40)[: pair.target.n_ctx - 12]
    rounds = answered(pair, prompt, n_draft=7, max_tokens=100)
    assert len(prompt) + sum(len(done.tokens) for done in rounds) == pair.target.n_ctx


def test_a_draft_is_as_long_as_wished_or_as_the_drafter_was_trained_for(
    pair: Pair, request: pytest.FixtureRequest
) -> None:
    kind = KINDS[request.node.callspec.params["pair"]]
    longest = {DrafterKind.EAGLE3: 16, DrafterKind.DFLASH: 7, DrafterKind.DSPARK: 8}[kind]
    prompt = pair.tokens(TEXT)
    rounds = answered(pair, prompt, n_draft=16, max_tokens=60)
    assert max(len(done.drafted) for done in rounds) == longest
    plain = Pair(pair.target).rounds(prompt, FixedLength(0), max_tokens=60)
    assert [t for done in rounds for t in done.tokens] == [t for done in plain for t in done.tokens]


WORDS: Final = r'root ::= ([a-z] [a-z] [a-z] "\t")+'
"""The reduced vocabulary of llama-eagle3-d2t has no tab."""


@pytest.mark.parametrize("settings", [SamplingSettings(), SamplingSettings(temperature=0.8)])
def test_a_grammar_may_ask_for_what_a_drafter_cannot_say(pair: Pair, settings: SamplingSettings) -> None:
    prompt = pair.tokens(TEXT)
    rounds = list(pair.rounds(prompt, FixedLength(4), settings, max_tokens=60, grammar=WORDS))
    text = "".join(done.text for done in rounds)
    assert re.fullmatch(r"([a-z]{3}\t)*[a-z]{0,3}", text)
    assert any(done.drafted for done in rounds)
    if settings.is_greedy:
        plain = Pair(pair.target).rounds(prompt, FixedLength(0), max_tokens=60, grammar=WORDS)
        assert text == "".join(done.text for done in plain)


# ------------------------------------------------------------------------------------------------ contexts


def test_entries_that_do_not_exist_cannot_be_kept(
    llama: LlamaLibrary, tiny_models: Path, llama_model: Model
) -> None:
    with (
        Context(llama_model, PLAIN) as target,
        Model.open(llama, tiny_models / "llama-dflash.gguf", role=ModelRole.DRAFTER) as head,
    ):
        context = BlockContext(head, target, OWN, 3 * llama_model.n_embd)
        context.read(np.zeros((5, 3 * llama_model.n_embd), np.float32), (), keep_outputs=False)
        assert (context.n_entries, context.rewind(3)) == (5, 3)
        with pytest.raises(PreconditionFailed):
            context.rewind(4)
        context.close()
        context.close()
        with pytest.raises(PreconditionFailed):
            context.block(1, 1)


def test_a_cancel_leaves_the_entries_as_they_were(
    llama: LlamaLibrary, tiny_models: Path, llama_model: Model
) -> None:
    with (
        Context(llama_model, PLAIN) as target,
        Model.open(llama, tiny_models / "llama-eagle3.gguf", role=ModelRole.DRAFTER) as head,
    ):
        context = Eagle3Context(head, target, OWN, 3 * llama_model.n_embd)
        states = np.random.default_rng(0).standard_normal((5, 3 * llama_model.n_embd)).astype(np.float32)
        context.read(states, [1, 2, 3, 4, 5], keep_outputs=True)
        before = context.logits().copy()
        context.cancel.set()
        with pytest.raises(Cancelled):
            context.step(6)
        with pytest.raises(Cancelled):
            context.read(states, [1] * 5, keep_outputs=True)
        context.cancel.clear()
        assert context.n_entries == 5
        context.read_last_again(5)
        assert np.allclose(context.logits(), before, atol=1e-4)
        context.close()


def test_a_block_needs_no_more_masks_than_tokens(llama: LlamaLibrary, tiny_models: Path) -> None:
    shapes = {
        name: BlockShape.of(read_header(tiny_models / f"{name}.gguf"), 0)
        for name in ("llama-dflash", "llama-dspark", "llama-dspark-noanchor")
    }
    assert [(shape.max_draft, shape.n_before) for shape in shapes.values()] == [(7, 1), (8, 0), (7, 1)]
    assert [shape.has_confidence_head for shape in shapes.values()] == [False, True, False]


def test_a_markov_head_is_read_out_of_the_drafters_file(llama: LlamaLibrary, tiny_models: Path) -> None:
    path = tiny_models / "llama-dspark.gguf"
    weights = read_weights(path)
    with Model.open(llama, path, role=ModelRole.DRAFTER) as model:
        head = MarkovHead.of(model.file)
        assert head is not None
        row = np.random.default_rng(0).standard_normal(model.n_vocab).astype(np.float32)
        rebiased = head(row, drawn=70, likeliest=71)
    bias = weights["markov_w2.weight"] @ (weights["markov_w1.weight"][70] - weights["markov_w1.weight"][71])
    possible = rebiased > -np.inf
    assert possible.sum() == N_CANDIDATES
    assert np.allclose(rebiased[possible], (row + bias)[possible], atol=1e-5)
    assert row[possible].min() >= row[~possible].max()


def test_a_drafter_without_a_markov_head_has_none(llama: LlamaLibrary, tiny_models: Path) -> None:
    with Model.open(llama, tiny_models / "llama-dflash.gguf", role=ModelRole.DRAFTER) as model:
        assert MarkovHead.of(model.file) is None


def test_scale_and_cap_of_logits_are_applied_before_they_are_a_distribution(tiny_models: Path) -> None:
    logits = np.array([0.0, 10.0, -40.0], np.float32)
    plain = BlockShape.of(read_header(tiny_models / "llama-dflash.gguf"), 0)
    assert plain.transformed(logits) is logits
    shape = BlockShape(8, False, False, False, False, 0, logit_scale=0.5, softcap=5.0)
    assert np.allclose(shape.transformed(logits), 5.0 * np.tanh(np.array([0.0, 1.0, -4.0])))


def test_the_source_is_named_after_the_kind(pair: Pair, request: pytest.FixtureRequest) -> None:
    kind = KINDS[request.node.callspec.params["pair"]]
    assert pair.drafters[0].source is DraftSource(kind.value)
    assert {done.source for done in answered(pair, pair.tokens(TEXT)) if done.drafted} == {
        DraftSource(kind.value)
    }


# ------------------------------------------------------------------------------------------------ refusals


def test_a_drafter_of_another_width_is_refused(
    llama: LlamaLibrary, tiny_models: Path, llama_model: Model
) -> None:
    with Context(llama_model, PLAIN) as target:
        for name in ("llama-eagle3", "llama-dflash"):
            with Model.open(llama, tiny_models / f"{name}.gguf", role=ModelRole.DRAFTER) as head:
                check_width(head, target, 3 * 64)
                with pytest.raises(PairUnfit, match="64 numbers"):
                    check_width(head, target, 3 * 128)


def test_a_block_drafter_without_a_mask_token_is_refused(
    llama: LlamaLibrary, tiny_models: Path, llama_model: Model, tmp_path: Path
) -> None:
    path = tmp_path / "no-mask.gguf"
    key = "tokenizer.ggml.mask_token_id"
    path.write_bytes(rename((tiny_models / "llama-dflash.gguf").read_bytes(), key, "x" * len(key)))
    with (
        Context(llama_model, PLAIN) as target,
        Model.open(llama, path, role=ModelRole.DRAFTER) as head,
        pytest.raises(PairUnfit, match="masks"),
    ):
        open_block_drafter(head, target, OWN)


def test_a_target_without_hidden_states_is_refused(llama: LlamaLibrary, tiny_models: Path) -> None:
    with (
        Model.open(llama, tiny_models / "step35.gguf") as model,
        Context(model, PLAIN) as target,
        Model.open(llama, tiny_models / "llama-dflash.gguf", role=ModelRole.DRAFTER) as head,
        pytest.raises(DrafterCannotRun),
    ):
        open_block_drafter(head, target, OWN)


def test_layers_are_tapped_once_more_for_a_second_drafter(
    llama: LlamaLibrary, tiny_models: Path, llama_model: Model
) -> None:
    with Context(llama_model, PLAIN) as target:
        first, second = LayerInputs(target, (1, 2, 3)), LayerInputs(target, (2,))
        target.extend([1, 2, 3], 1)
        assert np.array_equal(first.rows()[:, llama_model.n_embd : 2 * llama_model.n_embd], second.rows())
