"""What the Tune page says besides its figures."""

from __future__ import annotations

from app.format import count, time_left
from app.trouble import Trouble
from app.tune.summary import Figure, kind_words
from engine.bench.card import threads_words
from engine.bench.driver import BenchProgress
from engine.bench.plan import OFF, mode_phrase
from engine.bench.results import BenchResult
from engine.models.bundle import Bundle

TITLE = "Find out what is fastest on this computer"
LESSON = (
    "How far guessing ahead pays depends on the model, on who guesses, on the text and on this computer. Tune lets the "
    "chosen model answer prompts of many kinds, without guessing and with drafts of several lengths, and shows what "
    "each brought. What is best can be taken over with one click. Leave the computer alone meanwhile: whatever else "
    "runs falsifies the figures."
)
NO_MODEL_LESSON = "To begin, get a model on the Models page, or drop a model file on the window."
KINDS = "What is written: code repeats itself and is easy to guess, a poem is not."
KIND_TIP = "Whether prompts of this kind are measured"
MODES = (
    "How many tokens are guessed ahead before the model checks them. Auto decides before each pass. Answers without "
    "guessing are always measured too: everything is compared with them."
)
MODE_TIP = "Whether this draft length is measured"
N_TASKS = "How many different prompts of each kind are answered; more make the figures surer and take longer."
REPEAT = "How often each prompt is answered in each way; the median counts, so that a hiccup does not."
TEMPERATURE = (
    "0 always takes the likeliest token; at higher values answers vary. What is found holds for this temperature: "
    "measure with what you chat with."
)
FIGURE_TIPS = {
    Figure.SPEEDUP: (
        "How many times as fast as without guessing ahead: geometric mean over prompts, and for all kinds over kinds"
    ),
    Figure.SPEED: (
        "Tokens per second while answering: the median over answers, and for all kinds the geometric mean over kinds"
    ),
    Figure.ACCEPTED: "Acceptance rate: of all tokens that were guessed ahead, the share that the model agreed with",
    Figure.LENGTH: "Mean accepted length: how many tokens one pass of the model gave on average",
}
ADVICE_TIP = (
    "To draft is to guess ahead: a draft is what was guessed before one pass of the model, the draft length how many "
    "tokens at most, and accepted is what the model agreed with."
)
START_TIP = "Measure the chosen model (Ctrl+Return)"
CANCEL_TIP = "Stop; what was measured stays (Esc)"
APPLY_TIP = "Use this draft length in Chat and Compare whenever this model and drafter are chosen"


def progress_words(progress: BenchProgress) -> str:
    """Return "12 of 64 · Coding, draft length 4 · 3 min left"."""
    parts = [f"{progress.n_done} of {progress.n_total}"]
    if progress.task is not None:
        parts.append(f"{kind_words(progress.task.category)}, {mode_phrase(progress.mode)}")
    elif progress.is_reloading:
        parts.append("the models are being loaded again")
    elif progress.n_done < progress.n_total:
        parts.append("warming up")
    if progress.left_s is not None and progress.n_done:
        parts.append(time_left(progress.left_s))
    return " · ".join(parts)


EARLIER_SHOWN = Trouble(
    "What was broken off is not shown: the figures below are of an earlier measurement, which was complete.",
    "Start goes on where it was broken off, within a day.",
)


def resumed(n_answers: int) -> Trouble:
    """Return what to say where a bench goes on from `n_answers` that are measured already."""
    return Trouble(
        f"It goes on where it was broken off: {count(n_answers, 'answer')} had been measured before.",
        "Begin anew if the computer was busy then.",
    )


def not_kept(reason: str) -> Trouble:
    """Return what to say where a result could not be written."""
    return Trouble(
        f"The result could not be kept ({reason}): it is gone when the window is closed.",
        "Share the result, or make room and start again: it ends at once with what was measured.",
    )


def left_out_words(result: BenchResult) -> str:
    """Return what could not be measured, a sentence a line; "" where everything was."""
    return "\n".join(f"Left out: {sentence}" for sentence in result.left_out)


def applied_words(bundle: Bundle, mode: str) -> str:
    """Return what was taken over, and for what."""
    return f"From now on {bundle.name} answers {_with(mode)}, in Chat and in Compare."


def _with(mode: str) -> str:
    return mode_phrase(mode) if mode == OFF else f"with {mode_phrase(mode)}"


def circumstances(result: BenchResult) -> str:
    """Return what was measured, where and when, in a line."""
    machine = result.machine
    where = (
        machine.devices[0].partition(": ")[2] or machine.devices[0] if machine.devices else machine.processor
    )
    parts = [f"{result.bundle}, drafted by {result.drafter}", f"temperature {result.temperature:g}"]
    parts.append(f"{where}, {threads_words(machine)}")
    if result.measured_at:
        parts.append(f"{result.measured_at[:16].replace('T', ' ')} UTC")
    if not result.is_complete:
        parts.append("not complete")
    return " · ".join(parts)
