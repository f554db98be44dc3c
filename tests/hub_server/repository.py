"""What the server holds: repositories built from bytes, with commits, branches and access rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

LFS_SUFFIXES = (".gguf", ".safetensors", ".bin")


@dataclass(frozen=True)
class StoredFile:
    """One file of a commit. An LFS file has a pointer in git, and its sha256 as ETag; another the blob's sha1."""

    path: str
    content: bytes
    is_lfs: bool

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def pointer(self) -> bytes:
        text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.content)}\n"
        return text.encode()

    @cached_property
    def blob_id(self) -> str:
        stored = self.pointer if self.is_lfs else self.content
        return hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()

    @property
    def etag(self) -> str:
        """Return what the Hub itself tells as ETag (X-Linked-ETag for an LFS file), without quotes."""
        return self.sha256 if self.is_lfs else self.blob_id

    @property
    def cdn_etag(self) -> str:
        """Return the ETag of the storage behind the redirect: it is not the sha256 there."""
        return hashlib.md5(self.content).hexdigest()

    def lfs(self, key: str) -> dict[str, Any] | None:
        """Return the LFS record; its hash is called "oid" in a tree and "sha256" among siblings."""
        if not self.is_lfs:
            return None
        return {key: self.sha256, "size": len(self.content), "pointerSize": len(self.pointer)}


@dataclass(frozen=True)
class Commit:
    sha: str
    files: Mapping[str, StoredFile]


@dataclass
class Repository:
    """A model repository; `readers` are the users who may see it if private and load it if gated."""

    id: str
    commits: list[Commit] = field(default_factory=list)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    gated: str = ""
    is_private: bool = False
    readers: set[str] = field(default_factory=set)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def author(self) -> str:
        return self.id.partition("/")[0]

    @property
    def head(self) -> Commit:
        return self.commits[-1]

    def commit(self, files: Mapping[str, bytes | None], *, branch: str = "main") -> Commit:
        """Add a commit on top of the last one; None removes a file. Return it."""
        stored = dict(self.commits[-1].files) if self.commits else {}
        for path, content in files.items():
            if content is None:
                stored.pop(path, None)
            else:
                stored[path] = StoredFile(path, content, path.lower().endswith(LFS_SUFFIXES))
        names = "".join(f"{path}{file.blob_id}" for path, file in sorted(stored.items()))
        sha = hashlib.sha1(f"{self.id}{len(self.commits)}{names}".encode()).hexdigest()
        made = Commit(sha, stored)
        self.commits.append(made)
        self.branches[branch] = sha
        return made

    def at(self, revision: str) -> Commit | None:
        """Return the commit that a branch, a tag or a (full or short) hash names."""
        sha = self.branches.get(revision) or self.tags.get(revision) or revision
        matches = [made for made in self.commits if len(sha) >= 7 and made.sha.startswith(sha)]
        return matches[-1] if matches else None

    def may_see(self, user: str) -> bool:
        return not self.is_private or user in self.readers

    def may_load(self, user: str) -> bool:
        return self.may_see(user) and (not self.gated or user in self.readers)

    def facts_of(self, commit: Commit, *, blobs: bool = False) -> dict[str, Any]:
        """Return everything that the API tells about the repository; `facts` overrides the defaults."""
        return {
            "_id": hashlib.md5(self.id.encode()).hexdigest()[:24],
            "id": self.id,
            "modelId": self.id,
            "author": self.author,
            "sha": commit.sha,
            "private": self.is_private,
            "gated": self.gated or False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "trendingScore": 0,
            "library_name": "gguf",
            "pipeline_tag": "text-generation",
            "tags": ["gguf"],
            "createdAt": "2026-01-01T00:00:00.000Z",
            "lastModified": "2026-01-02T00:00:00.000Z",
            "cardData": {},
            "usedStorage": sum(len(file.content) for file in commit.files.values()),
            **self.facts,
            "siblings": [_sibling(file, blobs) for _path, file in sorted(commit.files.items())],
        }


def _sibling(file: StoredFile, blobs: bool) -> dict[str, Any]:
    if not blobs:
        return {"rfilename": file.path}
    told: dict[str, Any] = {"rfilename": file.path, "size": len(file.content), "blobId": file.blob_id}
    if file.is_lfs:
        told["lfs"] = file.lfs("sha256")
    return told
