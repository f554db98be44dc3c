"""Which files a download is about: a bundle of the catalogue, or some of a repository's."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bundles.store import pending_bundles, read_manifests
from engine.cli.models.entries import find_entry
from engine.errors import BadOption
from engine.folders import models_folder
from engine.hub.client import HubClient
from engine.hub.listing import HubRepo, Quantisation
from engine.hub.pasted import parse_address
from engine.models.quantisation import parse_quantisation
from engine.models.remote import RemoteBundle, RemoteFile

# llama.cpp's own choice where nothing is said (common/download.cpp).
_USUAL = ("Q4_K_M", "Q8_0")


def choose_remote(name: str, files: Sequence[str], client: HubClient) -> RemoteBundle:
    """Return the bundle of the catalogue called `name`, or what `files` name of the repository `name`.

    `name` may also be the id of what was downloaded, or begun, before. `files` are paths, names or quantisations; none:
    the usual quantisation, and the first drafter that fits. Raises BadOption for what is not there, and what HubClient
    raises.
    """
    pasted = parse_address(name)
    if pasted is not None:
        name, files = pasted.repo, (*files, *filter(None, (pasted.path,)))
    entry = find_entry(name)
    if entry is not None:
        if files:
            raise BadOption(
                f"“{entry.bundle.id}” is a whole bundle: files can be chosen of a repository only."
            )
        return entry.bundle
    if (begun := _known(name)) is not None and not files:
        return begun
    if "/" not in name:
        raise BadOption(
            f"There is no bundle “{name}” in the catalogue.",
            remedy="`slipstream models recommend --all` lists the catalogue; a repository is written owner/name.",
        )
    repo = client.open_repo(name)
    if not repo.quantisations:
        raise BadOption(
            f"There is no model in GGUF files in “{name}”.", remedy="Look for one with GGUF in its name."
        )
    return _choose(repo, files)


def _known(name: str) -> RemoteBundle | None:
    """Return the bundle of that id that was downloaded, or begun, before."""
    folder = models_folder()
    bundles = (*pending_bundles(folder), *(manifest.bundle for manifest in read_manifests(folder)))
    return next((bundle for bundle in bundles if bundle.id.casefold() == name.casefold()), None)


def _choose(repo: HubRepo, files: Sequence[str]) -> RemoteBundle:
    if not files:
        return repo.bundle(_usual(repo), next(d for d in repo.drafters if not d.reason))
    targets = [q for q in repo.quantisations if any(_names(name, q.label, q.files) for name in files)]
    drafters = [d for d in repo.drafters if any(d.files and _names(name, d.name, d.files) for name in files)]
    for name in files:
        known = any(_names(name, q.label, q.files) for q in targets)
        if not known and not any(_names(name, d.name, d.files) for d in drafters):
            raise BadOption(f"There is no “{name}” in “{repo.model.repo}”.", remedy=_what_there_is(repo))
    if len(targets) != 1 or len(drafters) > 1:
        raise BadOption(
            "Name one model, and at most one drafter for it.",
            remedy=f"{_what_there_is(repo)} A drafter is optional.",
        )
    without_file = next(d for d in reversed(repo.drafters) if not d.files)
    return repo.bundle(targets[0], drafters[0] if drafters else without_file)


def _usual(repo: HubRepo) -> Quantisation:
    by_label = {quantisation.label.upper(): quantisation for quantisation in repo.quantisations}
    # A label that is a name is that of another model than most are.
    plain = [one for one in repo.quantisations if parse_quantisation(one.label) == one.label]
    return next(
        (by_label[label] for label in _USUAL if label in by_label), (*plain, repo.quantisations[0])[0]
    )


def _names(name: str, label: str, files: Sequence[RemoteFile]) -> bool:
    wanted = name.casefold()
    return wanted == label.casefold() or any(wanted in (f.path.casefold(), f.name.casefold()) for f in files)


def _what_there_is(repo: HubRepo) -> str:
    labels = ", ".join(quantisation.label for quantisation in repo.quantisations)
    there = "There are" if len(repo.quantisations) > 1 else "There is"
    return f"{there} {labels}. `slipstream models show {repo.model.repo}` lists all files."
