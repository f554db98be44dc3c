"""Facts of the computer, the bundles and the Hub that ScriptedModels tells of."""

from __future__ import annotations

import msgspec

from engine.budget.budget import (
    CONTEXT_LADDER,
    Budget,
    ContextBudget,
    DeviceUse,
    KvType,
    Segment,
    SpeedOrContext,
)
from engine.hub.listing import DrafterOption, HubModel, HubRepo, Quantisation
from engine.models.bundle import NGRAM_DRAFTER, Bundle, DrafterKind
from engine.models.catalogue import CatalogueEntry, MeasuredSpeedup, MemoryFacts
from engine.models.description import Device
from engine.models.remote import RemoteBundle, RemoteFile
from engine.models_events import Offer
from engine.models_service import BudgetRequest
from engine.recommend.advice import Advice, ComputerSpeed, DeviceSpeed, Fit, SpeedRange
from engine.shelf.installed_model import InstalledModel, Place

GIB, MIB = 2**30, 2**20
GPU = Device("CUDA0", "NVIDIA GeForce RTX 4070", "gpu", int(11.2 * GIB), 12 * GIB)
CPU = Device("CPU", "AMD Ryzen 7 7700", "cpu", 21 * GIB, 32 * GIB)
SPEED = ComputerSpeed((DeviceSpeed("CUDA0", 431e9, 212.0, 91_000_000, "2026-11-28"),))
_REVISION, _SHA = "b8093469" + "0" * 32, "34be82b1" + "0" * 56


def _file(repo: str, name: str, size_bytes: int) -> RemoteFile:
    return RemoteFile(repo, name, _REVISION, size_bytes, _SHA)


def _entry(
    key: str,
    name: str,
    target: RemoteFile,
    drafter: RemoteFile | None,
    good_at: str,
    about: str,
    *,
    kind: DrafterKind = DrafterKind.MTP,
    params: float = 8e9,
    n_ctx: int = 131_072,
    kv: int = 57_344,
    licence: str = "apache-2.0",
    is_gated: bool = False,
    gain: tuple[float, float] = (1.1, 1.45),
) -> CatalogueEntry:
    bundle = RemoteBundle(
        key,
        name,
        (target,),
        kind,
        (drafter,) if drafter else (),
        draft_length=3,
        licence=licence,
        is_gated=is_gated,
        n_ctx_train=n_ctx,
    )
    speedup = MeasuredSpeedup(*gain, "NVIDIA RTX PRO 6000", "gpu", "llama.cpp pull request 23398")
    return CatalogueEntry(bundle, good_at, about, int(params), MemoryFacts(42, kv), (speedup,), True)


