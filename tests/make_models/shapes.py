"""What tensors and settings each architecture has, at the size of the trained models.

Shapes are in numpy's order, (rows, row length): ggml's reversed. Sources: src/models/*.cpp of llama.cpp.
"""

from __future__ import annotations

from typing import Final

from tests.engine.models.gguf_writer import Entry

N_EMBD, N_FF, N_HEADS, N_KV_HEADS, HEAD = 64, 128, 2, 1, 64
N_VOCAB: Final = 384
N_CTX: Final = 4096
N_EXPERTS, N_EXPERTS_USED, FF_EXPERT = 4, 2, 32
WINDOW: Final = 32
BLOCK_SIZE: Final = 8
TARGET_LAYERS: Final = [1, 2, 3]

Shapes = dict[str, tuple[int, ...]]
Settings = dict[str, Entry]


def settings(n_blocks: int, n_embd: int = N_EMBD) -> Settings:
    """Return the keys that every architecture needs."""
    return {
        "vocab_size": N_VOCAB,
        "context_length": N_CTX,
        "embedding_length": n_embd,
        "block_count": n_blocks,
        "feed_forward_length": N_FF,
        "attention.head_count": N_HEADS,
        "attention.head_count_kv": N_KV_HEADS,
        "attention.key_length": HEAD,
        "attention.value_length": HEAD,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 10000.0,
    }


def outer(n_embd: int = N_EMBD) -> Shapes:
    return {
        "token_embd.weight": (N_VOCAB, n_embd),
        "output_norm.weight": (n_embd,),
        "output.weight": (N_VOCAB, n_embd),
    }


def norms(block: str, *names: str, width: int = N_EMBD) -> Shapes:
    return {f"{block}.{name}.weight": (width,) for name in names}


def attention(block: str, n_embd: int = N_EMBD, n_input: int = 0) -> Shapes:
    """Return queries, keys, values and output; `n_input` is what the first three read, `n_embd` if 0."""
    n_input = n_input or n_embd
    return {
        f"{block}.attn_q.weight": (N_HEADS * HEAD, n_input),
        f"{block}.attn_k.weight": (N_KV_HEADS * HEAD, n_input),
        f"{block}.attn_v.weight": (N_KV_HEADS * HEAD, n_input),
        f"{block}.attn_output.weight": (n_embd, N_HEADS * HEAD),
    }


def fused_attention(block: str) -> Shapes:
    return {
        f"{block}.attn_qkv.weight": ((N_HEADS + 2 * N_KV_HEADS) * HEAD, N_EMBD),
        f"{block}.attn_output.weight": (N_EMBD, N_HEADS * HEAD),
    }


def dense(block: str, n_embd: int = N_EMBD) -> Shapes:
    return {
        f"{block}.ffn_gate.weight": (N_FF, n_embd),
        f"{block}.ffn_up.weight": (N_FF, n_embd),
        f"{block}.ffn_down.weight": (n_embd, N_FF),
    }


def experts(block: str) -> Shapes:
    """Return a router, routed experts and a shared one."""
    return {
        f"{block}.ffn_gate_inp.weight": (N_EXPERTS, N_EMBD),
        f"{block}.exp_probs_b.bias": (N_EXPERTS,),
        f"{block}.ffn_gate_exps.weight": (N_EXPERTS, FF_EXPERT, N_EMBD),
        f"{block}.ffn_up_exps.weight": (N_EXPERTS, FF_EXPERT, N_EMBD),
        f"{block}.ffn_down_exps.weight": (N_EXPERTS, N_EMBD, FF_EXPERT),
        f"{block}.ffn_gate_shexp.weight": (FF_EXPERT, N_EMBD),
        f"{block}.ffn_up_shexp.weight": (FF_EXPERT, N_EMBD),
        f"{block}.ffn_down_shexp.weight": (N_EMBD, FF_EXPERT),
    }


def mtp_head(block: str) -> Shapes:
    """Return what an MTP block has beside an ordinary one."""
    return {
        f"{block}.nextn.eh_proj.weight": (N_EMBD, 2 * N_EMBD),
        **norms(f"{block}.nextn", "enorm", "hnorm", "shared_head_norm"),
    }


def qwen3(n_layers: int) -> Shapes:
    shapes = outer()
    for layer in range(n_layers):
        block = f"blk.{layer}"
        shapes |= attention(block) | dense(block) | norms(block, "attn_norm", "ffn_norm")
        shapes |= norms(block, "attn_q_norm", "attn_k_norm", width=HEAD)
    return shapes


MIMO2_TRUNK, MIMO2_HEADS = 3, 2


