"""The catalogue as the text of its file: one line for each file, so that a change shows as the lines that changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from engine.models.catalogue import CatalogueEntry, MeasuredSpeedup, MemoryFacts
from engine.models.remote import RemoteFile

_ON_ONE_LINE = (RemoteFile, MemoryFacts, MeasuredSpeedup)


def catalogue_text(entries: Iterable[CatalogueEntry]) -> str:
    """Return what resources/catalogue.json holds for `entries`; fields at their default are left out."""
    return "[\n" + ",\n".join(_indented(_text(entry)) for entry in entries) + "\n]\n"


def _text(value: object) -> str:
    if isinstance(value, _ON_ONE_LINE):
        return json.dumps(_told(value), ensure_ascii=False)
    if isinstance(value, msgspec.Struct):
        fields = [f"{json.dumps(name)}: {_text(field)}" for name, field in _told(value).items()]
        return _block("{", fields, "}")
    if isinstance(value, tuple):
        return _block("[", [_text(item) for item in value], "]")
    return json.dumps(value, ensure_ascii=False)


def _told(value: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.fields(value)
    return {f.name: told for f in fields if (told := getattr(value, f.name)) != f.default}


def _block(first: str, items: list[str], last: str) -> str:
    return first + "\n" + ",\n".join(map(_indented, items)) + "\n" + last


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
