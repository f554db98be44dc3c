"""What tests ask of a service over a pretend worker."""

from __future__ import annotations

from engine.models.bundle import Bundle
from engine.service import Service
from engine.speculation.settings import GenerationSettings
from engine.worker.messages import Loaded, LoadSettings, Prompt, Ready
from tests.engine.worker.listener import Listener

BUNDLE = Bundle("Pretend", "pretend.gguf")


def load(service: Service, listener: Listener, bundle: Bundle = BUNDLE) -> None:
    job = service.load(bundle, LoadSettings())
    listener.wait_for(Loaded, lambda event: event.job == job)


def ask(service: Service, raw: str) -> int:
    return service.generate(Prompt(raw=raw), GenerationSettings(), speculative=True)


def worker_pid(listener: Listener) -> int:
    listener.wait_for(Ready)
    return listener.of(Ready)[-1].pid
