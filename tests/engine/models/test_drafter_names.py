"""What names propose of drafters, on names found in the wild."""

from __future__ import annotations

import pytest

from engine.models.bundle import DrafterKind
from engine.models.drafter_names import drafter_named


@pytest.mark.parametrize(
    ("path", "repo", "kind"),
    [
        ("mtp-gemma-4-E4B-it-Q8_0.gguf", "ggml-org/gemma-4-E4B-it-GGUF", DrafterKind.MTP),
        ("MTP/mtp-gemma-4-E4B-it-BF16.gguf", "unsloth/gemma-4-E4B-it-GGUF", DrafterKind.MTP),
        ("mtp/gemma-4-E4B-it-Q8_0-MTP.gguf", "unsloth/gemma-4-E4B-it-GGUF", DrafterKind.MTP),
        ("gemma-4-31b-it-assistant-Q8_0.gguf", "someone/gemma", DrafterKind.MTP),
        ("eagle3-gpt-oss-20b-Q8_0.gguf", "ggml-org/gpt-oss-20b-GGUF", DrafterKind.EAGLE3),
        ("Qwen3-8B-EAGLE3-Speculator-F16.gguf", "w/Qwen3-8B-EAGLE3-Speculator-GGUF", DrafterKind.EAGLE3),
        ("qwen3_8b_eagle3.gguf", "AngelSlim/Qwen3-8B_eagle3", DrafterKind.EAGLE3),
        ("dflash-Qwen3-8B-Q8_0.gguf", "ggml-org/Qwen3-8B-GGUF", DrafterKind.DFLASH),
        ("Qwen3.5-9B-DFlash.Q8_0.gguf", "AtomicChat/Qwen3.5-9B-DFlash-GGUF", DrafterKind.DFLASH),
        ("dflash-kquant.gguf", "meta-models/Muse-Glimmer-30B-GGUF", DrafterKind.DFLASH),
        ("dflash.gguf", "someone/x", DrafterKind.DFLASH),
        ("draft-Q4_0.gguf", "incoai/Qwen3.8-27B-DFlash2-GGUF", DrafterKind.DFLASH),
        ("LFM2.5-2.6B-DSpark-Q8_0.gguf", "LiquidAI/LFM2.5-2.6B-DSpark-GGUF", DrafterKind.DSPARK),
        ("dspark-Qwen3-8B-BF16.gguf", "ggml-org/Qwen3-8B-GGUF", DrafterKind.DSPARK),
        ("Qwen3.6-35B-A3B-MTP-Q8_0.gguf", "ggml-org/Qwen3.6-35B-A3B-MTP-GGUF", DrafterKind.NONE),
        ("Hy3-Q4_K_M-mtp.gguf", "AngelSlim/Hy3-GGUF", DrafterKind.NONE),
        ("Qwen3.8-27B-UD-Q4_K_M.gguf", "unsloth/Qwen3.8-27B-GGUF", DrafterKind.NONE),
        ("draft/Llama-3-F32.gguf", "a/b", DrafterKind.MODEL),
        ("Llama-Draft-F32.gguf", "a/b", DrafterKind.MODEL),
        ("drafting-table-7B-Q4_0.gguf", "a/b", DrafterKind.NONE),
        ("mmproj-dflash-F16.gguf", "a/b", DrafterKind.NONE),
        ("mtp-README.md", "a/b", DrafterKind.NONE),
    ],
)
def test_a_drafter_is_known_by_its_name_its_folder_or_its_repository(
    path: str, repo: str, kind: DrafterKind
) -> None:
    assert drafter_named(path, repo) is kind
