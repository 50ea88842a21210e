"""Fetching data sets from real servers on the loopback, and from none."""

import errno
import gzip
import hashlib
import io
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from conftest import DATA, ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from shroom.cli import run
from shroom.cli.datasets_fetch import command
from shroom.core.atomic_writing import zipped
from shroom.core.problems import ShroomError
from shroom.datasets.download import archive_members, http, sources
from shroom.datasets.download import partial_file as part
from shroom.datasets.download.fetch import fetch
from shroom.datasets.download.local_cache import cached
from shroom.datasets.download.sources import SOURCES, File, Source
from shroom.datasets.registry import DATA_SETS, data_set

CONTENT = b"".join(b'{"index": "%d"}\n' % i for i in range(20_000))
OTHER = b'{"index": "other"}\n'
HALF = len(CONTENT) // 2


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Server:
    """An HTTP server; ``answer`` tells what is to be done with a request.

    It gives the content to be served, or a tuple of status, headers and body, or a function of
    the handler that does it all.
    """

    def __init__(self, answer, *, ranges=True):
        self.paths, self.ranges, self.heads = [], [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.paths.append(self.path)
                outer.ranges.append(self.headers.get("Range"))
                outer.heads.append(dict(self.headers))
                given = answer(self.path, len(outer.paths) - 1)
                if callable(given):
                    self.close_connection = True
                    given(self)
                    return
                if isinstance(given, bytes):
                    given = serve(given, self.headers.get("Range") if ranges else None)
                status, headers, body = given
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                # A body shorter than it claims to be ends with the connection.
                self.close_connection = True

            def log_message(self, *_):
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def serve(content, asked):
    """Answer as a server does that knows ranges."""
    if asked is None:
        return 200, {}, content
    start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
    if start >= len(content):
        return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
    place = f"bytes {start}-{len(content) - 1}/{len(content)}"
    return 206, {"Content-Range": place}, content[start:]


def cut(content, length, asked=None):
    """Answer with the first bytes of what is claimed, and close."""
    status, headers, body = serve(content, asked)
    return status, {**headers, "Content-Length": str(len(body))}, body[:length]


@pytest.fixture
def start():
    """Start servers, and stop them in the end."""
    started = []

    def start_one(answer, **more):
        if isinstance(answer, (bytes, tuple)):
            fixed = answer
            answer = lambda *_: fixed  # noqa: E731
        started.append(Server(answer, **more))
        return started[-1]

    yield start_one
    for server in started:
        server.close()


@pytest.fixture
def dead_url():
    """Return the URL of a server that is not there any more."""
    server = Server(lambda *_: b"")
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
        monkeypatch.setitem(SOURCES, "felm", Source("felm", (file,)))
        return cache / "felm"

    return at


@pytest.fixture
def call(capfd):
    """Run the command in process; return the exit code, stdout and stderr."""

    def run_it(*args):
        code = run(command, [str(arg) for arg in args], "shroom datasets fetch")
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run_it


def files_of(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# What goes well


def test_a_file_is_stored_with_its_licence_shown_and_its_folder_printed(start, publish, call):
    server = start(CONTENT)
    folder = publish(f"{server.url}/all.jsonl")
    assert cached("felm") is None
    code, out, err = call("felm")
    assert (code, out) == (0, f"{folder}\n")
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert files_of(folder) == ["all.jsonl"]
    assert err.index("licence: CC BY-NC-SA 4.0") < err.index("stored, from")
    assert f"sha256 {sha256(CONTENT)}, as it should be" in err
    assert cached("felm") == folder
    assert server.heads[0]["User-Agent"] == "shroom-kit"


def test_a_second_fetch_asks_nobody_and_says_so(start, publish, call):
    server = start(CONTENT)
    folder = publish(f"{server.url}/all.jsonl")
    call("felm")
    code, out, err = call("felm")
    assert (code, out, len(server.paths)) == (0, f"{folder}\n", 1)
    assert "all.jsonl: is there already; sha256" in err
    assert "licence" not in err


def test_force_fetches_again(start, publish, call):
    server = start(CONTENT)
    folder = publish(f"{server.url}/all.jsonl")
    (folder).mkdir(parents=True)
    (folder / "all.jsonl").write_bytes(OTHER)
    (folder / "all.jsonl.part").write_bytes(CONTENT[:HALF])
    assert call("felm", "--force")[0] == 0
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert server.ranges == [None]


def test_json_tells_of_every_file(start, publish, call):
    server = start(CONTENT)
    folder = publish(f"{server.url}/all.jsonl")
    told = [json.loads(call("felm", "--format", "json")[1]) for _ in range(2)]
    file = {
        "file": "all.jsonl",
        "path": str(folder / "all.jsonl"),
        "size": len(CONTENT),
        "sha256": sha256(CONTENT),
        "verified": True,
        "url": f"{server.url}/all.jsonl",
        "refusals": [],
    }
    for result, url in zip(told, [file["url"], None]):
        assert result == {"name": "felm", "folder": str(folder), "files": [{**file, "url": url}]}


def test_to_names_another_folder(start, publish, call, cache, tmp_path):
    publish(f"{start(CONTENT).url}/all.jsonl")
    code, out, _ = call("felm", "--to", tmp_path / "a" / "b")
    assert (code, out) == (0, f"{tmp_path / 'a' / 'b'}\n")
    assert files_of(tmp_path / "a") == ["all.jsonl"]
    assert not cache.exists()
    assert cached("felm") is None


def test_an_own_mirror_comes_first_and_is_laid_out_as_the_cache(start, publish, call):
    origin, mirror = start(OTHER), start(CONTENT)
    folder = publish(f"{origin.url}/all.jsonl")
    assert call("felm", "--mirror", f"{mirror.url}/data/")[0] == 0
    assert (mirror.paths, origin.paths) == (["/data/felm/all.jsonl"], [])
    assert (folder / "all.jsonl").read_bytes() == CONTENT


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_and_the_range_with_them(start, publish, status):
    end = start(CONTENT)
    begin = start((status, {"Location": f"{end.url}/elsewhere"}, b""))
    folder = publish(f"{begin.url}/all.jsonl")
    folder.mkdir(parents=True)
    (folder / "all.jsonl.part").write_bytes(CONTENT[:HALF])
    assert fetch("felm")[0].verified
    assert (end.paths, end.ranges) == (["/elsewhere"], [f"bytes={HALF}-"])


def test_a_body_in_chunks_without_a_length(start, publish):
    def chunked(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for begin in range(0, len(CONTENT), 50_000):
            piece = CONTENT[begin : begin + 50_000]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")

    folder = publish(start(lambda *_: chunked).url)
    fetch("felm")
    assert (folder / "all.jsonl").read_bytes() == CONTENT


def test_a_file_without_a_known_hash_is_stored_and_its_hash_told(start, publish, call):
    server = start(CONTENT)
    folder = publish(f"{server.url}/all.jsonl", size=None, sha256=None)
    folder.mkdir(parents=True)
    (folder / "all.jsonl.part").write_bytes(OTHER)  # of which nobody knows what it belongs to
    code, _, err = call("felm")
    assert code == 0
    assert f"sha256 {sha256(CONTENT)}; could not be verified" in err
    assert "size not known" in err
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert server.ranges == [None]
    assert "is there already" in call("felm")[2]
    assert cached("felm") == folder


def test_progress_is_told_in_bytes(start, publish):
    told = []
    url = publish(f"{start(CONTENT).url}/all.jsonl") and SOURCES["felm"].files[0].urls[0]
    fetch("felm", report=lambda *step: told.append(step))
    assert told[0] == (0, len(CONTENT), url)
    assert told[-1] == (len(CONTENT), len(CONTENT), url)
    assert told == sorted(told)


# What goes wrong, and the next mirror


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((404, {}, b"no such page"), "said 404 Not Found"),
        ((500, {}, b""), "said 500 Internal Server Error"),
        (OTHER, f"gave sha256 {sha256(OTHER)}, expected {sha256(CONTENT)}"),
        (CONTENT + b"!", f"sent more than {len(CONTENT)} bytes"),
        (b"", f"gave sha256 {sha256(b'')}, expected"),
        (cut(CONTENT, 1000), f"broke off after 1000 of {len(CONTENT)} bytes"),
        ((206, {}, CONTENT), "sent a part without saying which"),
        ((206, {"Content-Range": "bytes 7-9/10"}, b"abc"), "sent what follows byte 7"),
        ((206, {"Content-Range": f"bytes {'9' * 5000}-"}, b"abc"), "sent a part without saying"),
        ((302, {"Location": "file:///etc/passwd"}, b""), "said 302"),
        ((302, {"Location": "/x"}, b""), "said 302 The HTTP server returned a redirect error"),
        ((200, {"Content-Encoding": "gzip"}, CONTENT), "sent it packed (gzip)"),
    ],
)
def test_what_a_mirror_did_wrong_is_told_and_the_next_is_tried(start, publish, call, answer, said):
    bad, good = start(answer), start(CONTENT)
    folder = publish(f"{bad.url}/x", f"{good.url}/y")
    code, _, err = call("felm")
    assert code == 0, err
    assert f"all.jsonl: stored, from {good.url}/y (before that, {bad.url}/x {said}" in err
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert files_of(folder) == ["all.jsonl"]


def test_if_all_fail_what_each_said_is_told_and_nothing_is_stored(start, publish, call, dead_url):
    first, second = start((404, {}, b"")), start(OTHER)
    folder = publish(f"{first.url}/1", f"{second.url}/2", f"{dead_url}/3")
    code, out, err = call("felm")
    assert (code, out) == (1, "")
    last = err.strip().split("\n")[-1]
    assert last.startswith("shroom: felm: 1 of 1 files could not be fetched (all.jsonl: ")
    assert f"{first.url}/1 said 404 Not Found; {second.url}/2 gave sha256" in last
    assert f"{dead_url}/3 cannot be reached (Connection refused)" in last
    assert "no server can be reached" not in last
    assert "--mirror" in last
    assert files_of(folder) == []
    assert cached("felm") is None


def test_a_failed_run_leaves_what_was_there(start, publish):
    folder = publish(f"{start(OTHER).url}/x")
    folder.mkdir(parents=True)
    (folder / "all.jsonl").write_bytes(CONTENT)
    with pytest.raises(ShroomError, match="gave sha256"):
        fetch("felm", force=True)
    assert (folder / "all.jsonl").read_bytes() == CONTENT


def test_no_server_at_all_is_told_as_no_network(publish, call, dead_url):
    folder = publish(f"{dead_url}/1", "http://no-such-host.invalid/2")
    code, _, err = call("felm")
    assert code == 1
    last = err.strip().split("\n")[-1]
    assert "felm: no server can be reached, as where there is no network; 1 of 1 files" in last
    assert "http://no-such-host.invalid/2 cannot be reached (host not found)" in last
    assert f"fetch them elsewhere and put them into {folder} by hand" in last
    assert "Traceback" not in err


def test_a_server_that_cannot_be_reached_is_tried_once_for_all_files(
    monkeypatch, start, cache, dead_url
):
    good = start(lambda path, _: path.encode() * 9)
    files = [
        File(
            name,
            "none stated",
            (f"{dead_url}/{name}", f"{good.url}/{name}"),
            sha256=sha256(f"/{name}".encode() * 9),
        )
        for name in ("a", "b", "c")
    ]
    monkeypatch.setitem(SOURCES, "felm", Source("felm", tuple(files)))
    opened = []
    open_one = http._open
    monkeypatch.setattr(
        http, "_open", lambda url, *rest: opened.append(url) or open_one(url, *rest)
    )
    found = fetch("felm")
    assert [len(file.refusals) for file in found] == [1, 1, 1]
    assert [url.startswith(dead_url) for url in opened] == [True, False, False, False]


def test_a_server_that_is_silent_at_the_start(start, publish, call):
    released = threading.Event()
    slow, good = start(lambda *_: lambda _: released.wait(5)), start(CONTENT)
    publish(f"{slow.url}/x", f"{good.url}/y")
    code, _, err = call("felm", "--timeout", "0.05")
    released.set()
    assert code == 0
    assert f"{slow.url}/x gave no answer within 0.05 seconds" in err


def test_a_server_that_falls_silent_in_the_middle(start, publish):
    released = threading.Event()

    def stall(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:HALF])
        handler.wfile.flush()
        released.wait(5)

    folder = publish(start(lambda *_: stall, ranges=False).url)
    with pytest.raises(ShroomError, match=r"fell silent for 0\.1 seconds after \d+ of \d+ bytes"):
        fetch("felm", timeout=0.1)
    released.set()
    assert (folder / "all.jsonl.part").read_bytes() == CONTENT[:HALF]


