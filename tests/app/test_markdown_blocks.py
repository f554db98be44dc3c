"""Streaming Markdown is cut into blocks that do not depend on where the stream was cut."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.markdown_blocks import MOST_CHARACTERS, Block, BlockKind, BlockSplitter

TEXT = """# Title

A paragraph
of two lines.

1. one

2. two
   more of two

- a
- b

```python
def f():

    return 1
```
After the code.

| a | b |
|---|---|
| 1 | 2 |
"""


def blocks_of(text: str, cuts: list[int] | None = None) -> list[Block]:
    splitter = BlockSplitter()
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts or []), len(text)]
    for start, end in pairwise(edges):
        splitter.feed(text[start:end])
    splitter.close()
    return splitter.finished


def test_paragraphs_lists_and_code_become_blocks() -> None:
    blocks = blocks_of(TEXT)
    assert [block.text.split("\n")[0] for block in blocks] == [
        "# Title",
        "A paragraph",
        "1. one",
        "def f():",
        "After the code.",
        "| a | b |",
    ]
    code = blocks[3]
    assert code == Block(BlockKind.CODE, "def f():\n\n    return 1", "python")


def test_a_list_with_blank_lines_stays_one_block_so_that_its_numbers_go_on() -> None:
    assert "2. two\n   more of two" in blocks_of(TEXT)[2].text


def test_an_open_fence_is_code_already() -> None:
    splitter = BlockSplitter()
    splitter.feed("Look:\n```js\nlet a")
    assert splitter.current == Block(BlockKind.CODE, "let a", "js")


def test_a_fence_inside_a_fence_of_more_marks_is_code() -> None:
    blocks = blocks_of("````md\n```\nx\n```\n````\n")
    assert [block.text for block in blocks] == ["```\nx\n```"]


def test_a_block_of_text_never_grows_without_bound() -> None:
    for text in ("word " * 5000, "x" * 20_000, "line\n" * 5000):
        blocks = blocks_of(text, list(range(0, len(text), 37)))
        assert max(len(block.text) for block in blocks) <= MOST_CHARACTERS + 40
        assert sum(len(block.text.replace(" ", "").replace("\n", "")) for block in blocks) == len(
            text.replace(" ", "").replace("\n", "")
        )


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_where_the_stream_is_cut_makes_no_difference(cuts: list[int]) -> None:
    assert blocks_of(TEXT, cuts) == blocks_of(TEXT)


@given(st.text(alphabet="a`~#-1. \n|>*\\é", max_size=200))
def test_no_line_outside_the_fences_themselves_is_lost(text: str) -> None:
    kept = "".join(block.text + "\n" for block in blocks_of(text))
    lines = [
        line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("```", "~~~"))
    ]
    assert [line for line in lines if line not in kept] == []
