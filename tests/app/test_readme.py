"""What is shown of an owner's page."""

from __future__ import annotations

from app.models.readme import shown_readme

PAGE = """---
license: mit
---
<p align="center">
  <img src="https://example.org/logo.png" width=200>
</p>

# Big title
[![badge](a.svg)](b) Text with <b>bold</b> words, 3 < 4.
<!-- a
note -->
```html
<img src="kept">
# kept
```
## Use
"""


def test_html_and_pictures_go_headings_shrink_and_code_stays() -> None:
    shown = shown_readme(PAGE)
    assert shown.startswith("### Big title\n Text with bold words, 3 < 4.")
    assert '```html\n<img src="kept">\n# kept\n```' in shown
    assert shown.endswith("#### Use")
    assert "note" not in shown
    assert "license" not in shown
