"""Fetching data sets from real servers on the loopback, and from none."""

import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
import threading
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

import pooch
import pytest
from conftest import DATA

from shroom.core.atomic_writing import zipped
from shroom.core.problems import ShroomError
from shroom.datasets.download import SOURCES, File, Source, cached, fetch, members
from shroom.datasets.registry import DATA_SETS, data_set

CONTENT = b"".join(b'{"index": "%d"}\n' % i for i in range(20_000))
OTHER = b'{"index": "other"}\n'
HALF = len(CONTENT) // 2


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def start(serve):
    """Start servers of some content, or of what a function makes of a path."""
    return lambda given: serve(lambda path, _: given(path) if callable(given) else given, "")


@pytest.fixture
def dead_url(start):
    """Return the URL of a server that is not there any more."""
    server = start(b"")
    server.close()
    return server.url


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def publish(monkeypatch, cache):
    """Let FELM be one file at these URLs; return its folder."""

    def at(*urls, content=CONTENT, **more):
        more = {"size": len(content), "sha256": sha256(content), **more}
        file = File("all.jsonl", "CC BY-NC-SA 4.0", urls, **more)
        monkeypatch.setitem(SOURCES, "felm", Source((file,)))
        return cache / "felm"

    return at


@pytest.fixture
def call(shroom):
    return partial(shroom, "datasets", "fetch")


