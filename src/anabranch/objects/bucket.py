"""S3 and compatible servers, by obstore; the only module that imports it."""

from __future__ import annotations

import configparser
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from anabranch.errors import Unavailable, install_hint
from anabranch.model.object_urls import ObjectUrl
from anabranch.objects.blobs import Blob
from anabranch.objects.workplaces import BucketPlace, Workplace
from anabranch.settings import BUCKET_DELETED_AT_ONCE, BUCKET_REQUEST_SECONDS, BUCKET_RETRIES, BUCKET_SILENCE_SECONDS

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
    from obstore.store import S3Store
except ImportError as error:
    raise Unavailable("obstore is not installed, which reads S3", hint=install_hint("s3")) from error

if TYPE_CHECKING:
    from obstore.store import ClientConfig

_DENIALS = (PermissionDeniedError, UnauthenticatedError)


class Bucket:
    """Objects below a prefix of a bucket."""

    def __init__(self, url: ObjectUrl) -> None:
        self._url = url
        self.where = url.text
        # An upload of one part answers when it is over; who reads hears from the server all the time.
        self._reading = _client(url, BUCKET_SILENCE_SECONDS)
        self._writing = _client(url)

    def put(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Upload; large content goes in parts, which are not visible until the last one is there.

        Pieces are gathered first: producing them may take requests of its own, which can't be made during an upload,
        and if it fails nothing was sent.
        """
        if isinstance(content, bytes):
            with self._translated_errors("written"):
                obstore.put(self._writing, name, content)
            return
        with TemporaryFile(prefix="anabranch-") as gathered:
            for piece in content:
                gathered.write(piece)
            gathered.seek(0)
            with self._translated_errors("written"):
                obstore.put(self._writing, name, gathered)

    def create(self, name: str, content: bytes) -> None:
        """Upload if there is nothing yet; servers that ignore the condition overwrite."""
        with self._translated_errors("written"):
            try:
                obstore.put(self._writing, name, content, mode="create")
            except AlreadyExistsError:
                return

    def read(self, name: str) -> Iterator[bytes]:
        """Download in pieces."""
        with self._translated_errors("read"):
            yield from (bytes(piece) for piece in obstore.get(self._reading, name).stream())

    def read_range(self, name: str, start: int, size: int) -> bytes:
        """Download a range."""
        with self._translated_errors("read"):
            return bytes(obstore.get_range(self._reading, name, start=start, length=size)) if size else b""

    def size(self, name: str) -> int:
        """Ask the server for the size."""
        with self._translated_errors("read"):
            return int(obstore.head(self._reading, name)["size"])

    def below(self, folder: str) -> Iterator[Blob]:
        """List page by page."""
        with self._translated_errors("listed"):
            for page in obstore.list(self._reading, folder or None):
                for found in page:
                    yield Blob(found["path"], found["size"], int(found["last_modified"].timestamp() * 1_000_000))

    def delete(self, names: Iterable[str]) -> None:
        """Remove up to a thousand per request."""
        wanted = list(names)
        with self._translated_errors("removed"):
            for start in range(0, len(wanted), BUCKET_DELETED_AT_ONCE):
                obstore.delete(self._writing, wanted[start : start + BUCKET_DELETED_AT_ONCE])

    def address(self, name: str) -> str:
        """The s3a address that Spark uses."""
        return f"s3a://{self._url.host}/{self._url.path and f'{self._url.path}/'}{name}"

    def spark_options(self) -> Mapping[str, str]:
        """Where the bucket is; Spark finds the keys by itself."""
        bucket = f"fs.s3a.bucket.{self._url.host}"
        endpoint, region = self._url.option("endpoint"), self._url.option("region")
        options = {f"{bucket}.endpoint.region": region or _region() or _USUAL_REGION} if endpoint or region else {}
        if endpoint:
            is_plain = endpoint.startswith("http://")
            options |= {
                f"{bucket}.endpoint": endpoint,
                f"{bucket}.path.style.access": "true",
                f"{bucket}.connection.ssl.enabled": str(not is_plain).lower(),
            }
        return options

    def workplace(self, folder: str) -> Workplace:
        """A place below the same prefix; executors find the keys by themselves."""
        path = f"{self._url.host}/{self._url.below(folder).path}"
        return BucketPlace(path, self._url.option("endpoint"), self._region, self.spark_options())

    @property
    def _region(self) -> str | None:
        """The region given in the URL or by the environment; a self-hosted server accepts any."""
        return self._url.option("region") or _region() or (_USUAL_REGION if self._url.option("endpoint") else None)

    @contextmanager
    def _translated_errors(self, what: str) -> Iterator[None]:
        """Report errors by class and without a cause: a server's answer may repeat parts of the request."""
        try:
            yield
        except FileNotFoundError:
            if what in ("written", "removed"):
                raise Unavailable(f"{self.where} can't be {what}: {_NO_BUCKET}", hint=_HINT) from None
            raise FileNotFoundError(self.where) from None
        except BaseError as error:
            reason = _DENIED if isinstance(error, _DENIALS) else _reason(error)
            hint = _KEYS_HINT if reason == _DENIED else _HINT
            raise Unavailable(f"{self.where} can't be {what}: {reason}", hint=hint) from None


_USUAL_REGION = "us-east-1"
_NO_BUCKET, _DENIED = "there is no such bucket", "access denied"
_HINT = "check the address, the network and the server"
_KEYS_HINT = "check the keys (AWS_ACCESS_KEY_ID, AWS_PROFILE) and what they may do"
_REASONS = (
    ("403 Forbidden", _DENIED),
    ("404 Not Found", _NO_BUCKET),
    ("error sending request", "no server answers"),
)


def _reason(error: BaseError) -> str:
    """A readable reason: obstore has one class for most errors, which differ only in their first line."""
    first = str(error).splitlines()[0]
    return next((reason for said, reason in _REASONS if said in first), "the request failed")


def _client(url: ObjectUrl, silence_seconds: int | None = None) -> S3Store:
    endpoint = url.option("endpoint")
    options: dict[str, Any] = {"region": url.option("region") or _region()}
    if endpoint:
        options |= {"endpoint": endpoint.rstrip("/"), "virtual_hosted_style_request": False}
        options["region"] = options["region"] or _USUAL_REGION
    patience: ClientConfig = {"timeout": timedelta(seconds=BUCKET_REQUEST_SECONDS)}
    if silence_seconds:
        patience["read_timeout"] = timedelta(seconds=silence_seconds)
    retrying = 2 * silence_seconds if silence_seconds else BUCKET_REQUEST_SECONDS
    return S3Store(
        url.host,
        prefix=url.path or None,
        client_options={**patience, "allow_http": bool(endpoint and endpoint.startswith("http://"))},
        retry_config={"max_retries": BUCKET_RETRIES, "retry_timeout": timedelta(seconds=retrying)},
        credential_provider=_profile(),
        **{name: value for name, value in options.items() if value},
    )


_OWN_CHAIN = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")


def _profile() -> Callable[[], Any] | None:
    """Keys of a profile, which obstore doesn't read; None leaves it to obstore's own chain (environment, machine)."""
    if any(os.environ.get(name) for name in _OWN_CHAIN):
        return None
    name = os.environ.get("AWS_PROFILE", "default")
    if "aws_access_key_id" not in _section("AWS_SHARED_CREDENTIALS_FILE", "credentials", name):
        return None

    def keys() -> Any:
        found = _section("AWS_SHARED_CREDENTIALS_FILE", "credentials", name)
        described = {"access_key_id": found["aws_access_key_id"], "secret_access_key": found["aws_secret_access_key"]}
        return described | {"token": found.get("aws_session_token"), "expires_at": None}

    return keys


def _region() -> str | None:
    """The region of the environment or the profile."""
    set_ = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    name = os.environ.get("AWS_PROFILE", "default")
    section = name if name == "default" else f"profile {name}"
    return set_ or _section("AWS_CONFIG_FILE", "config", section).get("region")


def _section(variable: str, file: str, name: str) -> Mapping[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(Path(os.environ.get(variable) or Path.home() / ".aws" / file).expanduser(), encoding="utf-8")
    except (configparser.Error, OSError, UnicodeDecodeError, RuntimeError):
        return {}
    return dict(parser[name]) if parser.has_section(name) else {}
