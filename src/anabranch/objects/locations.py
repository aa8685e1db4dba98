"""Opens object roots, whose kind the scheme of a location says, and copies files from one to another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from anabranch.errors import Corrupt
from anabranch.model.object_urls import ObjectUrl, read_object_url
from anabranch.objects.blobs import Blobs
from anabranch.objects.cache import FileCache, cache_folder
from anabranch.objects.folder import Folder
from anabranch.objects.remote import RemoteRoot
from anabranch.objects.root import ObjectRoot, SealedFile
from anabranch.settings import Settings


def open_root(location: str, store_id: str = "", settings: Settings | None = None) -> ObjectRoot:
    """Open an object root by its location, for a store that puts files there."""
    if "://" in location and not location.startswith("file://"):
        limit = (settings or Settings()).objects.cache_limit_bytes
        return RemoteRoot(open_blobs(read_object_url(location)), store_id, FileCache(cache_folder(), limit))
    return Folder(location.removeprefix("file://"), store_id)


def open_blobs(url: ObjectUrl) -> Blobs:
    """Connect to the server that an address names; imports its client only now."""
    if url.scheme == "s3":
        from anabranch.objects.bucket import Bucket

        return Bucket(url)
    from anabranch.objects.webhdfs import WebHdfs

    return WebHdfs(url)


_PIECE = 1 << 20


def copy_file(source: ObjectRoot, target: ObjectRoot, wanted: SealedFile) -> int:
    """Copy a file under its path, completely or not at all; returns its size. Corrupt if it is not what was written."""
    target.put_as(wanted.path, _compared(source, wanted))
    return wanted.size_bytes


def _compared(source: ObjectRoot, wanted: SealedFile) -> Iterator[bytes]:
    """The bytes of a file; raises an error at the end if they are not what was written."""
    digest, size = hashlib.sha256(), 0
    with source.open(wanted.path) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            yield piece
    if (size, digest.hexdigest()) != (wanted.size_bytes, wanted.sha256):
        message = f"object file {wanted.path} is not what was written: {size} bytes of {wanted.size_bytes}, or others"
        raise Corrupt(message, hint="restore it from an older backup, or run `ana verify` to see all that is damaged")
