"""Tiny models of architectures that no trained test model has. All weights are zero: only their shapes matter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from pathlib import Path

from tests.engine.models.gguf_writer import Entry, gguf, tensor
from tests.make_models.gguf_file import ALIGNMENT, tokenizer

N_EMBD, N_FF, N_HEADS, N_KV_HEADS, HEAD, N_VOCAB, N_CTX = 64, 128, 4, 2, 64, 384, 8192
N_EXPERTS, N_EXPERTS_USED, FF_EXPERT = 4, 2, 32

Shapes = dict[str, tuple[int, ...]]


def write_model(path: Path, architecture: str, settings: Mapping[str, Entry], shapes: Shapes) -> Path:
    """Write a model with `settings` over the usual ones and tensors of `shapes` in ggml's order; F32, zero."""
    usual: dict[str, Entry] = {
        "vocab_size": N_VOCAB,
        "context_length": N_CTX,
        "embedding_length": N_EMBD,
        "feed_forward_length": N_FF,
        "attention.head_count": N_HEADS,
        "attention.head_count_kv": N_KV_HEADS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.layer_norm_rms_epsilon": 1e-6,
    }
    metadata: dict[str, Entry] = {"general.architecture": architecture, "general.name": path.stem}
    metadata |= {f"{architecture}.{key}": value for key, value in {**usual, **settings}.items()}
    infos, offset = [], 0
    for name, shape in shapes.items():
        infos.append(tensor(name, shape, 0, offset))
        offset += -(-prod(shape) * 4 // ALIGNMENT) * ALIGNMENT
    head = gguf(metadata | tokenizer(), infos)
    path.write_bytes(head)
    os.truncate(path, len(head) + offset)
    return path


def _outer() -> Shapes:
    embedding = (N_EMBD, N_VOCAB)
    return {"token_embd.weight": embedding, "output_norm.weight": (N_EMBD,), "output.weight": embedding}


def _attention(block: str, head: int = HEAD) -> Shapes:
    return {
        f"{block}.attn_norm.weight": (N_EMBD,),
        f"{block}.attn_q.weight": (N_EMBD, N_HEADS * head),
        f"{block}.attn_k.weight": (N_EMBD, N_KV_HEADS * head),
        f"{block}.attn_v.weight": (N_EMBD, N_KV_HEADS * head),
        f"{block}.attn_output.weight": (N_HEADS * head, N_EMBD),
    }


def _dense(block: str) -> Shapes:
    return {
        f"{block}.ffn_norm.weight": (N_EMBD,),
        f"{block}.ffn_gate.weight": (N_EMBD, N_FF),
        f"{block}.ffn_up.weight": (N_EMBD, N_FF),
        f"{block}.ffn_down.weight": (N_FF, N_EMBD),
    }


def _experts(block: str) -> Shapes:
    return {
        f"{block}.ffn_gate_inp.weight": (N_EMBD, N_EXPERTS),
        f"{block}.ffn_gate_exps.weight": (N_EMBD, FF_EXPERT, N_EXPERTS),
        f"{block}.ffn_up_exps.weight": (N_EMBD, FF_EXPERT, N_EXPERTS),
        f"{block}.ffn_down_exps.weight": (FF_EXPERT, N_EMBD, N_EXPERTS),
    }


_EXPERT_SETTINGS: dict[str, Entry] = {
    "expert_count": N_EXPERTS,
    "expert_used_count": N_EXPERTS_USED,
    "expert_feed_forward_length": FF_EXPERT,
}


def write_odd_heads(path: Path) -> Path:
    """A llama whose heads have 80 numbers, which blocks of 32 do not divide."""
    shapes = _outer()
    for layer in range(2):
        shapes |= _attention(f"blk.{layer}", 80) | _dense(f"blk.{layer}")
    settings: dict[str, Entry] = {"block_count": 2, "attention.key_length": 80, "attention.value_length": 80}
    return write_model(path, "llama", settings, shapes)


def write_gpt_oss(path: Path) -> Path:
    """A gpt-oss: experts, attention sinks, and every other layer looks back a window of 128 tokens."""
    shapes = _outer()
    for layer in range(4):
        block = f"blk.{layer}"
        shapes |= _attention(block) | _experts(block)
        shapes |= {
            f"{block}.post_attention_norm.weight": (N_EMBD,),
            f"{block}.attn_sinks.weight": (N_HEADS,),
            f"{block}.attn_output.bias": (N_EMBD,),
            f"{block}.ffn_gate_inp.bias": (N_EXPERTS,),
            f"{block}.ffn_gate_exps.bias": (FF_EXPERT, N_EXPERTS),
            f"{block}.ffn_up_exps.bias": (FF_EXPERT, N_EXPERTS),
            f"{block}.ffn_down_exps.bias": (N_EMBD, N_EXPERTS),
        }
    settings: dict[str, Entry] = {"block_count": 4, "attention.sliding_window": 128, **_EXPERT_SETTINGS}
    return write_model(path, "gpt-oss", settings, shapes)


def write_moe(path: Path) -> Path:
    """A qwen3moe: experts in every layer."""
    shapes = _outer()
    for layer in range(3):
        block = f"blk.{layer}"
        shapes |= _attention(block) | _experts(block)
        shapes |= {f"{block}.{name}.weight": (HEAD,) for name in ("attn_q_norm", "attn_k_norm")}
        shapes[f"{block}.ffn_norm.weight"] = (N_EMBD,)
    return write_model(path, "qwen3moe", {"block_count": 3, **_EXPERT_SETTINGS}, shapes)


def write_mla(path: Path) -> Path:
    """A deepseek2: one compressed row for all heads instead of keys and values."""
    rope, nope, rank, value = 64, 64, 128, 64
    shapes = _outer()
    for layer in range(3):
        block = f"blk.{layer}"
        shapes |= _dense(block)
        shapes |= {
            f"{block}.attn_norm.weight": (N_EMBD,),
            f"{block}.attn_q_a.weight": (N_EMBD, 96),
            f"{block}.attn_q_a_norm.weight": (96,),
            f"{block}.attn_q_b.weight": (96, N_HEADS * (nope + rope)),
            f"{block}.attn_kv_a_mqa.weight": (N_EMBD, rank + rope),
            f"{block}.attn_kv_a_norm.weight": (rank,),
            f"{block}.attn_k_b.weight": (nope, rank, N_HEADS),
            f"{block}.attn_v_b.weight": (rank, value, N_HEADS),
            f"{block}.attn_output.weight": (N_HEADS * value, N_EMBD),
        }
    settings: dict[str, Entry] = {
        "block_count": 3,
        "leading_dense_block_count": 3,
        "attention.head_count_kv": 1,
        "attention.key_length": rank + rope,
        "attention.value_length": rank,
        "attention.key_length_mla": nope + rope,
        "attention.value_length_mla": value,
        "attention.q_lora_rank": 96,
        "attention.kv_lora_rank": rank,
        "rope.dimension_count": rope,
        "expert_shared_count": 0,
        **_EXPERT_SETTINGS,
    }
    return write_model(path, "deepseek2", settings, shapes)
