"""Long paths on Windows."""

from __future__ import annotations

from pathlib import Path

from engine.long_path import long_form, long_path


def test_long_paths_get_the_form_that_windows_takes() -> None:
    long = "\\".join(["C:\\models", *["x" * 60] * 4, "a.gguf"])
    assert long_form(long) == "\\\\?\\" + long
    assert long_form(long_form(long)) == long_form(long)
    assert long_form("C:\\models\\a.gguf") == "C:\\models\\a.gguf"
    assert long_form("\\\\server\\share\\" + "x" * 255) == "\\\\?\\UNC\\server\\share\\" + "x" * 255
    assert long_path(Path("/models/" + "x" * 300), "linux") == Path("/models/" + "x" * 300)
