"""What this llama.cpp can do with each architecture (`general.architecture` of a GGUF).

Read from the sources of llama.cpp that llama-cpp-python 0.3.36 is built from: src/llama-arch.cpp (names and families),
src/models/*.cpp (which graphs set `t_layer_inp` and `t_h_nextn`, and which build LLM_GRAPH_TYPE_DECODER_MTP).
Asking an architecture for a hidden state that its graph does not publish aborts the process (src/llama-graph.cpp:1384).
"""

from __future__ import annotations

from typing import Final

KNOWN: Final = frozenset(
    {
        "afmoe", "apertus", "arcee", "arctic", "arwkv7", "baichuan", "bailingmoe", "bailingmoe2", "bailingmoe3",
        "bert", "bitnet", "bloom", "chameleon", "chatglm", "clip", "codeshell", "cogvlm", "cohere2",
        "cohere2moe", "command-r", "dbrx", "deci", "deepseek", "deepseek2", "deepseek2-ocr", "deepseek32",
        "deepseek4", "dflash", "dots1", "dots3note", "dream", "eagle3", "ernie4_5", "ernie4_5-moe", "eurobert",
        "exaone", "exaone-moe", "exaone4", "falcon", "falcon-h1", "gemma", "gemma-embedding", "gemma2",
        "gemma3", "gemma3n", "gemma4", "gemma4-assistant", "glm-dsa", "glm4", "glm4moe", "glm5-next", "gpt-oss",
        "gpt2", "gptneox", "granite", "granite_swa", "granitehybrid", "granitemoe", "graniteswitch",
        "grok", "grovemoe", "hrm_text", "hunyuan-dense", "hunyuan-moe", "hunyuan_vl", "hy_v3", "hy_v4",
        "internlm2", "jais", "jais2", "jamba", "jina-bert-v2", "jina-bert-v3", "kimi-k3", "kimi-linear",
        "laguna", "lfm2", "lfm2moe", "llada", "llada-moe", "llama", "llama-embed", "llama4", "maincoder",
        "mamba", "mamba2", "maple", "mellum", "mimo2", "minicpm", "minicpm3", "minimax-01", "minimax-m2",
        "minimax-m3", "mistral3", "mistral4", "modern-bert", "mpt", "muse-glimmer", "nanbeige", "nemotron",
        "nemotron_h", "nemotron_h_moe", "neo-bert", "nomic-bert", "nomic-bert-moe", "olmo", "olmo2", "olmoe",
        "openelm", "orion", "paddleocr", "pangu-embedded", "phi2", "phi3", "phimoe", "plamo", "plamo2",
        "plamo3", "plm", "pockettts", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen35", "qwen35moe",
        "qwen3moe", "qwen3next", "qwen3tts", "qwen3vl", "qwen3vlmoe", "qwen4exp", "refact", "rnd1", "rwkv6",
        "rwkv6qwen2", "rwkv7", "seed_oss", "smallthinker", "smollm3", "spark2_5", "stablelm", "starcoder",
        "starcoder2", "step35", "t5", "t5encoder", "talkie", "wavtokenizer-dec", "xverse",
    }
)  # fmt: skip
"""Every architecture that llama.cpp can load; "gptj" is only a name there."""

PUBLISHES_HIDDEN_STATES: Final = frozenset(
    {
        "bailingmoe3", "deepseek4", "gemma4", "gpt-oss", "hunyuan-dense", "hunyuan_vl", "lfm2", "lfm2moe",
        "llama", "mimo2", "minimax-01", "minimax-m2", "muse-glimmer", "nanbeige", "nemotron_h",
        "nemotron_h_moe", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next", "qwen4exp",
    }
)  # fmt: skip
"""Targets whose graph gives the input of each layer, which EAGLE-3, DFlash and DSpark read (`t_layer_inp`)."""

PUBLISHES_LAST_LAYER: Final = frozenset(
    {
        "deepseek4", "mimo2", "nemotron_h", "nemotron_h_moe",
    }
)  # fmt: skip
"""Those that also give what comes out of the last layer as one more layer input (`t_layer_inp[n_layer]`)."""

PUBLISHES_FINAL_STATE: Final = frozenset(
    {
        "bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "deepseek4", "gemma4", "glm-dsa", "glm4moe",
        "glm5-next", "gpt-oss", "hy_v3", "mimo2", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe",
        "qwen3next", "step35",
    }
)  # fmt: skip
"""Targets that give the last hidden state, which MTP heads read (`t_h_nextn`); elsewhere it silently stays zero."""

HAS_MTP_GRAPH: Final = frozenset(
    {
        "bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "deepseek4", "glm-dsa", "glm4moe", "hy_v3",
        "mimo2", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next", "step35",
    }
)  # fmt: skip
"""Architectures whose own MTP heads can be run; glm5-next only throws."""

GIVES_WANTED_STATES: Final = frozenset({"deepseek4", "gemma4-assistant", "mimo2", "qwen3next", "step35"})
"""MTP graphs that give a hidden state for the wanted tokens of a pass alone. The others give one for every token even
where llama.cpp then takes as many as were wanted, from the first one on (src/llama-context.cpp): it never wants one of
several from them."""

ENCODERS: Final = frozenset(
    {
        "bert", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3", "llama-embed", "modern-bert",
        "neo-bert", "nomic-bert", "nomic-bert-moe", "t5encoder",
    }
)  # fmt: skip
"""Encoders: they have no decoder that could write an answer."""

OTHER: Final = frozenset(
    {
        "dream", "llada", "llada-moe", "pockettts", "qwen3tts", "rnd1", "t5", "wavtokenizer-dec",
    }
)  # fmt: skip
"""Models that do not write one token after the other: diffusion, encoder and decoder, speech."""

RECURRENT: Final = frozenset(
    {
        "arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7",
    }
)  # fmt: skip
"""Architectures with a running state and no attention."""

HYBRID: Final = frozenset(
    {
        "bailingmoe3", "deepseek4", "falcon-h1", "glm5-next", "granitehybrid", "jamba", "kimi-k3",
        "kimi-linear", "lfm2", "lfm2moe", "minimax-01", "nemotron_h", "nemotron_h_moe", "plamo2", "qwen35",
        "qwen35moe", "qwen3next", "qwen4exp",
    }
)  # fmt: skip
"""Architectures with a running state beside attention."""

ROLLS_STATE_BACK: Final = frozenset(
    {
        "bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe",
        "qwen35", "qwen35moe", "qwen4exp",
    }
)  # fmt: skip
"""Those of HYBRID that can keep snapshots of their state to roll back to (`n_rs_seq`)."""


def is_known(architecture: str) -> bool:
    """Whether this llama.cpp can load models of `architecture`."""
    return architecture in KNOWN
