"""What a request asks for: sampling, lengths, stops. Plain data, checked before anything loads."""

from __future__ import annotations

import math

import msgspec

from engine.errors import BadOption

MAX_DRAFT_LENGTH = 16
DEFAULT_MAX_TOKENS = 512
# Below this logits that are divided by it leave the range of a 32-bit number.
MIN_TEMPERATURE = 0.001


class SamplingSettings(msgspec.Struct, frozen=True):
    """How the next token is chosen from the target's distribution.

    Applied in llama.cpp's order: penalties, top-k, top-p, min-p, temperature (common/common.h, common_params_sampling).
    `temperature` 0 is greedy. `top_k` 0, `top_p` 1 and `min_p` 0 switch that filter off. `seed` None draws one.
    """

    temperature: float = 0.0
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    penalty_last_n: int = 64
    seed: int | None = None

    @property
    def is_greedy(self) -> bool:
        return self.temperature <= 0.0

    @property
    def has_penalties(self) -> bool:
        return self.repeat_penalty != 1.0 or self.frequency_penalty != 0.0 or self.presence_penalty != 0.0


class GenerationSettings(msgspec.Struct, frozen=True):
    """How one lane answers: `draft_length` tokens a round (0 to 16; None: the controller decides before each round),
    at most `max_tokens`, ending at a stop string.

    With a `grammar` (GBNF) or a `json_schema` (JSON text) the answer is one that it allows; at most one may be set.
    """

    sampling: SamplingSettings = SamplingSettings()
    max_tokens: int = DEFAULT_MAX_TOKENS
    draft_length: int | None = None
    stop: tuple[str, ...] = ()
    grammar: str = ""
    json_schema: str = ""

    @property
    def drafts(self) -> bool:
        """Whether a drafter is ever asked."""
        return self.draft_length != 0


def check_generation(settings: GenerationSettings) -> None:
    """Raise BadOption with a sentence for the first value that is out of range."""
    s = settings.sampling
    rules: tuple[tuple[bool, str], ...] = (
        (
            math.isfinite(s.temperature) and 0.0 <= s.temperature <= 10.0,
            "The temperature must be between 0 and 10.",
        ),
        (
            s.temperature == 0.0 or s.temperature >= MIN_TEMPERATURE,
            f"The temperature must be 0 or at least {MIN_TEMPERATURE}.",
        ),
        (0 <= s.top_k <= 1_000_000, "Top-k must be 0 (off) or a positive number."),
        (math.isfinite(s.top_p) and 0.0 < s.top_p <= 1.0, "Top-p must be above 0 and at most 1."),
        (math.isfinite(s.min_p) and 0.0 <= s.min_p < 1.0, "Min-p must be at least 0 and below 1."),
        (
            math.isfinite(s.repeat_penalty) and 0.0 < s.repeat_penalty <= 10.0,
            "The repeat penalty must be between 0 and 10.",
        ),
        (
            math.isfinite(s.frequency_penalty) and abs(s.frequency_penalty) <= 10.0,
            "The frequency penalty must be between -10 and 10.",
        ),
        (
            math.isfinite(s.presence_penalty) and abs(s.presence_penalty) <= 10.0,
            "The presence penalty must be between -10 and 10.",
        ),
        (0 <= s.penalty_last_n <= 1_000_000, "The penalty window must be 0 or a positive number of tokens."),
        (
            s.seed is None or 0 <= s.seed < 2**63,
            "The seed must be a whole number from 0 to 9223372036854775807.",
        ),
        (1 <= settings.max_tokens <= 1_000_000, "The number of tokens must be between 1 and 1000000."),
        (
            settings.draft_length is None or 0 <= settings.draft_length <= MAX_DRAFT_LENGTH,
            f"The draft length must be between 0 and {MAX_DRAFT_LENGTH} tokens.",
        ),
        (all(settings.stop), "A stop text must not be empty."),
        (not (settings.grammar and settings.json_schema), "Give a grammar or a JSON schema, not both."),
    )
    for holds, sentence in rules:
        if not holds:
            raise BadOption(sentence)
