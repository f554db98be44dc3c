"""Makes the tiny models that no training was needed for: random weights, written in about a second.

`python -m tests.make_models FOLDER` writes all of them. The trained ones lie ready in tests/models.
"""
