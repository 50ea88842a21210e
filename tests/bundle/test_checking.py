"""Checking bundles that others made: damaged, hostile, or folders."""

import copy
import io
import stat
import zipfile

import pytest
import yaml
from test_rules import COMPETITION, FILES, changed, zip_of

from shroom.bundle import check
from shroom.core.atomic_writing import zipped


def folder_of(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def refused(source):
    return check(source).refused


def test_a_folder_is_checked_as_its_zip(tmp_path):
    described = changed(("image",), "none.png")
    files = {**FILES, "competition.yaml": yaml.safe_dump(described).encode()}
    (line,) = refused(folder_of(files, tmp_path / "folder"))
    (tmp_path / "a.zip").write_bytes(zip_of(described))
    (other,) = refused(tmp_path / "a.zip")
    assert line.replace("/folder/", "/a.zip/") == other


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (b"no zip", "[zip-broken]"),
        (zipped({"task/competition.yaml": "version: 2"}), "zip the files, not their folder"),
        (zipped({}), "expected competition.yaml at its top"),
        (zip_of("a: [1"), "is not YAML"),
        (zip_of("a: 2027-13-45"), "is not YAML"),
        (zip_of("!!python/object/apply:os.system [ls]"), "is not YAML"),
        (zip_of("[" * 5000), "nest too deeply"),
        (zip_of("- 1"), "expected keys and values"),
        (zip_of("version: 3"), "version: expected 2, got 3"),
        (zip_of("title: Of CodaLab"), "version: expected 2, got none"),
        (zip_of("version: 2\n" + "#" * (1 << 20)), "at most 1048576 bytes"),
        (zip_of(b"title: \xff"), "expected UTF-8"),
    ],
    ids=range(12),
)
def test_what_cannot_be_read_is_one_line(source, part):
    (line,) = refused(source)
    assert part in line


def bomb(letters="abcdefghijklmnopqrstu"):
    """A list of ten lists of ten lists, and so on."""
    lines = ["a: &a [x, x]"]
    for above, letter in zip(letters, letters[1:]):
        lines.append(f"{letter}: &{letter} [{', '.join([f'*{above}'] * 10)}]")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("key", [*COMPETITION, "columns", "merged"])
def test_lists_of_lists_of_lists_take_no_time(key):
    if key == "merged":
        maps = ["m0: &m0 {a: 1, b: 2}"]
        maps += [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 12)]
        assert "more than 10000 keys" in refused(zip_of("\n".join(maps)))[0]
        return
    described = {name: value for name, value in COMPETITION.items() if name != key}
    text = bomb() + yaml.safe_dump(described)
    if key == "columns":
        boards = "[" + ", ".join(["{title: a, key: a, columns: *u}"] * 10) + "]"
        text = text.partition("leaderboards:")[0] + f"phases: *u\ntasks: *u\nleaderboards: {boards}"
    else:
        text += f"{key}: *u\n"
    assert refused(zip_of(text))


def test_members_that_are_links_or_too_large_are_not_read():
    stream = io.BytesIO(zip_of(copy.deepcopy(COMPETITION)))
    with zipfile.ZipFile(stream) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            if name == "pages/terms.md":
                member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, bytes(100 << 20) if name == "logo.png" else content)
    lines = refused(stream.getvalue())
    assert any("logo.png" in line and "[absurd-ratio]" in line for line in lines)
    assert any("terms.md" in line and "[not-a-file]" in line for line in lines)


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "pages/../../secret.txt"])
def test_files_outside_the_bundle_are_not_read(name, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    described = changed(("terms",), name)
    files = {**FILES, "competition.yaml": yaml.safe_dump(described).encode()}
    (line,) = refused(folder_of(files, tmp_path / "bundle"))
    assert "[page-file]" in line


def test_the_command_line(tmp_path, shroom):
    path = tmp_path / "bundle.zip"
    path.write_bytes(zip_of(changed(("phases", 0, "max_submision"), 5)))
    code, out, err = shroom("bundle", "--check", path)
    assert (code, "Codabench takes it" in out) == (0, True)
    assert err.startswith("warning: ")
    assert "did you mean 'max_submissions'" in err
    described = changed(("image",), "none.png")
    described["phases"][0]["end"] = None
    path.write_bytes(zip_of(described))
    code, out, err = shroom("bundle", "--check", path)
    assert (code, out, err.count("\n")) == (1, "", 2)
    assert "image: expected a file of the bundle" in err
    code, _, err = shroom("bundle", "--check", tmp_path / "none.zip")
    assert code == 2
