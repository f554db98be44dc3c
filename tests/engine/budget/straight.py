"""A bundle whose memory is a straight line in everything, for budgets without llama.cpp."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.budget.budget import KvType, Segment
from engine.budget.measures import UseByDevice, Way
from engine.errors import KvTypeUnfit
from engine.models.description import Device

MIB = 1 << 20
KV_BYTES = {KvType.F16: 64, KvType.Q8_0: 34, KvType.Q4_0: 18}
"""Per layer and token, in KiB."""


@dataclass
class StraightMeasures:
    """10 layers of 100 MiB each, GPU and CPU; the drafter takes a quarter. `asked` is what was measured."""

    n_ctx_train: int = 32768
    n_layers: int = 10
    gpu: str = ""
    unfit: frozenset[KvType] = frozenset()
    asked: list[Way] = field(default_factory=list)

    def use(self, way: Way) -> UseByDevice:
        self.asked.append(way)
        if way.kv_type in self.unfit:
            raise KvTypeUnfit(f"no {way.kv_type}")
        all_layers = self.n_layers + 1
        on_gpu = 0 if not self.gpu else all_layers if way.n_gpu_layers < 0 else way.n_gpu_layers
        kv_bytes = KV_BYTES[way.kv_type] * 1024 * way.n_ctx
        taken: dict[str, dict[Segment, int]] = {}
        for device, n_layers in ((self.gpu, on_gpu), ("CPU", all_layers - on_gpu)):
            if n_layers:
                of_device = {
                    Segment.WEIGHTS: 100 * MIB * n_layers,
                    Segment.KV: kv_bytes * n_layers // 16,
                    Segment.COMPUTE: 10 * MIB,
                    Segment.OUTPUT: MIB,
                }
                if way.with_drafter:
                    of_device[Segment.DRAFTER_WEIGHTS] = 25 * MIB * n_layers
                    of_device[Segment.DRAFTER_KV] = kv_bytes * n_layers // 64
                taken[device] = of_device
        return taken


def cpu(free_mib: int, total_mib: int = 0) -> Device:
    return Device("CPU", "a computer", "cpu", free_mib * MIB, (total_mib or free_mib) * MIB)


def gpu(free_mib: int, name: str = "CUDA0", kind: str = "gpu") -> Device:
    return Device(name, "a GPU", kind, free_mib * MIB, free_mib * MIB)
