"""Errors that a person reads: one sentence what, one what to do, the detail for the log."""

from __future__ import annotations


class SlipstreamError(Exception):
    """A failure with a sentence for the person.

    `sentence` says what is wrong, `remedy` what can be done, `detail` is for the log. The class name is the error's
    `kind` when it crosses a process boundary.
    """

    def __init__(self, sentence: str, *, remedy: str = "", detail: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.remedy = remedy
        self.detail = detail

    @property
    def kind(self) -> str:
        return type(self).__name__


class FileGone(SlipstreamError):
    """The chosen file does not exist or cannot be read any more."""


class NotAModelFile(SlipstreamError):
    """The file is not a GGUF, is truncated or is damaged."""


class UnknownArchitecture(SlipstreamError):
    """The GGUF's architecture is not known to this llama.cpp."""


class WrongKindOfFile(SlipstreamError):
    """A projector, an adapter or a drafter was opened where a target is needed, or the other way round."""


class NoSuchModel(SlipstreamError):
    """No model on this computer, or more than one, is called that."""


class NotOurs(SlipstreamError):
    """What was to be deleted belongs to another program or to the person."""


class VocabularyMismatch(SlipstreamError):
    """Target and drafter do not share a vocabulary."""


class NoSparseFiles(SlipstreamError):
    """The disk of the cache cannot keep files with holes."""


class PromptTooLong(SlipstreamError):
    """The prompt does not fit the context."""


class EmptyPrompt(SlipstreamError):
    """There is nothing to answer."""


class ContextTooLarge(SlipstreamError):
    """The context does not fit the memory or the model's limit."""


class KvTypeUnfit(SlipstreamError):
    """The model's cache cannot be stored in the chosen type."""


class MemoryNotTold(SlipstreamError):
    """This build of llama.cpp has no account of memory: what a model takes can only be estimated."""


class PairUnfit(SlipstreamError):
    """The drafter was not made for the target."""


class DrafterCannotRun(SlipstreamError):
    """The drafter is of a kind that this version cannot draft with."""


class TemplateFailed(SlipstreamError):
    """The model's chat template raised, looped or grew without bound."""


class BadOption(SlipstreamError):
    """A setting is out of range."""


class BadSuite(SlipstreamError):
    """A file of tasks is not one."""


class LoadFailed(SlipstreamError):
    """llama.cpp could not load a model or create a context."""


class DecodeFailed(SlipstreamError):
    """llama.cpp could not evaluate a batch."""


class PreconditionFailed(SlipstreamError):
    """A call would have violated one of llama.cpp's asserted preconditions; it was not made."""


class UnsafeName(SlipstreamError):
    """A file name from the network would leave the folder or cannot exist on some system."""


class DiskFull(SlipstreamError):
    """The disk has too little room for what is still to come."""


class ChangedOnHub(SlipstreamError):
    """The Hub has another file than the one that was checked."""


class DamagedDownload(SlipstreamError):
    """What arrived, or what lies on the disk, is not the file that it should be."""


class FileInUse(SlipstreamError):
    """A file cannot be deleted while a program has it open."""


class UnreadableRecord(SlipstreamError):
    """What a bundle needs cannot be told, as the record of it cannot be read."""


class DownloadBroken(SlipstreamError):
    """A download cannot go on for a reason that is not the Hub's."""


class WorkerDied(SlipstreamError):
    """The process that runs the models ended by itself."""


class Cancelled(SlipstreamError):
    """The person stopped the work."""


class DamagedCatalogue(SlipstreamError):
    """The catalogue that ships with Slipstream cannot be read."""


class Offline(SlipstreamError):
    """The Hub cannot be reached: a state of the computer, not a fault of anybody."""


class HubTrouble(SlipstreamError):
    """The Hub answered with a failure of its own, or with something that makes no sense."""


class RateLimited(SlipstreamError):
    """The Hub asks to wait."""


class RepositoryNotFound(SlipstreamError):
    """There is no such repository, or it is private."""


class NotInRepository(RepositoryNotFound):
    """The repository is there, this file or version of it is not."""


class GatedRepository(SlipstreamError):
    """The repository's terms must be accepted first."""


class TokenRefused(SlipstreamError):
    """The Hub does not accept the token."""


class TokenNotKept(SlipstreamError):
    """The token's file cannot be written or removed."""