_GEMMA = (
    "A model by Google that answers in many languages, follows instructions closely and is quick for its size. "
    "Its drafter is a head of four layers that shares the model's own cache, so guessing ahead costs "
    "hardly any memory."
)
_QWEN = (
    "A dense model by Alibaba that is strong in code, mathematics and tool use. The drafter is a head inside the "
    "file itself: there is nothing else to download."
)
ENTRIES = (
    _entry(
        "gemma-4-e4b",
        "Gemma 4 E4B",
        _file("ggml-org/gemma-4-E4B-it-GGUF", "gemma-4-E4B-it-Q4_0.gguf", 4_977_171_584),
        _file("ggml-org/gemma-4-E4B-it-GGUF", "mtp-gemma-4-E4B-it-Q8_0.gguf", 98_653_280),
        "Everyday questions, writing, many languages",
        _GEMMA,
    ),
    _entry(
        "qwen-3.5-9b",
        "Qwen3.5 9B",
        _file("unsloth/Qwen3.5-9B-MTP-GGUF", "Qwen3.5-9B-Q4_K_M.gguf", 5_868_826_976),
        None,
        "Code, mathematics and tool use",
        _QWEN,
        params=9e9,
        n_ctx=262_144,
        kv=32_768,
        gain=(1.3, 2.0),
    ),
    _entry(
        "gemma-4-12b",
        "Gemma 4 12B",
        _file("unsloth/gemma-4-12b-it-GGUF", "gemma-4-12b-it-Q4_K_M.gguf", 7_121_861_440),
        _file("unsloth/gemma-4-12b-it-GGUF", "mtp-gemma-4-12b-it.gguf", 465_109_248),
        "Longer texts, careful answers",
        _GEMMA,
        params=12e9,
        n_ctx=262_144,
        kv=98_304,
    ),
    _entry(
        "gpt-oss-20b",
        "gpt-oss 20B",
        _file("ggml-org/gpt-oss-20b-GGUF", "gpt-oss-20b-MXFP4.gguf", 12_109_566_560),
        _file("ggml-org/gpt-oss-20b-GGUF", "eagle3-gpt-oss-20b-Q8_0.gguf", 889_192_448),
        "Reasoning step by step",
        "A mixture of experts by OpenAI: of its weights, a token reads only a part, so it is quick for its size.",
        kind=DrafterKind.EAGLE3,
        params=20.9e9,
        kv=49_152,
    ),
    _entry(
        "qwen-3.6-35b-a3b",
        "Qwen3.6 35B A3B",
        _file("unsloth/Qwen3.6-35B-A3B-MTP-GGUF", "Qwen3.6-35B-A3B-UD-Q4_K_M.gguf", 22_663_387_424),
        None,
        "Code and long documents",
        _QWEN,
        params=35e9,
        n_ctx=262_144,
        kv=20_480,
    ),
    _entry(
        "llama-3.3-70b",
        "Llama 3.3 70B",
        _file("meta-llama/Llama-3.3-70B-Instruct-GGUF", "Llama-3.3-70B-Instruct-Q4_K_M.gguf", 42_520_395_584),
        _file("meta-llama/Llama-3.2-1B-Instruct-GGUF", "Llama-3.2-1B-Instruct-Q4_K_M.gguf", 807_694_464),
        "Knowledge and careful writing",
        "A large model by Meta. The small model of the same family guesses ahead.",
        kind=DrafterKind.MODEL,
        params=70e9,
        kv=327_680,
        licence="llama3.3",
        is_gated=True,
    ),
    _entry(
        "qwen-2.5-coder-7b",
        "Qwen2.5 Coder 7B",
        _file("Qwen/Qwen2.5-Coder-7B-Instruct-GGUF", "qwen2.5-coder-7b-instruct-q4_k_m.gguf", 4_683_073_536),
        _file("Qwen/Qwen2.5-Coder-0.5B-GGUF", "qwen2.5-coder-0.5b-instruct-q8_0.gguf", 531_067_040),
        "Code in many languages",
        "A model for code with a small sister of the same vocabulary, which guesses ahead.",
        kind=DrafterKind.MODEL,
        params=7.6e9,
        n_ctx=32_768,
        gain=(1.4, 2.2),
    ),
    _entry(
        "gemma-4-e2b",
        "Gemma 4 E2B",
        _file("unsloth/gemma-4-E2B-it-GGUF", "gemma-4-E2B-it-Q4_K_M.gguf", 3_106_738_272),
        _file("ggml-org/gemma-4-E2B-it-GGUF", "mtp-gemma-4-E2B-it-Q8_0.gguf", 97_817_696),
        "Quick answers on small computers",
        _GEMMA,
        params=5e9,
    ),
    _entry(
        "qwen-3.5-4b",
        "Qwen3.5 4B",
        _file("unsloth/Qwen3.5-4B-MTP-GGUF", "Qwen3.5-4B-UD-Q4_K_XL.gguf", 2_912_000_000),
        None,
        "Code and tools on small computers",
        _QWEN,
        params=4e9,
        n_ctx=262_144,
    ),
    _entry(
        "smollm3-3b",
        "SmolLM3 3B",
        _file("ggml-org/SmolLM3-3B-GGUF", "SmolLM3-Q4_K_M.gguf", 1_915_305_312),
        None,
        "Simple questions, everything open",
        "A small model by Hugging Face whose data and training are open. Words seen before are guessed.",
        kind=DrafterKind.NGRAM,
        params=3e9,
        n_ctx=65_536,
    ),
)

