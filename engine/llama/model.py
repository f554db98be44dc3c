"""A loaded model: weights, vocabulary, what it says about itself."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from llama_cpp import llama_cpp as api

from engine.errors import Cancelled, PreconditionFailed, WrongKindOfFile
from engine.llama.context_settings import n_ctx_train_of
from engine.llama.library import LlamaLibrary
from engine.llama.load_errors import load_error
from engine.llama.log import LogRecord
from engine.llama.unused_tensors import unused_bytes
from engine.llama.vocabulary import Vocabulary
from engine.models.description import LoadedModel
from engine.models.file_kind import FileKind
from engine.models.model_file import ModelFile, ModelRole, check_model_file

ALL_LAYERS: Final = -1

# "load_tensors: offloaded 25/25 layers to GPU" (src/llama-model.cpp); the output layer counts as one.
_OFFLOADED: Final = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")


class Closable(Protocol):
    def close(self) -> None: ...


class Model:
    """A loaded model. Close it, or use it as a context manager; closing it closes what was made from it."""

    def __init__(self, library: LlamaLibrary, file: ModelFile, pointer: Any, record: LogRecord) -> None:
        """Take over `pointer`, whose opening `record` is about; use `open`."""
        self.library = library
        self.file = file
        self.used_bytes = file.header.tensor_bytes - unused_bytes(record)
        """All tensors without those that llama.cpp leaves out."""
        self.vocabulary = Vocabulary(
            api.llama_model_get_vocab(pointer), lambda: file.read_array("tokenizer.ggml.tokens")
        )
        self.n_layers = int(api.llama_model_n_layer(pointer))
        self.n_layers_offloaded = min(_offloaded(record), self.n_layers)
        self.n_embd = int(api.llama_model_n_embd(pointer))
        self.n_embd_out = int(api.llama_model_n_embd_out(pointer))
        """Width of the hidden state that its last layer gives, and that MTP heads read and give."""
        self.n_params = int(api.llama_model_n_params(pointer))
        self.n_ctx_train = n_ctx_train_of(pointer)
        self.n_swa = int(api.llama_model_n_swa(pointer))
        """Width of the sliding attention window in tokens, 0 without one."""
        self._pointer: Any = pointer
        self._dependents: list[Closable] = []

    @classmethod
    def open(
        cls,
        library: LlamaLibrary,
        path: Path,
        *,
        role: ModelRole = ModelRole.TARGET,
        n_gpu_layers: int = ALL_LAYERS,
        with_mtp: bool = False,
        on_progress: Callable[[float], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> Self:
        """Load the model at `path` as `role`.

        `with_mtp`: with the MTP head inside a target; an MTP sidecar is nothing else, and always loaded so.
        `on_progress` gets the fraction of the weights that are loaded; it and `is_cancelled` run on this thread.
        Raises FileGone, NotAModelFile, WrongKindOfFile, UnknownArchitecture, LoadFailed or Cancelled.
        """
        file = check_model_file(path, role)
        params = api.llama_model_default_params()
        params.n_gpu_layers = n_gpu_layers
        params.load_mtp = with_mtp or file.kind is FileKind.MTP_SIDECAR
        watch = _LoadWatch(on_progress, is_cancelled)
        params.progress_callback = callback = api.llama_progress_callback(watch)
        with library.log.recording() as record:
            pointer = api.llama_model_load_from_file(os.fsencode(path), params)
        del callback
        if not pointer:
            raise watch.error or load_error(path.name, record)
        model = cls(library, file, pointer, record)
        if file.kind.can_answer:
            model._require_decoder()
        return model

    def _require_decoder(self) -> None:
        """Raise, and close, unless the model writes one token after the other."""
        pointer = self._pointer
        one_by_one = api.llama_model_has_decoder(pointer) and not api.llama_model_has_encoder(pointer)
        if one_by_one and not api.llama_model_is_diffusion(pointer) and self.vocabulary.type_name != "none":
            return
        self.close()
        raise WrongKindOfFile(
            f"“{self.file.path.name}” does not write text one token after the other.",
            remedy="Choose a chat model.",
            detail=f"architecture {self.architecture}",
        )

    @property
    def pointer(self) -> Any:
        """Return llama.cpp's handle; raises PreconditionFailed once the model is closed."""
        if self._pointer is None:
            raise PreconditionFailed("The model is closed.")
        return self._pointer

    @property
    def n_vocab(self) -> int:
        return self.vocabulary.n_tokens

    @property
    def architecture(self) -> str:
        return self.file.header.architecture

    @property
    def name(self) -> str:
        return self.file.header.text("general.name") or self.file.path.stem

    @property
    def chat_template(self) -> str:
        """Return the model's own chat template in jinja, "" if it has none."""
        return self.file.header.text("tokenizer.chat_template")

    @property
    def restarts_on_rewind(self) -> bool:
        """Whether its memory is a running state: forgetting a token means evaluating the rest again."""
        return bool(api.llama_model_is_recurrent(self.pointer) or api.llama_model_is_hybrid(self.pointer))

    def describe(self) -> LoadedModel:
        return LoadedModel(
            path=str(self.file.path),
            name=self.name,
            architecture=self.architecture,
            n_params=self.n_params,
            n_vocab=self.n_vocab,
            n_layers=self.n_layers,
            n_layers_offloaded=self.n_layers_offloaded,
            n_ctx_train=self.n_ctx_train,
            file_bytes=self.file.file_bytes,
            has_chat_template=bool(self.chat_template),
        )

    def add_dependent(self, dependent: Closable) -> None:
        """Have `dependent` closed before the model: llama.cpp's contexts point into their model."""
        self._dependents.append(dependent)

    def remove_dependent(self, dependent: Closable) -> None:
        self._dependents.remove(dependent)

    def close(self) -> None:
        """Free the model and everything made from it; does nothing the second time."""
        for dependent in reversed(self._dependents[:]):
            dependent.close()
        if self._pointer is not None:
            api.llama_model_free(self._pointer)
            self._pointer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _LoadWatch:
    """llama.cpp's progress callback. An exception cannot pass through C: it is kept in `error` and ends the load."""

    def __init__(
        self, on_progress: Callable[[float], None] | None, is_cancelled: Callable[[], bool] | None
    ) -> None:
        self.error: Exception | None = None
        self._on_progress = on_progress
        self._is_cancelled = is_cancelled

    def __call__(self, fraction: float, _: object) -> bool:
        try:
            if self._is_cancelled is not None and self._is_cancelled():
                raise Cancelled("Loading was stopped.")
            if self._on_progress is not None:
                self._on_progress(fraction)
        except Exception as error:  # noqa: BLE001
            self.error = error
        return self.error is None


def _offloaded(record: LogRecord) -> int:
    match = _OFFLOADED.search(record.find("layers to GPU"))
    return int(match[1]) if match is not None else 0