def mimo2() -> Shapes:
    """A trunk and chained MTP heads; the MTP graph asserts that queries, keys and values are one tensor (mimo2.cpp)."""
    shapes = outer()
    for layer in range(MIMO2_TRUNK + MIMO2_HEADS):
        block = f"blk.{layer}"
        shapes |= fused_attention(block) | dense(block) | norms(block, "attn_norm", "ffn_norm")
        if layer >= MIMO2_TRUNK:
            shapes |= mtp_head(block) | norms(block, "layer_output_norm")
    return shapes


def mimo2_settings() -> Settings:
    more: Settings = {
        "expert_feed_forward_length": 0,
        "attention.sliding_window": WINDOW,
        "attention.sliding_window_pattern": [True, True, False, True, True],
        "rope.freq_base_swa": 10000.0,
        "rope.dimension_count": HEAD,
        "nextn_predict_layers": MIMO2_HEADS,
    }
    return settings(MIMO2_TRUNK + MIMO2_HEADS) | more


GLM4MOE_TRUNK: Final = 3


def glm4moe() -> Shapes:
    """A dense layer, two with experts, and an MTP head with experts."""
    shapes = outer()
    for layer in range(GLM4MOE_TRUNK + 1):
        block = f"blk.{layer}"
        shapes |= attention(block) | norms(block, "attn_norm", "post_attention_norm")
        shapes |= experts(block) if layer else dense(block)
    return shapes | mtp_head(f"blk.{GLM4MOE_TRUNK}")


def glm4moe_settings() -> Settings:
    return settings(GLM4MOE_TRUNK + 1) | {
        "expert_feed_forward_length": FF_EXPERT,
        "expert_count": N_EXPERTS,
        "expert_used_count": N_EXPERTS_USED,
        "expert_shared_count": 1,
        "leading_dense_block_count": 1,
        "expert_weights_scale": 1.0,
        "expert_weights_norm": True,
        "expert_gating_func": 2,
        "rope.dimension_count": HEAD // 2,
        "nextn_predict_layers": 1,
    }


def eagle3(n_embd: int = N_EMBD, *, own_tokens: bool = False, norm_before_fc: bool = False) -> Shapes:
    """One block whose attention reads the token and the target's hidden state side by side."""
    n_states = len(TARGET_LAYERS) * N_EMBD
    shapes: Shapes = {"fc.weight": (n_embd, n_states), "output_norm.weight": (n_embd,)}
    if norm_before_fc:
        shapes["enc.output_norm.weight"] = (n_states,)
    if own_tokens:
        shapes |= outer(n_embd)
    shapes |= norms("blk.0", "attn_norm", "attn_norm_2", "ffn_norm", width=n_embd)
    return shapes | attention("blk.0", n_embd, 2 * n_embd) | dense("blk.0", n_embd)


def eagle3_settings(n_embd: int = N_EMBD) -> Settings:
    return settings(1, n_embd) | {"target_layers": TARGET_LAYERS, "target_hidden_size": N_EMBD}


def dflash(n_blocks: int = 2, *, own_tokens: bool = False) -> Shapes:
    shapes: Shapes = {
        "fc.weight": (N_EMBD, len(TARGET_LAYERS) * N_EMBD),
        "enc.output_norm.weight": (N_EMBD,),
        "output_norm.weight": (N_EMBD,),
    }
    if own_tokens:
        shapes |= outer()
    for number in range(n_blocks):
        block = f"blk.{number}"
        shapes |= attention(block) | dense(block) | norms(block, "attn_norm", "ffn_norm")
        shapes |= norms(block, "attn_q_norm", "attn_k_norm", width=HEAD)
    return shapes


def dflash_settings(n_blocks: int = 2) -> Settings:
    return settings(n_blocks) | {"block_size": BLOCK_SIZE, "target_layers": TARGET_LAYERS}


CONV_KERNEL, CONV_GROUP, SELECTOR_RANK, SELECTOR_TOP_K = 2, 16, 8, 4


def dflash2_parts(n_blocks: int = 2) -> Shapes:
    """Return what DFlash-2 has beside DFlash: a selector, and convolutions before and after attention and FFN."""
    shapes: Shapes = {
        "selector_predecessor.weight": (N_VOCAB, SELECTOR_RANK),
        "selector_successor.weight": (N_VOCAB, SELECTOR_RANK),
        "selector_hidden.weight": (SELECTOR_RANK, N_EMBD),
    }
    for block in range(n_blocks):
        for part in ("attn", "ffn"):
            shapes[f"blk.{block}.{part}_conv_base"] = (2, CONV_KERNEL, N_EMBD)
            shapes[f"blk.{block}.{part}_conv_proj.weight"] = (2 * CONV_KERNEL * N_EMBD // CONV_GROUP, N_EMBD)
    return shapes


def dflash2_settings() -> Settings:
    return dflash_settings() | {
        "conv_kernel_size": CONV_KERNEL,
        "conv_group_size": CONV_GROUP,
        "selector_rank": SELECTOR_RANK,
        "selector_top_k": SELECTOR_TOP_K,
    }
