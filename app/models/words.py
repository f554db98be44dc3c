"""What the Models page says, in words: pure functions of what the facade told."""

from __future__ import annotations

import re

from app.format import context, file_size, speed_range
from engine.budget.budget import KvType, Segment
from engine.models.bundle import DrafterKind
from engine.recommend.advice import Advice, ComputerSpeed, Fit, SpeedRange
from engine.shelf.installed_model import Place

_QUANTISATION = re.compile(
    r"(?:UD-)?(?:IQ\d\w*|Q\d(?:_\w+)*|BF16|F16|F32|MXFP4(?:_MOE)?|NVFP4)(?=\.gguf|-\d{5}-of)", re.I
)

FIT_WORDS = {
    Fit.FITS: "Fits",
    Fit.TIGHT: "Tight",
    Fit.PARTLY_ON_CPU: "Partly on CPU",
    Fit.DOES_NOT_FIT: "Does not fit",
    Fit.UNKNOWN: "",
}
_DRAFTER_BADGES = {
    DrafterKind.NONE: "",
    DrafterKind.NGRAM: "n-gram",
    DrafterKind.MODEL: "Draft model",
    DrafterKind.MTP: "MTP",
    DrafterKind.EAGLE3: "EAGLE-3",
    DrafterKind.DFLASH: "DFlash",
    DrafterKind.DSPARK: "DSpark",
}
_DRAFTER_WORDS = {
    DrafterKind.NONE: "Nobody",
    DrafterKind.NGRAM: "Words seen before (n-gram)",
    DrafterKind.MODEL: "A small model",
    DrafterKind.MTP: "Its own MTP head",
    DrafterKind.EAGLE3: "An EAGLE-3 head",
    DrafterKind.DFLASH: "A DFlash drafter",
    DrafterKind.DSPARK: "A DSpark drafter",
}
NGRAM_BESIDE = "Also look up words seen before (n-gram)"
NOT_HERE = "cannot run here"
_PLACES = {
    Place.STARTER: "Came with Slipstream",
    Place.DOWNLOADED: "Downloaded here",
    Place.HUB_CACHE: "In the Hugging Face cache",
    Place.LM_STUDIO: "In LM Studio's folder",
    Place.JAN: "In Jan's folder",
    Place.OLLAMA: "In Ollama's store",
    Place.FOLDER: "In a folder of yours",
    Place.OPENED: "Opened by hand",
}
KV_WORDS = {
    KvType.F16: "Full, 16 bits",
    KvType.Q8_0: "Half, 8 bits",
    KvType.Q4_0: "Quarter, 4 bits",
}
KV_TIPS = {
    KvType.F16: "f16: exactly what the model was made with.",
    KvType.Q8_0: "q8_0: half the memory for what was said so far; answers hardly change.",
    KvType.Q4_0: "q4_0: a quarter of the memory for what was said so far; answers may get worse.",
}
KV_CHOICE = (
    "How precisely the model keeps what was said so far (the KV cache). Fewer bits leave room for a longer "
    "context."
)
VERSION = "How finely the weights are stored (the quantisation). Fewer bits are smaller and faster, and a little worse."
COMPARING = "A comparison runs two lanes, so it keeps what was said twice: the second cache is counted too."
SEGMENT_WORDS = {
    Segment.WEIGHTS: "Weights",
    Segment.KV: "KV cache",
    Segment.STATE: "Recurrent state",
    Segment.SNAPSHOTS: "Recurrent states to go back to",
    Segment.COMPUTE: "Compute buffers",
    Segment.OUTPUT: "Output buffers",
    Segment.DRAFTER_WEIGHTS: "Drafter: weights",
    Segment.DRAFTER_KV: "Drafter: KV cache",
    Segment.DRAFTER_COMPUTE: "Drafter: compute buffers",
    Segment.DRAFTER_OUTPUT: "Drafter: output buffers",
    Segment.VOCABULARY: "Vocabulary, in main memory (about)",
    Segment.RACE: "Second context, for comparing",
    Segment.RESERVE: "Kept free",
}


def drafter_badge(kind: DrafterKind) -> str:
    return _DRAFTER_BADGES[kind]


def drafter_words(kind: DrafterKind, *, has_file: bool = False) -> str:
    """Return what guesses ahead, in words; `has_file`: it lies in a file of its own."""
    if kind is DrafterKind.MTP and has_file:
        return "MTP head in a file of its own"
    return _DRAFTER_WORDS[kind]


def cannot_run(reason: str) -> str:
    """Return why a kind of drafter cannot run here, as a sentence; "" where it can."""
    return f"It cannot run here: {reason}." if reason else ""


def place_words(place: Place) -> str:
    return _PLACES[place]


def quantisation_of(file_name: str) -> str:
    """Return "Q4_K_M" of "Qwen3.5-9B-Q4_K_M.gguf"; "this file" where a name does not say."""
    found = _QUANTISATION.search(file_name)
    return found.group(0) if found else "this file"


def best_speed(advice: Advice) -> SpeedRange | None:
    """Return the speed to show in a row: with speculation where something is known of it."""
    return advice.speculative or advice.plain


def speed_words(speed: SpeedRange | None) -> str:
    """Return "≈ 38–55 tok/s here", or "" where nothing can be said."""
    if speed is None:
        return ""
    about = "" if speed.is_measured else "≈ "
    return f"{about}{speed_range(speed.low_tokens_per_s, speed.high_tokens_per_s)} tok/s here"


def speed_basis(advice: Advice, computer: ComputerSpeed, kind: DrafterKind | None = None) -> str:
    """Return what a row's speed rests on; `kind` is who guesses ahead."""
    speed = best_speed(advice)
    if speed is None:
        return "Nothing can be said about its speed on this computer yet. “Measure this computer” makes a forecast."
    if speed.is_measured:
        return "Measured on this computer, in your own runs."
    lines = []
    if advice.plain is not None:
        plain = speed_range(advice.plain.low_tokens_per_s, advice.plain.high_tokens_per_s)
        lines.append(
            f"Forecast without speculation: {plain} tok/s, from how fast this computer reads weights"
        )
    if computer.devices:
        fast = ", ".join(
            f"{one.device} {one.bandwidth_bytes_per_s / 1e9:.0f} GB/s" for one in computer.devices
        )
        lines[-1:] = [f"{lines[-1]} ({fast}, measured)." if lines else f"This computer: {fast}, measured."]
    elif lines:
        lines[-1] += " (guessed: it was not measured yet)."
    if advice.speculative is not None:
        ahead = speed_range(advice.speculative.low_tokens_per_s, advice.speculative.high_tokens_per_s)
        gains = "the gains that others measured on such a device are counted in"
        if kind is None or not kind.has_weights:
            gains = "what looking up words seen before may gain is counted in"
        lines.append(f"With speculation: {ahead} tok/s; {gains}.")
    lines.append("Your own runs replace the forecast.")
    return "\n".join(lines)


def fits_until(n_ctx: int) -> str:
    return f"fits until {context(n_ctx)}" if n_ctx else "does not fit"


def size_words(size_bytes: int) -> str:
    return file_size(size_bytes) if size_bytes else "size not known yet"
