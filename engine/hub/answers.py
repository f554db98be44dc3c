"""The Hub's JSON, as far as it is used. A mirror may leave out anything, and then the default stands."""

from __future__ import annotations

import msgspec

from engine.hub.file_names import NamedAs, named_as
from engine.hub.listing import HubModel
from engine.models.remote import RemoteFile

_MAX_NUMBER = 2**62


class Lfs(msgspec.Struct, frozen=True):
    """`sha256` among siblings, `oid` in a tree."""

    sha256: str | None = None
    oid: str | None = None
    size: int | None = None


class Sibling(msgspec.Struct, frozen=True):
    rfilename: str
    size: int | None = None
    lfs: Lfs | None = None


class TreeEntry(msgspec.Struct, frozen=True):
    """An entry of a tree and of paths-info."""

    path: str
    type: str = "file"
    size: int | None = None
    lfs: Lfs | None = None


class Gguf(msgspec.Struct, frozen=True):
    """What the Hub read from one of the repository's GGUF files."""

    total: int | None = None
    architecture: str | None = None
    context_length: int | None = None


class Model(msgspec.Struct, frozen=True, rename={"last_modified": "lastModified", "card": "cardData"}):
    """A repository. `card` is what its author wrote in the README's head: anything at all."""

    id: str
    sha: str | None = None
    downloads: int | None = None
    likes: int | None = None
    last_modified: str | None = None
    gated: bool | str | None = None
    tags: list[str] | None = None
    gguf: Gguf | None = None
    siblings: list[Sibling] | None = None
    card: msgspec.Raw = msgspec.Raw(b"null")


class WhoAmI(msgspec.Struct, frozen=True):
    name: str


def hub_model(model: Model) -> HubModel:
    """Return a repository as lists show it."""
    gguf = model.gguf or Gguf()
    return HubModel(
        repo=model.id,
        downloads=_count(model.downloads),
        likes=_count(model.likes),
        updated_at=model.last_modified or "",
        architecture=gguf.architecture or "",
        n_params=_count(gguf.total),
        n_ctx_train=_count(gguf.context_length),
        licence=licence(model),
        gate=gate(model),
        drafter_files=tuple(
            sibling.rfilename
            for sibling in model.siblings or ()
            if named_as(sibling.rfilename, model.id) is NamedAs.DRAFTER
        ),
    )


def licence(model: Model) -> str:
    """Return the licence's tag; "" if the author gave none."""
    tagged = next((tag[8:] for tag in model.tags or () if tag.startswith("license:")), "")
    return tagged or _card_text(model, "license")


def licence_name(model: Model) -> str:
    """Return the name that the author gives to a licence that has no tag of its own, else the tag."""
    return _card_text(model, "license_name") or licence(model)


def gate(model: Model) -> str:
    """Return "", "auto" or "manual"; a gate of another kind counts as "manual"."""
    if not model.gated:
        return ""
    return "auto" if model.gated == "auto" else "manual"


def sibling_file(repo: str, revision: str, sibling: Sibling) -> RemoteFile:
    return _file(repo, sibling.rfilename, revision, sibling.size, sibling.lfs)


def entry_file(repo: str, revision: str, entry: TreeEntry) -> RemoteFile:
    return _file(repo, entry.path, revision, entry.size, entry.lfs)


def _file(repo: str, path: str, revision: str, size: int | None, lfs: Lfs | None) -> RemoteFile:
    lfs = lfs or Lfs()
    sha256 = (lfs.sha256 or lfs.oid or "").removeprefix("sha256:").lower()
    is_sha256 = len(sha256) == 64 and all(c in "0123456789abcdef" for c in sha256)
    return RemoteFile(repo, path, revision, _count(lfs.size or size), sha256 if is_sha256 else "")


def _card_text(model: Model, key: str) -> str:
    """Return the text at `key` of the card, the first where there are several; "" for anything else."""
    try:
        told = msgspec.json.decode(model.card, type=dict[str, msgspec.Raw])
        value = msgspec.json.decode(told[key], type=str | list[str])
    except (KeyError, msgspec.DecodeError, RecursionError):
        return ""
    return value if isinstance(value, str) else next(iter(value), "")


def _count(number: int | None) -> int:
    return number if number is not None and 0 <= number < _MAX_NUMBER else 0
