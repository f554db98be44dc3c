# ruff: noqa: E501  (a rule of a style sheet keeps to its line)
"""The style rules, as few as the look needs, made from a palette."""

from __future__ import annotations

from dataclasses import asdict
from string import Template

from app.palette import Colours

_RULES = Template(
    """
QToolTip { color: $text; background: $card; border: 1px solid $line; padding: 6px 8px; }
QMenu { background: $base; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 6px 24px 6px 12px; border-radius: 6px; color: $text; }
QMenu::item:selected { background: $hover; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }

QScrollArea, QScrollArea > QWidget > QWidget[role="page"] { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; }
QScrollBar::handle { background: $line; border-radius: 3px; min-height: 32px; min-width: 32px; }
QScrollBar::handle:hover { background: $control_line; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page { background: none; border: none; width: 0; height: 0; }

QLineEdit, QSpinBox, QDoubleSpinBox, QPlainTextEdit[role="input"] {
  background: $base; color: $text; border: 1px solid $control_line; border-radius: 8px; padding: 0 8px; min-height: 30px;
  selection-background-color: $selection; selection-color: $text;
}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { width: 0; border: none; }
QAbstractSpinBox QLineEdit { border: none; padding: 0 8px; min-height: 0; background: transparent; }
QPlainTextEdit[role="input"] { padding: 3px 6px; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QPlainTextEdit[role="input"]:focus { border: 1px solid $accent; }
QLineEdit:disabled, QSpinBox:disabled, QDoubleSpinBox:disabled { color: $disabled; border-color: $line; }
QPlainTextEdit[role="reading"], QTextBrowser[role="reading"] { background: transparent; border: none; }

QPushButton { background: $base; color: $text; border: 1px solid $control_line; border-radius: 8px; padding: 0 12px; min-height: 30px; }
QPushButton:hover { background: $hover; }
QPushButton:focus { border-color: $accent; }
QPushButton:disabled { color: $disabled; border-color: $line; }
QPushButton[role="primary"] { background: $accent; color: $on_accent; border: 1px solid $accent; font-weight: 600; }
QPushButton[role="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[role="primary"]:focus { border: 2px solid $text; }
QPushButton[role="primary"]:disabled { background: $card; color: $disabled; border-color: $line; }
QPushButton[role="quiet"] { background: transparent; border: 1px solid transparent; padding: 0 8px; min-height: 26px; color: $muted; }
QPushButton[role="quiet"]:hover { background: $hover; color: $text; }
QPushButton[role="quiet"]:focus { border-color: $accent; }
QPushButton[role="chip"] { background: transparent; border: 1px solid $line; border-radius: 14px; min-height: 26px; padding: 0 12px; color: $muted; }
QPushButton[role="chip"]:hover { background: $hover; color: $text; }
QPushButton[role="chip"]:checked { background: $accepted; color: $text; border-color: $accent; }
QPushButton[role="chip"]:focus { border-color: $accent; }
QPushButton[role="pick"] { text-align: left; padding: 0 28px 0 12px; }
QPushButton[role="status"] { background: transparent; border: none; border-radius: 4px; padding: 0 8px; min-height: 22px; color: $muted; }
QPushButton[role="status"]:hover, QPushButton[role="status"]:focus { background: $hover; color: $text; }

QToolButton { background: transparent; border: 1px solid transparent; border-radius: 8px; padding: 0; }
QToolButton:hover { background: $hover; }
QToolButton:focus { border-color: $accent; }
QToolButton:checked { background: $hover; }

QWidget[role="rail"] { background: $rail; border-right: 1px solid $line; }
QWidget[role="rail"] QToolButton:checked { background: $accepted; }
QWidget[role="bar"] { background: $rail; border-top: 1px solid $line; }
QFrame[role="pane"] { background: $base; border: 1px solid $line; border-radius: 8px; }
QFrame[role="card"] { background: $card; border: none; border-radius: 12px; }
QFrame[role="code"] { background: $card; border: none; border-radius: 8px; }
QFrame[role="notice"] { background: $error_tint; border: 1px solid $error; border-radius: 8px; }
QFrame[role="notice"][tone="warning"] { background: $warning_tint; border-color: $warning; }
QFrame[role="notice"][tone="plain"] { background: $card; border-color: $line; }
QFrame[role="popover"] { background: $base; border: 1px solid $line; border-radius: 8px; }
QFrame[role="verdict"] { background: transparent; border: none; }
QFrame[role="rule"] { background: $line; border: none; max-height: 1px; min-height: 1px; }

QFrame[role="side"] { background: transparent; border: none; border-right: 1px solid $line; }
QFrame[role="tray"] { background: $rail; border: none; }
QListView[role="list"] { background: transparent; border: none; outline: none; }

QLabel[tone="muted"] { color: $muted; }
QLabel[tone="accent"] { color: $accent; }
QLabel[tone="warning"] { color: $warning; }
QLabel[tone="error"] { color: $error; }

QTableView { background: transparent; border: none; color: $text; selection-background-color: $hover; selection-color: $text; outline: none; }
QTableView::item { padding: 0 8px; border: none; }
QTableView::item:selected { background: $hover; }
QTableView::item:focus { border: 1px solid $accent; border-radius: 4px; }
QTableCornerButton::section { background: transparent; border: none; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section { background: transparent; color: $muted; border: none; padding: 0 8px; }
QHeaderView::section:horizontal { border-bottom: 1px solid $line; }

QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $line; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal { background: $base; border: 2px solid $accent; width: 12px; margin: -6px 0; border-radius: 8px; }
QSlider::handle:horizontal:focus { background: $accent; }
QSlider::sub-page:horizontal:disabled { background: $line; }
QSlider::handle:horizontal:disabled { border-color: $disabled; }
"""
)


def style_rules(colours: Colours) -> str:
    """Return the application's style sheet for `colours`."""
    return _RULES.substitute(asdict(colours))
