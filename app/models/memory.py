"""What a memory bar shows of a budget: the parts of each device with their names, colours and exact bytes."""

from __future__ import annotations

from dataclasses import dataclass

from app.format import memory_size
from app.models.words import SEGMENT_WORDS
from engine.budget.budget import Budget, ContextBudget, DeviceUse, Segment
from engine.models.description import Device
from engine.worker.messages import Loaded


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the bar. `colour` names an entry of the palette; "" is drawn as hatching: kept free."""

    name: str
    colour: str
    n_bytes: int

    @property
    def tip(self) -> str:
        return f"{self.name}: {memory_size(self.n_bytes)} ({self.n_bytes:,} bytes)\n{_MEANINGS[self.name]}"


KEPT_FREE = "Kept free"
_WORTH_A_WORD = 0.0005
_MEANINGS = {
    "Model": "The weights of the model.",
    "Cache": "What the model keeps of the conversation (KV cache and recurrent state). It grows with the context.",
    "Working memory": (
        "Where passes are computed (compute and output buffers), and about what the vocabularies of model and "
        "drafter take in main memory."
    ),
    "Drafter": "The weights of what guesses ahead.",
    "Drafter's cache": "What the drafter keeps of the conversation.",
    "Second lane": "A comparison runs two lanes: the second one's cache and working memory.",
    KEPT_FREE: "Left for everything that no account covers.",
}


# (name, colour, segments): the bar shows fewer parts than the account has.
_GROUPS: tuple[tuple[str, str, tuple[Segment, ...]], ...] = (
    ("Model", "weights", (Segment.WEIGHTS,)),
    ("Cache", "cache", (Segment.KV, Segment.STATE, Segment.SNAPSHOTS)),
    (
        "Working memory",
        "compute",
        (
            Segment.COMPUTE,
            Segment.OUTPUT,
            Segment.DRAFTER_COMPUTE,
            Segment.DRAFTER_OUTPUT,
            Segment.VOCABULARY,
        ),
    ),
    ("Drafter", "drafter", (Segment.DRAFTER_WEIGHTS,)),
    ("Drafter's cache", "drafter_cache", (Segment.DRAFTER_KV,)),
    ("Second lane", "second_cache", (Segment.RACE,)),
    (KEPT_FREE, "", (Segment.RESERVE,)),
)


@dataclass(frozen=True, slots=True)
class DeviceBar:
    """One bar: `free_bytes` is what the device has free for all of it, 0 if that is not known."""

    device: str
    description: str
    free_bytes: int
    total_bytes: int
    parts: tuple[Part, ...]

    @property
    def used_bytes(self) -> int:
        """Return what is taken; what is kept free is not."""
        return sum(part.n_bytes for part in self.parts if part.name != KEPT_FREE)

    @property
    def kept_bytes(self) -> int:
        return sum(part.n_bytes for part in self.parts) - self.used_bytes

    @property
    def is_short(self) -> bool:
        return 0 < self.free_bytes < self.used_bytes + self.kept_bytes

    @property
    def left_bytes(self) -> int:
        return max(0, self.free_bytes - self.used_bytes)

    @property
    def caption(self) -> str:
        """Return "takes 6.7 GiB, leaves 4.5 GiB", or how much is missing."""
        used = memory_size(self.used_bytes)
        if not self.free_bytes:
            return used
        if self.is_short:
            needed = memory_size(self.used_bytes + self.kept_bytes)
            return f"needs {needed}, {memory_size(self.free_bytes)} are free"
        return f"takes {used}, leaves {memory_size(self.left_bytes)}"

    @property
    def spoken(self) -> str:
        parts = ", ".join(f"{part.name} {memory_size(part.n_bytes)}" for part in self.parts)
        return f"{self.description or self.device}: {self.caption}. {parts}"


def kept_words(kept_bytes: int) -> str:
    """Return " and 256 MiB kept free", "" where nothing is."""
    return f" and {memory_size(kept_bytes)} kept free" if kept_bytes else ""


def bars_of(budget: Budget, at: ContextBudget) -> tuple[DeviceBar, ...]:
    """Return a bar for each device that something is taken on, the fullest first."""
    devices = {device.name: device for device in budget.devices}
    bars = [_bar(use, devices.get(use.device)) for use in at.devices if use.needed_bytes]
    return tuple(sorted(bars, key=lambda bar: -bar.used_bytes))


def _bar(use: DeviceUse, device: Device | None) -> DeviceBar:
    sums = [(name, colour, sum(use.segments.get(one, 0) for one in which)) for name, colour, which in _GROUPS]
    parts = tuple(Part(name, colour, n) for name, colour, n in sums if n)
    if device is None:
        return DeviceBar(use.device, "", 0, 0, parts)
    return DeviceBar(
        use.device, device.description, device.memory_free_bytes, device.memory_total_bytes, parts
    )


def legend_of(bars: tuple[DeviceBar, ...]) -> tuple[Part, ...]:
    """Return each part that occurs, once, in the order of the bar, with its bytes on all devices."""
    totals: dict[tuple[str, str], int] = {}
    for name, colour, _ in _GROUPS:
        n = sum(part.n_bytes for bar in bars for part in bar.parts if part.name == name)
        if n:
            totals[name, colour] = n
    return tuple(Part(name, colour, n) for (name, colour), n in totals.items())


def table_of(at: ContextBudget) -> tuple[tuple[str, ...], ...]:
    """Return the whole account, to the byte: a head, then a row for each segment, with a column per device."""
    devices = [use.device for use in at.devices]
    rows: list[tuple[str, ...]] = [("", *devices)]
    for segment in Segment:
        if segment is not Segment.RESERVE:
            rows += _table_row(SEGMENT_WORDS[segment], [use.segments.get(segment, 0) for use in at.devices])
    rows.append(("Together", *(_exact(use.total_bytes) for use in at.devices)))
    rows += _table_row("Kept free beside it", [use.segments.get(Segment.RESERVE, 0) for use in at.devices])
    return tuple(rows)


def _table_row(name: str, numbers: list[int]) -> list[tuple[str, ...]]:
    return [(name, *(_exact(n) for n in numbers))] if any(numbers) else []


def measured_words(loaded: Loaded) -> str:
    """Return what loading really took on each device, beside what was expected."""
    lines = []
    for device, n_bytes in loaded.memory_bytes.items():
        expected = loaded.predicted_bytes.get(device, 0)
        line = f"{memory_size(n_bytes)} on {device}"
        if expected:
            off = (n_bytes - expected) / expected
            difference = f"; {memory_size(expected)} were expected ({off * 100:+.1f} %)"
            line += difference if abs(off) >= _WORTH_A_WORD else ", as expected"
        lines.append(line)
    return "\n".join(lines)


def _exact(n_bytes: int) -> str:
    return f"{n_bytes:,}" if n_bytes else "–"
