"""What an answer may look like: llama.cpp's grammar sampler, and JSON schemas as grammars."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
from llama_cpp import llama_cpp as api
from llama_cpp.llama_grammar import json_schema_to_gbnf
from numpy.typing import NDArray

from engine.errors import BadOption
from engine.llama.grammar_check import ROOT, check_grammar, unreadable
from engine.llama.sampler_chain import SamplerChain
from engine.llama.vocabulary import Vocabulary
from engine.speculation.settings import GenerationSettings

_MAX_SCHEMA_REPETITIONS: Final = 400
_LIMITS_OF_SCHEMA: Final = ("minItems", "maxItems", "minLength", "maxLength")


class Grammar:
    """A grammar and how far the answer has come in it."""

    def __init__(self, vocabulary: Vocabulary, text: str) -> None:
        """Read `text` (GBNF) whose rule "root" is the answer; raises BadOption if it cannot be read."""
        check_grammar(text)
        pointer = api.llama_sampler_init_grammar(vocabulary.pointer, text.encode(), ROOT.encode())
        if not pointer:
            raise unreadable("llama.cpp does not understand it")
        self._vocabulary = vocabulary
        self._chain = SamplerChain(pointer, vocabulary.n_tokens)
        self._has_left = False

    def allowed(self, ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the tokens `ids` may come next."""
        if self._has_left:
            return np.ones(len(ids), bool)
        kept: NDArray[np.bool_] = self._chain.apply(ids, np.zeros(len(ids), np.float32))["logit"] == 0.0
        return kept

    def allowed_tokens(self) -> NDArray[np.int32]:
        """Return all tokens that may come next, ascending.

        llama.cpp looks at every character of every token: 20 ms and more for a large vocabulary. Where the byte that a
        token begins with may not come next, neither may the token, so most are left out first.
        """
        possible = np.arange(self._vocabulary.n_tokens, dtype=np.int32)
        stands_for = self._vocabulary.first_bytes()
        single = np.flatnonzero(stands_for == possible).astype(np.int32)
        refused = np.zeros(len(possible), bool)
        refused[single] = ~self.allowed(single)
        possible = possible[~refused[stands_for]]
        return possible[self.allowed(possible)]

    def accept(self, token: int) -> None:
        """Go on by `token`.

        One that is not allowed, which only a drafter that looks ahead can come with, ends the constraint: llama.cpp
        would end the process, and nothing after it can be accepted by the target anyway.
        """
        if self._has_left:
            return
        if self.allowed(np.array([token], np.int32))[0]:
            self._chain.accept(token)
        else:
            self._has_left = True

    def fork(self) -> Grammar:
        copy = object.__new__(Grammar)
        copy.__dict__.update(self.__dict__)
        copy._chain = self._chain.clone()
        return copy


def grammar_text(settings: GenerationSettings) -> str:
    """Return the grammar (GBNF) that `settings` ask for, "" for none; raises BadOption for a schema that is none."""
    return _schema_as_grammar(settings.json_schema) if settings.json_schema else settings.grammar


def _schema_as_grammar(text: str) -> str:
    try:
        schema = json.loads(text)
        if not isinstance(schema, dict):
            raise _bad_schema("it must be a JSON object, { … }")
        _refuse_what_converts_wrongly(schema)
        return str(json_schema_to_gbnf(text))
    except BadOption:
        raise
    except json.JSONDecodeError as error:
        raise _bad_schema(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise _bad_schema("it is nested too deeply") from error
    # The converter says what it does not know by assertions, and by what goes wrong where a type is not the right one.
    except Exception as error:
        raise _bad_schema(str(error) or type(error).__name__) from error


def _refuse_what_converts_wrongly(schema: Any) -> None:
    """Raise BadOption for what the converter would write out without end, or take for something else without a word."""
    if isinstance(schema, dict):
        _refuse_contradiction(schema)
        for key, value in schema.items():
            if (
                key in _LIMITS_OF_SCHEMA
                and isinstance(value, (int, float))
                and value > _MAX_SCHEMA_REPETITIONS
            ):
                raise _bad_schema(f"“{key}” may be at most {_MAX_SCHEMA_REPETITIONS} here")
            _refuse_what_converts_wrongly(value)
    elif isinstance(schema, list):
        for value in schema:
            _refuse_what_converts_wrongly(value)


def _refuse_contradiction(schema: dict[str, Any]) -> None:
    for least, most in (("minItems", "maxItems"), ("minLength", "maxLength"), ("minimum", "maximum")):
        lower, upper = schema.get(least), schema.get(most)
        if isinstance(lower, (int, float)) and isinstance(upper, (int, float)) and lower > upper:
            raise _bad_schema(f"“{least}” is more than “{most}”")
    if schema.get("enum") == []:
        raise _bad_schema("“enum” allows nothing")
    reference = schema.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        raise _bad_schema("a “$ref” may only point into the schema itself")


def _bad_schema(reason: str) -> BadOption:
    return BadOption(f"The JSON schema cannot be used: {reason[:300]}.", remedy="Correct the schema.")
