"""Which tokens a grammar lets through, and which grammars are refused before llama.cpp sees them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import BadOption, DecodeFailed
from engine.llama.grammar import Grammar, grammar_text
from engine.llama.model import Model
from engine.llama.sampler import ChainSampler
from engine.speculation.settings import GenerationSettings, SamplingSettings

YES_NO = 'root ::= "yes" | "no"'
DIGITS = "root ::= [0-9]+"
PERSON = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 255},
            "age": {"type": "integer"},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
        },
        "required": ["name", "age"],
    }
)


def token(model: Model, text: str) -> int:
    (only,) = model.vocabulary.tokenize(text, add_special=False)
    return only


def pieces(model: Model, ids: NDArray[np.int32]) -> set[bytes]:
    return {model.vocabulary.piece(i, special=True) for i in ids.tolist()}


def by_hand(model: Model, grammar: Grammar) -> list[int]:
    """Return what llama.cpp allows when it is asked about every token."""
    everything = np.arange(model.n_vocab, dtype=np.int32)
    return [int(i) for i in everything[grammar.allowed(everything)]]


# ---------------------------------------------------------------------------------------------- what is allowed


def test_only_what_can_begin_the_answer_is_allowed_first(llama_model: Model) -> None:
    first = pieces(llama_model, Grammar(llama_model.vocabulary, YES_NO).allowed_tokens())
    assert {b"y", b"n"} <= first <= {b"y", b"ye", b"yes", b"n", b"no"}


def test_the_end_is_allowed_where_the_grammar_is_complete(llama_model: Model) -> None:
    vocabulary = llama_model.vocabulary
    grammar = Grammar(vocabulary, YES_NO)
    assert vocabulary.eos is not None
    assert vocabulary.eos not in grammar.allowed_tokens()
    for text in "no":
        grammar.accept(token(llama_model, text))
    assert all(vocabulary.is_end_of_answer(i) for i in grammar.allowed_tokens().tolist())
    assert vocabulary.eos in grammar.allowed_tokens()
    grammar.accept(vocabulary.eos)


@pytest.mark.parametrize(
    "text",
    [
        YES_NO,
        DIGITS,
        'root ::= "<" [^<>]* ">"',
        'root ::= ("é" | "日" | [a-c])+ " "?',
        "root ::= .*",
        r'root ::= [^a-z"]* "日本"? [À-ÿ]{2}',
        grammar_text(GenerationSettings(json_schema=PERSON)),
    ],
)
@pytest.mark.parametrize(("fixture", "n_tokens"), [("llama_model", 40), ("starter", 8)])
def test_leaving_tokens_out_by_their_first_byte_changes_nothing(
    request: pytest.FixtureRequest, fixture: str, n_tokens: int, text: str
) -> None:
    model: Model = request.getfixturevalue(fixture)
    grammar, rng = Grammar(model.vocabulary, text), np.random.default_rng(3)
    for _ in range(n_tokens):
        allowed = by_hand(model, grammar)
        assert grammar.allowed_tokens().tolist() == allowed
        going_on = [i for i in allowed if not model.vocabulary.is_end_of_answer(i)]
        if not going_on:
            break
        grammar.accept(int(rng.choice(going_on)))


def test_characters_that_are_spread_over_tokens_are_followed(llama_model: Model) -> None:
    vocabulary = llama_model.vocabulary
    grammar = Grammar(vocabulary, 'root ::= "日"')
    ids = vocabulary.tokenize("日", add_special=False)
    assert len(ids) == 3
    for i in ids:
        assert i in grammar.allowed_tokens()
        grammar.accept(i)
    assert vocabulary.eos in grammar.allowed_tokens()


def test_a_fork_goes_its_own_way(llama_model: Model) -> None:
    grammar = Grammar(llama_model.vocabulary, YES_NO)
    before = grammar.allowed_tokens().tolist()
    fork = grammar.fork()
    fork.accept(token(llama_model, "n"))
    assert grammar.allowed_tokens().tolist() == before
    assert b"y" not in pieces(llama_model, fork.allowed_tokens())
    again = fork.fork()
    del fork
    assert b"o" in pieces(llama_model, again.allowed_tokens())


def test_a_token_that_is_not_allowed_ends_the_constraint_of_a_fork_and_not_the_process(
    llama_model: Model,
) -> None:
    grammar = Grammar(llama_model.vocabulary, YES_NO)
    fork = grammar.fork()
    fork.accept(token(llama_model, "x"))
    fork.accept(token(llama_model, "x"))
    assert len(fork.allowed_tokens()) == llama_model.n_vocab
    assert len(grammar.allowed_tokens()) < llama_model.n_vocab


# ------------------------------------------------------------------------------------------------- the sampler


def test_greedy_takes_the_most_likely_allowed_token(starter: Model) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        logits = rng.standard_normal(starter.n_vocab).astype(np.float32)
        sampler = ChainSampler(starter.vocabulary, SamplingSettings(), DIGITS)
        allowed = Grammar(starter.vocabulary, DIGITS).allowed_tokens()
        assert sampler.argmax(logits) == allowed[logits[allowed].argmax()]


@pytest.mark.parametrize("grammar", [DIGITS, 'root ::= [^"]+'])
@pytest.mark.parametrize(
    "settings",
    [
        SamplingSettings(temperature=0.8),
        SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0),
        SamplingSettings(temperature=1.2, top_k=5, repeat_penalty=1.3),
    ],
)
def test_distribution_is_the_one_without_what_is_not_allowed(
    starter: Model, settings: SamplingSettings, grammar: str
) -> None:
    logits = np.random.default_rng(2).standard_normal(starter.n_vocab).astype(np.float32) * 4
    constrained = ChainSampler(starter.vocabulary, settings, grammar).distribution(logits)
    masked = np.full_like(logits, -np.inf)
    allowed = Grammar(starter.vocabulary, grammar).allowed_tokens()
    masked[allowed] = logits[allowed]
    expected = ChainSampler(starter.vocabulary, settings).distribution(masked)
    order, other = constrained.ids.argsort(), expected.ids.argsort()
    assert np.array_equal(constrained.ids[order], expected.ids[other])
    assert np.allclose(constrained.probs[order], expected.probs[other], atol=1e-6)


def test_the_prompt_is_not_held_against_the_grammar(llama_model: Model) -> None:
    sampler = ChainSampler(llama_model.vocabulary, SamplingSettings(repeat_penalty=3.0), DIGITS)
    sampler.begin(llama_model.vocabulary.tokenize("Some text without any number"))
    logits = np.zeros(llama_model.n_vocab, np.float32)
    assert llama_model.vocabulary.piece(sampler.argmax(logits)).isdigit()


def test_a_grammar_that_leaves_nothing_is_told(llama_model: Model) -> None:
    sampler = ChainSampler(llama_model.vocabulary, SamplingSettings(), 'root ::= "a"')
    logits = np.full(llama_model.n_vocab, -np.inf, np.float32)
    logits[token(llama_model, "b")] = 1.0
    with pytest.raises(DecodeFailed, match="grammar allows nothing"):
        sampler.argmax(logits)


# ------------------------------------------------------------------------------------------------ what is refused

HOSTILE = {
    "empty": "   ",
    "no root": 'answer ::= "a"',
    "root in a comment": '# root ::= "a"\nx ::= "a"',
    "unterminated string": 'root ::= "a',
    "unterminated class": "root ::= [a-",
    "undefined rule": "root ::= answer",
    "left recursion": 'root ::= root "a" | "b"',
    "left recursion behind what may be empty": 'root ::= x root "b" | "c"\nx ::= y\ny ::= ""',
    "left recursion in a group": 'root ::= ("a"? (root | "b"))+',
    "exponential": "\n".join(f'r{i} ::= r{i + 1} r{i + 1} | ""' for i in range(30))
    + '\nroot ::= r0\nr30 ::= "a"?',
    "many that may be empty": 'root ::= ("a"?){1000} "b"',
    "one bracket too many": 'root ::= "a")',
    "bracket not closed": 'root ::= ("a"\nb ::= "c"',
    "no rule": '"a"',
    "repetition backwards": 'root ::= "a"{3,2}',
    "nothing to repeat": "root ::= *",
    "huge repetition": 'root ::= "a"{99999999999999999999}',
    "deep nesting": "root ::= " + "(" * 100_000 + '"a"' + ")" * 100_000,
    "tokens among characters": 'root ::= [a-c] !<[67]> "b"',
    "token too big": "root ::= <[99999999999999999999999]>",
    "zero character": 'root ::= "a"\0',
    "many rules": "\n".join(f"r{i} ::= r{i + 1}" for i in range(50_000)) + '\nroot ::= r0\nr50000 ::= "a"',
    "endless": 'root ::= "' + "a" * 1_000_000 + '"',
    "bad escape": r'root ::= "\q"',
    "binary": "\x01\x02\x03",
    "empty rule": "root ::= (",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_grammar_that_cannot_be_used_is_refused_in_a_sentence(llama_model: Model, text: str) -> None:
    with pytest.raises(BadOption, match="grammar cannot be read") as error:
        Grammar(llama_model.vocabulary, text)
    assert error.value.remedy


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('root ::= a\na ::= b "x"\nb ::= "y"? a', "rule “a” begins with itself"),
        ("root ::= answer", "there is no rule named “answer”"),
        ('root ::= "a"\n\nb ::= ~', "line 3 is not understood"),
        ('root ::= "a" | *', "nothing stands before “*” in rule “root”"),
        ('root ::= "a" ("b"', "a bracket is not closed in rule “root”"),
    ],
)
def test_the_sentence_says_what_is_wrong(llama_model: Model, text: str, sentence: str) -> None:
    with pytest.raises(BadOption) as error:
        Grammar(llama_model.vocabulary, text)
    assert sentence in error.value.sentence


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "a" root | "b"',
        'root ::= ("a"?)* "b"',
        'root ::= item ("," item)*\nitem ::= [0-9]{1,3} | "(" item ")"',
        'root ::= # a comment with a "quote"\n  "a" |\n  "b" # (\n',
        r'root ::= "\"" [^"\\]* "\""',
        'root ::= ws "{" ws (pair (ws "," ws pair)*)? ws "}"\nws ::= [ \t\n]*\npair ::= "k" ws ":" ws root?',
    ],
)
def test_grammars_without_a_mistake_are_read(llama_model: Model, text: str) -> None:
    assert len(Grammar(llama_model.vocabulary, text).allowed_tokens()) > 0


@pytest.mark.parametrize("nesting", [10, 400])
def test_deep_but_bearable_nesting_is_read(llama_model: Model, nesting: int) -> None:
    text = "root ::= " + '("a" ' * nesting + '"b"' + ")?" * nesting
    assert b"a" in pieces(llama_model, Grammar(llama_model.vocabulary, text).allowed_tokens())


def test_long_chains_of_rules_are_read(llama_model: Model) -> None:
    text = "\n".join(f"r{i} ::= r{i + 1}" for i in range(3_900)) + '\nroot ::= r0\nr3900 ::= "a"'
    assert pieces(llama_model, Grammar(llama_model.vocabulary, text).allowed_tokens()) == {b"a"}


def test_brackets_in_quotes_do_not_nest(llama_model: Model) -> None:
    text = 'root ::= "' + "(" * 1000 + '" [(]* # ' + "(" * 1000
    assert pieces(llama_model, Grammar(llama_model.vocabulary, text).allowed_tokens()) == {b"("}


# --------------------------------------------------------------------------------------------------- JSON schemas


def test_a_schema_allows_what_fits_it(llama_model: Model) -> None:
    vocabulary = llama_model.vocabulary
    grammar = Grammar(vocabulary, grammar_text(GenerationSettings(json_schema=PERSON)))
    for i in vocabulary.tokenize('{"name": "Ada", "age": 36, "tags": ["a"]}', add_special=False):
        assert i in grammar.allowed_tokens()
        grammar.accept(i)
    assert vocabulary.eos in grammar.allowed_tokens()


def test_without_a_constraint_there_is_no_grammar() -> None:
    assert grammar_text(GenerationSettings()) == ""
    assert grammar_text(GenerationSettings(grammar=DIGITS)) == DIGITS


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "7",
        "[]",
        '{"type": "no such type"}',
        '{"$ref": "https://example.com/schema.json"}',
        '{"$ref": "#/nowhere"}',
        '{"type": "string", "pattern": "^(("}',
        '{"type": "string", "pattern": "no anchors"}',
        '{"type": "string", "maxLength": 1000000000}',
        '{"type": "array", "items": {}, "minItems": 1e300}',
        '{"type": "array", "items": ' * 2000 + "{}" + "}" * 2000,
        '{"type": 5}',
        '{"properties": 5}',
        "true",
        '{"enum": []}',
        '{"type": "string", "minLength": 5, "maxLength": 2}',
    ],
    ids=lambda schema: schema[:40],
)
def test_a_schema_that_cannot_be_used_is_refused_in_a_sentence(schema: str) -> None:
    with pytest.raises(BadOption, match="JSON schema cannot be used") as error:
        grammar_text(GenerationSettings(json_schema=schema))
    assert len(error.value.sentence) < 400