_FITS = {
    "gpt-oss-20b": (
        Fit.PARTLY_ON_CPU,
        "13.6 GiB are needed, 11.2 GiB of the GPU are free: 18 of 24 layers fit.",
    ),
    "qwen-3.6-35b-a3b": (Fit.PARTLY_ON_CPU, "22.8 GiB are needed, 11.2 GiB of the GPU are free."),
    "llama-3.3-70b": (Fit.DOES_NOT_FIT, "42.9 GiB are needed, 32.2 GiB are free on all devices together."),
    "gemma-4-12b": (Fit.TIGHT, "8.9 of 11.2 GiB with 8,192 tokens."),
}
_RANKS = {"qwen-3.5-9b": 1, "gemma-4-e4b": 2, "qwen-2.5-coder-7b": 3}
_NGRAM_GAIN = (1.0, 1.2)
_LAYER_SPEEDS = {"gpt-oss-20b": 0.6, "qwen-3.6-35b-a3b": 0.5}


def advice_of(entry: CatalogueEntry, *, is_measured: bool = False) -> Advice:
    key = entry.bundle.id
    fit, sentence = _FITS.get(key, (Fit.FITS, "It fits with room to spare."))
    plain = 431e9 / entry.bundle.target[0].size_bytes * _LAYER_SPEEDS.get(key, 1.0)
    low, high = (entry.speedups[0].low, entry.speedups[0].high) if entry.speedups else (1.0, 1.0)
    if entry.bundle.drafter_kind is DrafterKind.NGRAM:
        low, high = _NGRAM_GAIN
    return Advice(
        key,
        fit,
        sentence,
        plain=None if fit is Fit.DOES_NOT_FIT else SpeedRange(plain * 0.7, plain * 0.9, is_measured),
        speculative=None
        if fit is Fit.DOES_NOT_FIT
        else SpeedRange(plain * 0.7 * low, plain * 0.9 * high, is_measured),
        rank=_RANKS.get(key, 0),
        sentence="The fastest of those that leave room for 8,192 tokens; Gemma 4 12B writes better and is half as fast."
        if key in _RANKS
        else "",
        largest_n_ctx=49_152,
        total_bytes=entry.bundle.size_bytes + GIB,
    )


def installed_offer(offer: Offer) -> Offer:
    """Return `offer` as it is once it was downloaded."""
    remote = offer.remote
    assert remote is not None
    bundle = Bundle(offer.name, f"/models/{remote.target[0].name}", NGRAM_DRAFTER)
    model = InstalledModel(
        offer.id,
        bundle,
        Place.DOWNLOADED,
        remote.size_bytes,
        n_ctx_train=remote.n_ctx_train,
        quantisation="Q4_K_M",
        remote_id=remote.id,
        licence=remote.licence,
    )
    return msgspec.structs.replace(offer, installed=model)


def offer_of(remote: RemoteBundle) -> Offer:
    """Return the offer that a bundle of the Hub has become once it was downloaded."""
    bundle = Bundle(remote.name, f"/models/{remote.target[0].name}", NGRAM_DRAFTER)
    model = InstalledModel(remote.id, bundle, Place.DOWNLOADED, remote.size_bytes, remote_id=remote.id)
    return Offer(remote.id, remote.name, Advice(remote.id, Fit.UNKNOWN, ""), None, model)


