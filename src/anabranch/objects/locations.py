"""Opens object roots; the scheme of a location says which kind it is."""

from __future__ import annotations

from anabranch.model.object_urls import ObjectUrl, read_object_url
from anabranch.objects.blobs import Blobs
from anabranch.objects.cache import FileCache, cache_folder
from anabranch.objects.folder import Folder
from anabranch.objects.remote import RemoteRoot
from anabranch.objects.root import ObjectRoot
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