def files_of(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# What goes well


@pytest.mark.linux
def test_a_file_is_stored_with_its_licence_shown_and_its_folder_printed(start, publish, call):
    server = start(CONTENT)
    folder = publish(f"{server.url}/all.jsonl")
    assert cached("felm") is None
    code, out, err = call("felm")
    assert (code, out) == (0, f"{folder}\n")
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert files_of(folder) == ["all.jsonl"]
    umask = os.umask(0o022)
    os.umask(umask)
    assert (folder / "all.jsonl").stat().st_mode & 0o777 == 0o666 & ~umask
    assert err.index("licence: CC BY-NC-SA 4.0") < err.index("downloaded from")
    assert f"sha256 {sha256(CONTENT)} (verified)" in err
    assert cached("felm") == folder
    assert server.headers[0]["User-Agent"] == "shroom-kit"


def test_a_second_fetch_sends_no_request(start, publish, call):
    server = start(CONTENT)
    publish(f"{server.url}/all.jsonl")
    code, out, err = call("felm")
    assert (code, "licence" in err) == (0, True)
    code, again, err = call("felm")
    assert (code, len(server.paths), "licence" in err, again) == (0, 1, False, out)
    assert "all.jsonl: already exists; sha256" in err


def test_to_names_another_folder_and_an_own_mirror_comes_first(
    start, publish, call, cache, tmp_path
):
    origin, mirror = start(OTHER), start(CONTENT)
    publish(f"{origin.url}/all.jsonl")
    to = tmp_path / "a" / "b"
    code, out, _ = call("felm", "--to", to, "--mirror", f"{mirror.url}/data/")
    assert (code, out) == (0, f"{to}\n")
    assert (mirror.paths, origin.paths) == (["/data/felm/all.jsonl"], [])
    assert (files_of(tmp_path / "a"), (to / "all.jsonl").read_bytes()) == (["all.jsonl"], CONTENT)
    assert not cache.exists()
    assert cached("felm") is None


def test_a_file_without_a_known_hash_is_stored_and_its_hash_told(start, publish, call):
    server, told = start(CONTENT), []
    url = f"{server.url}/all.jsonl"
    folder = publish(url)
    fetch("felm", report=lambda *step: told.append(step))  # which reports bytes
    assert (told[0], told[-1]) == ((1024, len(CONTENT), url), (len(CONTENT), len(CONTENT), url))
    assert told == sorted(told)
    (folder / "all.jsonl").unlink()
    publish(url, size=None, sha256=None)
    code, _, err = call("felm")
    assert code == 0
    assert f"sha256 {sha256(CONTENT)} (not verified: " in err
    assert "size unknown" in err
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert "already exists" in call("felm")[2]
    assert cached("felm") == folder


# What goes wrong, and the next mirror


def sending(content):
    """Return what makes a server send these bytes, whatever is asked."""
    return lambda _: lambda handler: handler.wfile.write(content)


BROKEN = {
    "no such page": ((404, {}, b"no such page"), "404 Client Error: Not Found"),
    "other content": (OTHER, f"expected {sha256(CONTENT)} but got {sha256(OTHER)}"),
    "broken off": ((200, {"Content-Length": "2000"}, b"x" * 1000), "1000 bytes read, 1000 more"),
    "no length": ((200, {"Content-Length": "9" * 5000}, b""), "integer string conversion"),
    "another scheme": ((302, {"Location": "file:///etc/passwd"}, b""), "No connection adapters"),
    "a circle": ((302, {"Location": "/x"}, b""), "Exceeded 30 redirects"),
    "escapes": (
        sending(b"HTTP/1.1 404 \x1b[31mred\r\nContent-Length: 0\r\n\r\n"),
        "404 Client Error: \\u001b[31mred",
    ),
    "closed": (sending(b""), "Remote end closed connection without response"),
    "something else": (sending(b"SSH-2.0-x\r\n"), "SSH"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_a_mirror_is_reported_and_the_next_is_tried(start, publish, call, case):
    answer, reason = BROKEN[case]
    bad, good = start(answer), start(CONTENT)
    folder = publish(f"{bad.url}/x")
    code, _, err = call("felm")
    line = err.strip().split("\n")[-1]
    assert (code, f"{bad.url}/x " in line, reason in line) == (1, True, True), err
    assert "\x1b" not in err
    publish(f"{bad.url}/x", f"{good.url}/y")
    code, _, err = call("felm")
    assert (code, f"all.jsonl: downloaded from {good.url}/y;" in err) == (0, True), err
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert files_of(folder) == ["all.jsonl"]


@pytest.mark.parametrize("size", [HALF, None])
@pytest.mark.parametrize("told", [True, False])
def test_a_download_stops_at_the_size_that_is_known(start, publish, call, monkeypatch, size, told):
    """Whether or not the server says how much it is going to send, which may be without end."""
    monkeypatch.setattr("shroom.datasets.download.MOST", HALF)
    sent = []

    def endless(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with suppress(OSError):
            while len(sent) < 10_000:
                sent.append(handler.wfile.write(CONTENT))

    server = start(CONTENT if told else lambda _: endless)
    folder = publish(f"{server.url}/x", size=size, sha256=None)
    code, _, err = call("felm")
    assert (code, f"{server.url}/x has more than {HALF} bytes" in err) == (1, True), err
    assert len(sent) < 10_000
    assert files_of(folder) == []


def test_if_all_fail_what_each_said_is_told_and_nothing_is_stored(start, publish, call, dead_url):
    first, second = start((404, {}, b"")), start(OTHER)
    folder = publish(f"{first.url}/1", f"{second.url}/2", f"{dead_url}/3")
    code, out, err = call("felm")
    assert (code, out) == (1, "")
    last = err.strip().split("\n")[-1]
    assert last.startswith("shroom: felm: 1 of 1 file could not be downloaded: all.jsonl (")
    assert f"{first.url}/1 404 Client Error: Not Found; {second.url}/2 SHA256" in last
    assert f"{dead_url}/3 cannot be reached: [Errno 111] Connection refused" in last
    assert files_of(folder) == []
    assert cached("felm") is None
    publish(f"{dead_url}/1", "http://no-such-host.invalid/2")
    last = call("felm")[2].strip().split("\n")[-1]
    for said in (
        "http://no-such-host.invalid/2 cannot be reached: Failed to resolve",
        f"check the network connection, put the files into {folder} by hand, or specify a mirror",
    ):
        assert said in last


def test_a_server_that_cannot_be_reached_is_tried_once_for_all_files(
    monkeypatch, start, cache, dead_url
):
    good = start(lambda path: path.encode() * 9)
    urls = {name: (f"{dead_url}/{name}", f"{good.url}/{name}") for name in ("a", "b", "c")}
    files = tuple(File(name, "none stated", listed) for name, listed in urls.items())
    monkeypatch.setitem(SOURCES, "felm", Source(files))
    opened, retrieve = [], pooch.retrieve
    monkeypatch.setattr(
        pooch, "retrieve", lambda url, *a, **b: opened.append(url) or retrieve(url, *a, **b)
    )
    found = fetch("felm")
    assert len(found) == 3
    assert [url.startswith(dead_url) for url in opened] == [True, False, False, False]


def test_a_server_that_is_silent_at_the_start_or_in_the_middle(start, publish, monkeypatch):
    released = threading.Event()

    def stall(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(CONTENT))
        handler.wfile.write(CONTENT[:HALF])
        released.wait(10)

    silent, stalled = start(lambda _: lambda _: released.wait(5)), start(lambda _: stall)
    folder = publish(f"{silent.url}/x", f"{stalled.url}/y")
    monkeypatch.setattr("shroom.datasets.download.TIMEOUT", 0.1)
    with pytest.raises(ShroomError) as refused:
        fetch("felm")
    released.set()
    assert f"{silent.url}/x cannot be reached: Read timed out" in str(refused.value)
    assert f"{stalled.url}/y cannot be reached: Read timed out" in str(refused.value)
    assert files_of(folder) == []


def test_an_interruption_leaves_no_half_file(start, publish, call, monkeypatch):
    folder = publish(start(CONTENT).url)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("shroom.datasets.download._Progress.update", interrupt)
    code, _, err = call("felm")
    assert (code, "Traceback" in err, list(folder.iterdir())) == (130, False, [])


# The disk


def test_other_content_is_overwritten_only_with_force(start, publish, call):
    server = start(CONTENT)
    folder = publish(server.url)
    folder.mkdir(parents=True)
    (folder / "all.jsonl").write_bytes(OTHER)
    code, _, err = call("felm")
    assert code == 1
    assert f"expected sha256 {sha256(CONTENT)}, got {sha256(OTHER)}" in err
    assert "--force" in err
    assert server.paths == []
    assert (folder / "all.jsonl").read_bytes() == OTHER
    assert cached("felm") is None
    assert call("felm", "--force")[0] == 0
    assert (folder / "all.jsonl").read_bytes() == CONTENT


@pytest.mark.parametrize("to", ["file", "file/deeper"])
def test_a_folder_that_cannot_be_written(start, publish, call, tmp_path, to):
    publish(start(CONTENT).url)
    (tmp_path / "file").write_bytes(b"mine")
    code, _, err = call("felm", "--to", tmp_path / to)
    assert code == 1
    assert f"{tmp_path / to} cannot be written: " in err
    assert (tmp_path / "file").read_bytes() == b"mine"


# Archives


def tar(members, mode="w:gz"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


PACKED = {"a.jsonl": b"first\n" * 99, "b.jsonl": b"second\n" * 99}
DEEP = {f"splits/v1/../x/{name}": content for name, content in PACKED.items()}
NOISE = {"../../evil": b"third!\n" * 99, "README": b"read me"}


@pytest.fixture
def publish_packed(monkeypatch, cache):
    def at(*urls):
        files = tuple(
            File(name, "none stated", (), urls, len(content), sha256(content))
            for name, content in PACKED.items()
        )
        monkeypatch.setitem(SOURCES, "felm", Source(files))
        return cache / "felm"

    return at


@pytest.mark.parametrize("pack", [zipped, tar, lambda members: tar(members, "w")])
def test_files_come_out_of_an_archive_that_is_fetched_once(start, publish_packed, pack):
    server = start(pack({**NOISE, **DEEP}))
    folder = publish_packed(f"{server.url}/all.tar.gz")
    found = fetch("felm")
    assert [file.verified for file in found] == [True, True]
    assert len(server.paths) == 1
    assert files_of(folder) == ["a.jsonl", "b.jsonl"]
    assert {name: (folder / name).read_bytes() for name in PACKED} == PACKED
    assert files_of(folder.parent.parent) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>log in</html>", "cannot be read as an archive"),
        (zipped(DEEP)[:-30], "cannot be read as an archive"),
        (zipped(NOISE), "contains no file with the expected sha256"),
    ],
)
def test_an_archive_that_is_none_and_the_next(start, publish_packed, content, said):
    bad, good = start(content), start(zipped(DEEP))
    publish_packed(f"{bad.url}/1.zip")
    with pytest.raises(ShroomError, match=said):
        fetch("felm")
    folder = publish_packed(f"{bad.url}/1.zip", f"{good.url}/2.zip")
    assert {file.url for file in fetch("felm")} == {f"{good.url}/2.zip"}
    assert files_of(folder) == ["a.jsonl", "b.jsonl"]


def test_files_that_an_archive_has_are_stored_and_others_told_of_once(start, publish_packed):
    server = start(zipped({"x": PACKED["b.jsonl"]}))
    folder = publish_packed(f"{server.url}/all.zip")
    with pytest.raises(ShroomError, match=r"1 of 2 files could not be downloaded: a\.jsonl \("):
        fetch("felm")
    assert files_of(folder) == ["b.jsonl"]
    assert cached("felm") is None


def test_members_of_other_sizes_are_not_read(tmp_path):
    bomb = tmp_path / "bomb.zip"
    bomb.write_bytes(zipped({"big": b"\0" * 50_000_000}))
    assert bomb.stat().st_size < 100_000
    assert list(members(bomb, [10])) == []


# The command line


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("felmm", "no data set 'felmm'; did you mean 'felm'? the data sets are semeval2024"),
        ("../felm", "no data set '../felm'"),
    ],
)
def test_an_unknown_data_set(call, cache, name, said):
    code, out, err = call("--", name)
    assert (code, out) == (2, "")
    assert said in err
    assert not cache.exists()
    with pytest.raises(ShroomError, match="no data set"):
        cached(name)


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://x/y", "http://", "http://[", None])
def test_a_mirror_that_is_not_a_url_or_no_pooch(publish, call, url, monkeypatch):
    publish("http://no-such-host.invalid/1")
    said = "expected the URL of a server"
    if url is None:
        monkeypatch.setitem(sys.modules, "pooch", None)
        said = "this command requires pooch: run pip install -e '.[data]'"
    code, _, err = call("felm", *([] if url is None else ["--mirror", url]))
    assert (code, said in err) == (1, True)


# The table


@pytest.mark.parametrize("name", SOURCES)
def test_the_table_is_sound(name):
    assert SOURCES.keys() == DATA_SETS.keys()
    files = SOURCES[name].files
    assert len({file.name for file in files}) == len(files) > 0
    for file in files:
        assert re.fullmatch(r"[\w.-]+", file.name)
        assert file.licence.split(" (")[0] in data_set(name).licence
        assert file.urls or file.archives
        for url in (*file.urls, *file.archives):
            parts = urlsplit(url)
            assert parts.scheme == "https"
            assert not parts.query
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert (file.size is None) == (file.sha256 is None)
        assert file.sha256 or not file.archives  # members are told by their hash
    known = [file.sha256 for file in files if file.sha256]
    assert len(set(known)) == len(known)


@pytest.mark.real
@pytest.mark.parametrize("name", SOURCES)
def test_the_hashes_are_those_of_the_real_files(name):
    folder = DATA / ("verifiability/queries" if name == "queries" else name)
    for file in SOURCES[name].files:
        if file.sha256 is None or not folder.exists():
            continue
        path = folder / file.name
        packed = folder / f"{file.name}.gz"
        content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
        assert (len(content), sha256(content)) == (file.size, file.sha256), file.name