def _here(key: str, name: str, path: str, place: Place, size_bytes: int, **facts: object) -> Offer:
    model = InstalledModel(key, Bundle(name, path), place, size_bytes)
    model = msgspec.structs.replace(model, **facts)
    plain = 431e9 / size_bytes * 0.4
    speed = SpeedRange(plain * 0.95, plain * 1.05, is_measured=True)
    return Offer(key, name, Advice(key, Fit.FITS, "It fits with room to spare.", speed, speed), None, model)


HERE = (
    _here(
        "starter",
        "Starter: SmolLM2 135M",
        "/models/smollm2-135m.gguf",
        Place.STARTER,
        98_000_000,
        architecture="llama",
        quantisation="Q4_1",
        n_ctx_train=8192,
        n_params=134_515_008,
        licence="apache-2.0",
    ),
    _here(
        "qwen2.5-coder-1.5b",
        "Qwen2.5 Coder 1.5B",
        "/home/ada/.lmstudio/models/qwen2.5-coder-1.5b-instruct-q8_0.gguf",
        Place.LM_STUDIO,
        1_646_572_512,
        architecture="qwen2",
        quantisation="Q8_0",
        n_ctx_train=32_768,
        n_params=1_543_714_304,
    ),
)
CURATED = tuple(Offer(one.bundle.id, one.bundle.name, advice_of(one), one) for one in ENTRIES)
BY_RANK = sorted(CURATED, key=lambda offer: offer.advice.rank or 99)
OFFERS = (*BY_RANK[:7], installed_offer(BY_RANK[7]), *BY_RANK[8:], *HERE)

_OWNERS = ("unsloth", "bartowski", "ggml-org", "lmstudio-community")
_FAMILIES = ("Qwen3.8-27B", "Qwen3.5-4B", "gemma-4-31B-it", "Muse-Glimmer-7B", "Granite-4-8B", "Phi-5-mini")
HUB_MODELS = tuple(
    HubModel(
        f"{_OWNERS[i % 4]}/{_FAMILIES[i % 6]}{f'-v{i // 12 + 1}' if i >= 12 else ''}-GGUF",
        downloads=1_240_000 // (i + 1),
        likes=900 // (i + 1),
        architecture="qwen35",
        n_params=int((27e9, 4e9, 31e9, 7e9, 8e9, 3.8e9)[i % 6]),
        n_ctx_train=262_144,
        licence=("apache-2.0", "gemma")[i % 2],
        gate="auto" if i % 12 == 11 else "",
        drafter_files=("MTP/mtp-Q8_0.gguf",) if i % 3 == 0 else (),
    )
    for i in range(600)
)


def repo_page(repo: str) -> HubRepo:
    model = next((one for one in HUB_MODELS if one.repo == repo), HubModel(repo, n_ctx_train=131_072))
    base = max(model.n_params, 4e9)
    sizes = {"UD-IQ2_XXS": 0.33, "Q4_0": 0.57, "Q4_K_M": 0.62, "Q8_0": 1.07, "BF16": 2.0}
    versions = tuple(
        Quantisation(label, (_file(repo, f"{model.name}-{label}.gguf", int(base * share)),))
        for label, share in sizes.items()
    )
    head = _file(repo, "MTP/mtp-Q8_0.gguf", 514_687_104)
    drafters = (
        DrafterOption(DrafterKind.MTP, "mtp-Q8_0.gguf", (head,)),
        DrafterOption(
            DrafterKind.DFLASH, "dflash-9B-Q8_0.gguf", (_file(repo, "dflash-9B-Q8_0.gguf", 1_200_000_000),)
        ),
        DrafterOption(DrafterKind.NGRAM, "Words seen before (n-gram)"),
    )
    readme = (
        f"# {model.name}\n\nFiles of **{model.name}** for llama.cpp.\n\n- made with imatrix\n- MTP head\n"
    )
    return HubRepo(model, _REVISION, versions, drafters, readme=readme, licence_name=model.licence)