def test_a_server_that_closes_without_an_answer(start, publish):
    publish(start(lambda *_: lambda _: None).url)
    with pytest.raises(ShroomError, match="closed the connection without an answer"):
        fetch("felm")


def test_a_server_that_speaks_something_else(start, publish):
    publish(start(lambda *_: lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n\r\n")).url)
    with pytest.raises(ShroomError, match="closed the connection without an answer"):
        fetch("felm")


def test_what_a_server_says_cannot_steer_the_terminal(start, publish, call):
    def rude(handler):
        handler.wfile.write(b"HTTP/1.1 404 \x1b[31mred\r\nContent-Length: 0\r\n\r\n")

    publish(start(lambda *_: rude).url)
    code, _, err = call("felm")
    assert code == 1
    assert "\x1b" not in err


# Going on


def test_a_download_that_breaks_off_is_gone_on_with_at_once(start, publish):
    server = start(lambda _, number: cut(CONTENT, HALF, server.ranges[number]))
    folder = publish(server.url)
    fetch("felm")
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={HALF}-"]


def test_the_next_run_goes_on_from_the_part(start, publish):
    server = start(CONTENT)
    folder = publish(server.url)
    folder.mkdir(parents=True)
    (folder / "all.jsonl.part").write_bytes(CONTENT[:HALF])
    fetch("felm")
    assert server.ranges == [f"bytes={HALF}-"]
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert files_of(folder) == ["all.jsonl"]


def test_a_length_that_no_file_has_does_not_count(start, publish):
    def answer(_, number):
        return CONTENT if number else (416, {"Content-Range": f"bytes */{'9' * 5000}"}, b"")

    server = start(answer)
    folder = publish(server.url)
    folder.mkdir(parents=True)
    (folder / "all.jsonl.part").write_bytes(CONTENT[:HALF])
    fetch("felm")
    assert server.ranges == [f"bytes={HALF}-", None]
    assert (folder / "all.jsonl").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_anew(start, publish):
    server = start(CONTENT, ranges=False)
    folder = publish(server.url)
    folder.mkdir(parents=True)
    (folder / "all.jsonl.part").write_bytes(CONTENT[:HALF])
    fetch("felm")
    assert (folder / "all.jsonl").read_bytes() == CONTENT


def test_a_server_without_ranges_that_breaks_off_each_time_is_given_up(start, publish):
    server = start(cut(CONTENT, 1000), ranges=False)
    folder = publish(server.url)
    with pytest.raises(ShroomError, match="broke off after 1000 of"):
        fetch("felm")
    assert len(server.paths) == 2
    assert (folder / "all.jsonl.part").read_bytes() == CONTENT[:1000]


def test_another_mirror_goes_on_from_the_part(start, publish):
    first, second = start(cut(CONTENT, 1000), ranges=False), start(CONTENT)
    folder = publish(first.url, second.url)
    fetch("felm")
    assert second.ranges == ["bytes=1000-"]
    assert (folder / "all.jsonl").read_bytes() == CONTENT


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    "part",
    [b"x" * 1000, b"x" * len(CONTENT), CONTENT + b"more", b"", CONTENT, CONTENT[:-1] + b"x"],
    ids=["wrong", "as-long", "longer", "empty", "whole", "last-byte"],
)
def test_whatever_part_is_there_the_file_comes_out_right(start, publish, part, ranges):
    server = start(CONTENT, ranges=ranges)
    folder = publish(server.url)
    folder.mkdir(parents=True)
    (folder / "all.jsonl.part").write_bytes(part)
    fetch("felm")
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert len(server.paths) == (part != CONTENT) + (part == b"x" * 1000 and ranges)


@settings(max_examples=50)
@given(
    begin=st.binary(max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=4),
    ranges=st.booleans(),
    known=st.booleans(),
)
def test_any_cuts_end_in_the_file_or_in_a_sentence(tmp_path_factory, begin, cuts, ranges, known):
    content = b"0123456789"
    folder = tmp_path_factory.mktemp("cuts")

    def answer(path, number):
        asked = server.ranges[number] if ranges else None
        return cut(content, cuts[number] if number < len(cuts) else 12, asked)

    server = Server(answer)
    file = File("f", "none stated", (server.url,), (), 10 if known else None, sha256(content))
    kept = SOURCES["felm"]
    SOURCES["felm"] = Source("felm", (file,))
    try:
        (folder / "f.part").write_bytes(begin)
        fetch("felm", folder)
        assert (folder / "f").read_bytes() == content
    except ShroomError as error:
        assert re.search("broke off after|gave sha256|sent more than", str(error))  # noqa: PT017
        assert not (folder / "f").exists()
    finally:
        SOURCES["felm"] = kept
        server.close()


CHILD = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
from shroom.cli import run
from shroom.cli.datasets_fetch import command
from shroom.datasets.download.sources import SOURCES, File, Source
url, size, sha256 = sys.argv[1:4]
SOURCES["felm"] = Source("felm", (File("all.jsonl", "none stated", (url,), (), int(size), sha256),))
sys.exit(run(command, ["felm", *sys.argv[4:]], "shroom"))
"""


def child(url, *args, **more):
    known = [url, str(len(CONTENT)), sha256(CONTENT)]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *known, *args],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        **more,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_an_interrupted_run_leaves_the_part_and_the_next_goes_on(start, publish, how):
    came, released = threading.Event(), threading.Event()

    def stall(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:HALF])
        came.set()
        released.wait(10)

    server = start(lambda _, number: CONTENT if number else stall)
    folder = publish(server.url)
    process = child(server.url)
    assert came.wait(10)
    part = folder / "all.jsonl.part"
    ready = threading.Event()
    for _ in range(200):
        if part.exists() and part.stat().st_size == HALF:
            break
        ready.wait(0.02)
    process.send_signal(how)
    _, err = process.communicate()
    released.set()
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command goes on from there" in err
        assert "Traceback" not in err
    assert files_of(folder) == ["all.jsonl.part"]
    assert part.read_bytes() == CONTENT[:HALF]
    fetch("felm")
    assert server.ranges == [None, f"bytes={HALF}-"]
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert files_of(folder) == ["all.jsonl"]


def test_two_at_once_do_not_mix(start, publish):
    inside, released = threading.Event(), threading.Event()

    def wait(handler):
        inside.set()
        released.wait(10)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(CONTENT))
        handler.wfile.write(CONTENT)

    server = start(lambda *_: wait)
    folder = publish(server.url)
    process = child(server.url)
    assert inside.wait(10)
    with pytest.raises(ShroomError, match="another process is fetching this file"):
        fetch("felm")
    released.set()
    process.communicate()
    assert process.returncode == 0
    assert (folder / "all.jsonl").read_bytes() == CONTENT


# The disk


def test_other_content_is_not_overwritten(start, publish, call):
    server = start(CONTENT)
    folder = publish(server.url)
    folder.mkdir(parents=True)
    (folder / "all.jsonl").write_bytes(OTHER)
    code, _, err = call("felm")
    assert code == 1
    assert f"with other content (sha256 {sha256(OTHER)})" in err
    assert "--force" in err
    assert server.paths == []
    assert (folder / "all.jsonl").read_bytes() == OTHER
    assert cached("felm") is None


@pytest.mark.parametrize("to", ["file", "file/deeper"])
def test_a_folder_that_cannot_be_written(start, publish, call, tmp_path, to):
    publish(start(CONTENT).url)
    (tmp_path / "file").write_bytes(b"mine")
    code, _, err = call("felm", "--to", tmp_path / to)
    assert code == 1
    assert f"{tmp_path / to}: cannot be written: " in err
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_folder_in_the_place_of_the_part(start, publish, call):
    folder = publish(start(CONTENT).url)
    (folder / "all.jsonl.part").mkdir(parents=True)
    code, _, err = call("felm")
    assert code == 1
    assert "all.jsonl.part: cannot be written: Is a directory" in err


def test_a_full_disk(start, publish, call, monkeypatch):
    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = publish(start(CONTENT).url)
    full = type("Full", (io.FileIO,), {"write": write})
    monkeypatch.setattr(
        part, "open", lambda *_, **__: full(folder / "all.jsonl.part", "w+"), raising=False
    )
    code, _, err = call("felm")
    assert code == 1
    assert "all.jsonl.part: cannot be written: No space left on device" in err
    assert files_of(folder) == []


def test_a_link_in_the_place_of_the_part_is_not_followed(start, publish, call, tmp_path):
    folder = publish(start(CONTENT).url)
    folder.mkdir(parents=True)
    mine = tmp_path / "mine"
    mine.write_bytes(b"precious")
    (folder / "all.jsonl.part").symlink_to(mine)
    code, _, err = call("felm")
    assert code == 1
    assert "all.jsonl.part: is a link, and what it leads to would be overwritten; remove" in err
    assert mine.read_bytes() == b"precious"


def test_a_disk_that_fills_up_on_the_way_keeps_what_has_come(start, publish):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (HALF, HALF))

    server = start(CONTENT)
    folder = publish(server.url)
    process = child(server.url, preexec_fn=limit)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "all.jsonl.part: cannot be written: File too large" in err
    assert (folder / "all.jsonl.part").read_bytes() == CONTENT[:HALF]
    fetch("felm")
    assert (folder / "all.jsonl").read_bytes() == CONTENT
    assert server.ranges == [None, f"bytes={HALF}-"]


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
    def at(*urls, contents=PACKED):
        files = tuple(
            File(name, "none stated", (), urls, len(content), sha256(content))
            for name, content in contents.items()
        )
        monkeypatch.setitem(SOURCES, "felm", Source("felm", files))
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


def test_an_archive_is_gone_on_with_and_need_not_say_how_long_it_is(start, publish_packed):
    content = zipped(DEEP)
    server = start(content)
    for have in (len(content) // 2, len(content)):
        folder = publish_packed(f"{server.url}/all.zip")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "all.zip.part").write_bytes(content[:have])
        assert len(fetch("felm", force=False)) == 2
        assert server.ranges[-1] == f"bytes={have}-"
        for path in folder.iterdir():
            path.unlink()


def test_a_wrong_beginning_of_an_archive_is_no_harm(start, publish_packed):
    server = start(zipped(DEEP))
    folder = publish_packed(f"{server.url}/all.zip")
    folder.mkdir(parents=True)
    (folder / "all.zip.part").write_bytes(b"x" * 50)
    fetch("felm")
    assert server.ranges == ["bytes=50-", None]
    assert files_of(folder) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>log in</html>", "gave no archive that can be read"),
        (zipped(DEEP)[:-30], "gave no archive that can be read"),
        (zipped(NOISE), f"has no member that is a.jsonl (sha256 {sha256(PACKED['a.jsonl'])})"),
        (b"", "gave no archive that can be read"),
        (b"PK", "gave no archive that can be read"),
    ],
)
def test_an_archive_that_is_none_and_the_next(start, publish_packed, content, said):
    bad, good = start(content), start(zipped(DEEP))
    folder = publish_packed(f"{bad.url}/1.zip", f"{good.url}/2.zip")
    for file in fetch("felm"):
        assert said in file.refusals[0]
        assert file.url == f"{good.url}/2.zip"
    assert files_of(folder) == ["a.jsonl", "b.jsonl"]


def test_files_that_an_archive_has_are_stored_though_others_are_missing(start, publish_packed):
    server = start(zipped({"x": PACKED["b.jsonl"]}))
    folder = publish_packed(f"{server.url}/all.zip")
    with pytest.raises(ShroomError, match=r"1 of 2 files could not be fetched \(a\.jsonl: "):
        fetch("felm")
    assert files_of(folder) == ["b.jsonl"]
    assert cached("felm") is None


def test_an_archive_never_grows_beyond_what_is_known():
    bomb = zipped({"big": b"\0" * 50_000_000})
    assert len(bomb) < 100_000
    assert list(archive_members.members(io.BytesIO(bomb), [10])) == []


def test_many_files_of_one_archive_are_told_of_once(start, publish_packed):
    contents = {f"{number}.jsonl": b"%d" % number for number in range(7)}
    publish_packed(start((404, {}, b"")).url, contents=contents)
    told = r"7 of 7 .*\(0.jsonl, 1.jsonl, 2.jsonl and 4 more: http\S+ said 404 Not Found\);"
    with pytest.raises(ShroomError, match=told):
        fetch("felm")


def test_a_mirror_of_ones_own_has_the_files_unpacked(start, publish_packed, call):
    mirror = start(lambda path, _: PACKED[path.rsplit("/", 1)[-1]])
    folder = publish_packed("http://no-such-host.invalid/all.zip")
    folder.mkdir(parents=True)
    (folder / "all.zip.part").write_bytes(b"PK")  # of a run that was interrupted
    (folder / "mine.part").write_bytes(b"mine")
    assert call("felm", "--mirror", mirror.url)[0] == 0
    assert files_of(folder) == ["a.jsonl", "b.jsonl", "mine.part"]


# The command line


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("felmm", "no data set 'felmm'; did you mean 'felm'? the data sets are semeval2024"),
        ("FELM", "did you mean 'felm'?"),
        ("../felm", "no data set '../felm'"),
        ("", "no data set ''"),
        ("\x1b[31m", r"no data set '\u001b[31m'"),
    ],
)
def test_an_unknown_data_set(call, cache, name, said):
    code, out, err = call("--", name)
    assert (code, out) == (1, "")
    assert said in err
    assert not cache.exists()
    with pytest.raises(ShroomError, match="no data set"):
        cached(name)


@pytest.mark.parametrize(
    "url", ["", "nowhere", "ftp://x/y", "file:///etc", "http://", "http://a b", "http://u:p@x"]
)
def test_a_mirror_that_is_no_url(publish, call, url):
    publish("http://no-such-host.invalid/1")
    code, _, err = call("felm", "--mirror", url)
    assert code == 1
    assert "is no URL of a server" in err


@pytest.mark.parametrize("seconds", ["nan", "0", "-1", "inf", "soon"])
def test_a_timeout_that_is_none(call, seconds):
    assert call("felm", "--timeout", seconds)[0] == 2


@pytest.mark.parametrize(
    ("answer", "code"), [("\n", 0), ("y\n", 0), ("n\n", 1)], ids=["enter", "yes", "no"]
)
def test_on_a_terminal_it_is_asked_whether_to_store(start, publish, answer, code):
    server = start(CONTENT)
    folder = publish(server.url)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, server.url, str(len(CONTENT)), sha256(CONTENT)],
        cwd=ROOT,
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
    )
    os.close(theirs)
    shown = b""
    while b"store? [Y/n]" not in shown:
        shown += os.read(ours, 1000)
    os.write(ours, answer.encode())
    try:
        while more := os.read(ours, 1000):
            shown += more
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == code
    assert b"licence: none stated" in shown
    assert (folder / "all.jsonl").exists() == (code == 0)
    assert out.decode() == ("" if code else f"{folder}\n")
    assert code == 0 or b"nothing was stored" in shown


# The table


def test_every_data_set_has_its_sources():
    assert SOURCES.keys() == DATA_SETS.keys()
    assert all(name == found.name for name, found in SOURCES.items())


@pytest.mark.parametrize("name", SOURCES)
def test_the_table_is_sound(name):
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
        if file.sha256 is None:
            continue
        path = folder / file.name
        packed = folder / f"{file.name}.gz"
        content = path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())
        assert (len(content), sha256(content)) == (file.size, file.sha256), file.name


@pytest.mark.real
def test_a_copy_of_the_real_files_serves_as_a_mirror(start, cache, call):
    server = start(lambda path, _: (DATA / path.lstrip("/")).read_bytes())
    for name in ("mushroom2025", "factual_consistency"):
        code, out, err = call(name, "--mirror", server.url)
        assert (code, out) == (0, f"{cache / name}\n"), err
        found = data_set(name).read(cached(name))
        assert len(found.records) == len(data_set(name).read(DATA / name).records) > 0


def test_sources_are_found_by_name():
    assert sources.source("felm") is SOURCES["felm"]
