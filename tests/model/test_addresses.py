"""Addresses of servers: read by one reader, shown and kept without secrets, however they are written."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidRequest
from anabranch.model.addresses import masked, read_address, shown_location


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgresql://ann:secret@host:5432/db", "postgresql://ann@host:5432/db"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://host", "postgresql://host"),
        ("postgresql://[::1]/db", "postgresql://[::1]/db"),
        ("postgresql://ann:secret@[::1]:5432/db", "postgresql://ann@[::1]:5432/db"),
        ("postgresql://ann:p%40ss@host/db?sslmode=require", "postgresql://ann@host/db?sslmode=require"),
        ("postgresql://ann@host/db?password=secret&sslmode=require", "postgresql://ann@host/db?sslmode=require"),
        ("postgresql://ann@host/db?pass%77ord=secret", "postgresql://ann@host/db"),
        ("postgresql:///db?host=/run/pg&password=secret", "postgresql:///db?host=/run/pg"),
        ("postgresql://host/db?application_name=a@b", "postgresql://host/db?application_name=a%40b"),
        ("postgresql://ann:a@b:c@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:a/b@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:a?b@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:a#b@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:a/b?c#d:e@host:5432/db?sslmode=require", "postgresql://ann@host:5432/db?sslmode=require"),
        ("postgresql://ann:1/2@host/db", "postgresql://ann@host/db"),
        ("POSTGRES://ann:secret@host/db", "postgres://ann@host/db"),
        ("postgresql://a%2Fb:secret@host/db", "postgresql://a%2Fb@host/db"),
    ],
)
def test_an_address_is_kept_without_its_secrets(url: str, kept: str) -> None:
    assert read_address(url).kept == kept
    assert read_address(read_address(url).kept) == read_address(kept)


def test_an_address_is_read_whatever_the_password_has() -> None:
    for password, written in (("a/b?c#d:e", "a/b?c#d:e"), ("a@b", "a@b"), ("a/@%", "a%2F%40%25"), ("", "")):
        found = read_address(f"postgresql://ann:{written}@host:1/db?x=1&x=2")
        assert (found.user, found.password, found.host, found.port, found.database) == (
            "ann",
            password,
            "host",
            1,
            "db",
        )
        assert found.query == (("x", "1"), ("x", "2"))


BROKEN = [
    "postgresql://ann:hunter2@host:port/db",
    "postgresql://ann:hunter2@[::1/db",
    "postgresql://ann:hunter2@/x@host/db",
    "postgresql://ann:/hunter2?x@host/db",
    "postgresql://host:5432/hunter2?application_name=a@b",
    "postgresql://ann:hunter2",
    "postgresql:/ann:hunter2@host/db",
    "postgresql:ann:hunter2@host/db",
    "postgres+x:ann:hunter2@host",
    "mysql://ann:hunter2@host/db",
    "ann:hunter2@host://db",
    " ://ann:hunter2@host",
]


@pytest.mark.parametrize("url", BROKEN)
def test_an_address_that_can_not_be_read_is_not_repeated(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_address(url)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in shown_location(url)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/home/ann/shop", "/home/ann/shop"),
        ("shop", "shop"),
        ("ann:hunter2@host/db", "ann:***@host/db"),
        ("/work/ann:hunter/2@host/db", "/work/ann:***@host/db"),
        ("s3://key:hunter2@bucket", "s3://…"),
    ],
)
def test_a_place_is_shown_without_what_may_be_a_password(location: str, shown: str) -> None:
    assert shown_location(location) == shown


@pytest.mark.parametrize(
    "text",
    [
        *BROKEN[:4],
        "could not connect to 'postgresql://ann:hunter2@host/db', try again",
        "postgresql://ann:hunter2/?#@host/db and http://host/a:b",
        "see postgresql://host/db?password=hunter2&sslmode=require",
        "see postgresql://host/db?sslmode=require&sslpassword=hunter2",
        "see postgresql://host/db?pass%77ord=hunter2",
        "SPARK_REMOTE=sc://host:15002/;user_id=ann;token=hunter2",
        "jdbc:postgresql://host/db?user=ann&password=hunter2",
        "https://ann:hunter2@host/x\nhttps://bob:hunter2@host/y",
    ],
)
def test_secrets_are_hidden_wherever_an_address_stands_in_a_text(text: str) -> None:
    assert "hunter2" not in masked(text)


def test_text_without_secrets_stays_as_it_is() -> None:
    for text in (
        "a/b",
        "postgresql://ann@host:5432/db is closed",
        "at 12:30 main@{now}",
        "http://x/?a=b@c",
        "file:///x/y",
    ):
        assert masked(text) == text