def judged(repo: HubRepo) -> HubRepo:
    """Return `repo` with the reason at the drafter that was trained for another model."""
    reason = "It was trained for a model of hidden size 4096; this one has 5120."
    drafters = tuple(
        msgspec.structs.replace(one, reason=reason) if one.kind is DrafterKind.DFLASH else one
        for one in repo.drafters
    )
    return msgspec.structs.replace(repo, drafters=drafters)


def _facts(request: BudgetRequest) -> tuple[int, int, int, int, DrafterKind]:
    """Return weights, drafter weights, cache bytes per token, longest context and drafter of what is asked about."""
    if request.remote is not None:
        weights = sum(file.size_bytes for file in request.remote.target)
        drafter = sum(file.size_bytes for file in request.remote.drafter)
        entry = next((one for one in ENTRIES if one.bundle.target == request.remote.target), None)
        kv = entry.memory.kv_bytes_per_token if entry else 65_536
        return weights, drafter, kv, request.remote.n_ctx_train or 32_768, request.remote.drafter_kind
    assert request.bundle is not None
    models = [offer.installed for offer in OFFERS if offer.installed]
    here = next((one for one in models if one.bundle.target == request.bundle.target), models[0])
    return here.size_bytes, 0, 24_576, here.n_ctx_train or 8192, request.bundle.drafter.kind


def budget_of(request: BudgetRequest) -> Budget:
    """Return what `request` takes on the GPU and beside it, by simple sums."""
    weights, drafter, kv, n_ctx_train, kind = _facts(request)
    parts = {KvType.F16: 1.0, KvType.Q8_0: 0.53, KvType.Q4_0: 0.28}

    def use(n_ctx: int, kv_type: KvType) -> ContextBudget:
        cache = int(kv * n_ctx * parts[kv_type])
        segments = {
            Segment.WEIGHTS: weights,
            Segment.KV: cache,
            Segment.COMPUTE: 310 * MIB + n_ctx * 512,
            Segment.RESERVE: 400 * MIB,
        }
        if kind.has_weights:
            segments |= {
                Segment.DRAFTER_WEIGHTS: drafter or 180 * MIB,
                Segment.DRAFTER_KV: cache // 12,
                Segment.DRAFTER_COMPUTE: 96 * MIB,
            }
        if request.race:
            segments[Segment.RACE] = cache + 310 * MIB
        host = {Segment.OUTPUT: 2 * MIB, Segment.WEIGHTS: weights // 18}
        total = sum(segments.values())
        short = "CUDA0" if total > GPU.memory_free_bytes else ""
        return ContextBudget(n_ctx, kv_type, (DeviceUse("CUDA0", segments), DeviceUse("CPU", host)), short)

    def largest(kv_type: KvType) -> int:
        fitting = [n for n in range(256, n_ctx_train + 1, 256) if use(n, kv_type).fits]
        return fitting[-1] if fitting else 0

    ladder = request.contexts or tuple(n for n in CONTEXT_LADDER if n <= n_ctx_train)
    fits = {kv_type: largest(kv_type) for kv_type in request.kv_types}
    choice = None
    if kind.has_weights and fits[request.kv_types[0]] < n_ctx_train:
        alone = msgspec.structs.replace(request, remote=_without_drafter(request.remote))
        without = budget_of(alone).largest_fit[request.kv_types[0]] if alone.remote else 0
        if without > fits[request.kv_types[0]]:
            choice = SpeedOrContext(n_ctx_train, fits[request.kv_types[0]], without)
    return Budget(
        (GPU, CPU),
        tuple(use(n, kv_type) for kv_type in request.kv_types for n in ladder),
        fits,
        n_ctx_train,
        42,
        speed_or_context=choice,
        error_fraction=0.0 if request.bundle else 0.05,
    )


def _without_drafter(remote: RemoteBundle | None) -> RemoteBundle | None:
    return msgspec.structs.replace(remote, drafter_kind=DrafterKind.NGRAM, drafter=()) if remote else None
