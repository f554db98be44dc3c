"""What `--grammar` and `--json-schema` hold an answer to."""

from __future__ import annotations

import msgspec

from engine.cli.arguments import RunOptions
from engine.cli.text_file import read_text
from engine.errors import BadOption
from engine.speculation.settings import GenerationSettings


def constrained(options: RunOptions) -> GenerationSettings:
    """Return how to answer, with the grammar or schema of the file that `options` name.

    Raises what `read_text` raises, and BadOption for a file with nothing in it.
    """
    if options.grammar_file is not None:
        text = _something(read_text(options.grammar_file, "grammar"), "grammar")
        return msgspec.structs.replace(options.generation, grammar=text)
    if options.schema_file is not None:
        text = _something(read_text(options.schema_file, "JSON schema"), "JSON schema")
        return msgspec.structs.replace(options.generation, json_schema=text)
    return options.generation


def _something(text: str, what: str) -> str:
    if not text.strip():
        raise BadOption(f"The {what} file is empty.", remedy="Name a file with something in it.")
    return text
