"""Every colour of Slipstream, as (light, dark) pairs. No colour literal stands anywhere else."""

from __future__ import annotations

from dataclasses import dataclass, fields

from PySide6.QtGui import QColor, QGuiApplication, QPalette

_PAIRS: dict[str, tuple[str, str]] = {
    "window": ("#f8f9f8", "#191b1d"),
    "rail": ("#eff1f0", "#141617"),
    "base": ("#ffffff", "#202326"),
    "card": ("#eef1f0", "#292d30"),
    "hover": ("#e4e9e8", "#31363a"),
    "line": ("#dcdfde", "#35393d"),
    "control_line": ("#878f92", "#737b80"),
    "text": ("#1a1f21", "#e6e9ea"),
    "muted": ("#566064", "#a5adb2"),
    "disabled": ("#8d9598", "#6e767b"),
    "accent": ("#0b756f", "#55c4ba"),
    "accent_hover": ("#095f5a", "#74d3ca"),
    "on_accent": ("#ffffff", "#06211f"),
    "accepted": ("#d4efeb", "#164843"),
    "selection": ("#b4dfda", "#2c6660"),
    "warning": ("#805200", "#e9b44f"),
    "warning_tint": ("#fcf1da", "#3b3018"),
    "error": ("#b0241c", "#f38f87"),
    "error_tint": ("#fcebe9", "#432320"),
    # What memory is taken for: the model's own in the accent's hue, the drafter's in another.
    "weights": ("#0b756f", "#55c4ba"),
    "cache": ("#3d928b", "#33918a"),
    "compute": ("#788a8a", "#84999a"),
    "drafter": ("#4b55ab", "#a3aaf0"),
    "drafter_cache": ("#7a82c9", "#727bc8"),
    "second_cache": ("#5c80a8", "#7ea6d0"),
}

MEMORY_COLOURS = ("weights", "cache", "compute", "drafter", "drafter_cache", "second_cache")

# (foreground, background, least contrast): WCAG 2.2 asks 4.5 of text and 3 of shapes that carry meaning.
CONTRASTS: tuple[tuple[str, str, float], ...] = (
    *(
        ("text", ground, 4.5)
        for ground in ("window", "rail", "base", "card", "hover", "accepted", "selection")
    ),
    *(("muted", ground, 4.5) for ground in ("window", "rail", "base", "card", "hover")),
    *(("text", ground, 4.5) for ground in ("warning_tint", "error_tint")),
    *(("accent", ground, 4.5) for ground in ("window", "base", "rail", "card")),
    *(("warning", ground, 4.5) for ground in ("window", "base", "warning_tint")),
    *(("error", ground, 4.5) for ground in ("window", "base", "error_tint")),
    ("on_accent", "accent", 4.5),
    ("on_accent", "accent_hover", 4.5),
    ("control_line", "base", 3.0),
    ("control_line", "window", 3.0),
    ("accent", "accepted", 3.0),
    *((part, "window", 3.0) for part in MEMORY_COLOURS),
)


@dataclass(frozen=True, slots=True)
class Colours:
    """One of the two palettes, "#rrggbb" each."""

    window: str
    rail: str
    base: str
    card: str
    hover: str
    line: str
    control_line: str
    text: str
    muted: str
    disabled: str
    accent: str
    accent_hover: str
    on_accent: str
    accepted: str
    selection: str
    warning: str
    warning_tint: str
    error: str
    error_tint: str
    weights: str
    cache: str
    compute: str
    drafter: str
    drafter_cache: str
    second_cache: str

    def colour(self, name: str) -> QColor:
        return QColor(str(getattr(self, name)))


LIGHT = Colours(**{field.name: _PAIRS[field.name][0] for field in fields(Colours)})
DARK = Colours(**{field.name: _PAIRS[field.name][1] for field in fields(Colours)})


def current_colours() -> Colours:
    """Return the Colours that the application wears.

    A widget's own palette does not tell: style rules change its roles.
    """
    ground = QGuiApplication.palette().color(QPalette.ColorRole.Window)
    return DARK if ground.lightness() < 128 else LIGHT


def qpalette(colours: Colours) -> QPalette:
    """Return the QPalette that native painting uses."""
    role = QPalette.ColorRole
    palette = QPalette()
    for target, name in (
        (role.Window, "window"),
        (role.WindowText, "text"),
        (role.Base, "base"),
        (role.AlternateBase, "card"),
        (role.Text, "text"),
        (role.Button, "card"),
        (role.ButtonText, "text"),
        (role.BrightText, "on_accent"),
        (role.ToolTipBase, "card"),
        (role.ToolTipText, "text"),
        (role.PlaceholderText, "muted"),
        (role.Highlight, "selection"),
        (role.HighlightedText, "text"),
        (role.Link, "accent"),
        (role.LinkVisited, "accent"),
        (role.Accent, "accent"),
        (role.Mid, "line"),
        (role.Midlight, "hover"),
        (role.Light, "base"),
        (role.Dark, "control_line"),
    ):
        palette.setColor(target, colours.colour(name))
    for target in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, target, colours.colour("disabled"))
    return palette


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two "#rrggbb" colours, 1 to 21 (WCAG 2.2, relative luminance)."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
