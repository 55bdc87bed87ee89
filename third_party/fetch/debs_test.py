"""The Debian fetcher: locks, mirrors out of apt's configuration, hashes. No network: apt is a function of ours here."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from third_party.fetch import debs

SHA = "a" * 64


def test_lock_lines_round_trip() -> None:
    text = f"# a comment\n\n{SHA}  zlib1g  1:1.3-1  amd64  sid  # why\n"
    (pin,) = debs.parse_lock(text)
    assert pin.line() == f"{SHA}  zlib1g  1:1.3-1  amd64  sid"
    assert pin.file_name == "zlib1g_1%3a1.3-1_amd64.deb"


@pytest.mark.parametrize("line", [f"{SHA[:-1]}  a 1 all sid", f"{SHA} a 1 all", f"{SHA} a 1 all sid more"])
def test_a_bad_lock_line_is_named(line: str) -> None:
    with pytest.raises(debs.FetchError, match="lock line 1"):
        debs.parse_lock(line)


def test_mirror_comes_from_the_debian_main_archive() -> None:
    text = "\n".join(
        [
            "mirror://tools|Other|main",
            "mirror://a/debian-security|Debian|main",
            "mirror://a/debian|Debian|contrib",
            "mirror://b/debian|Debian|main",
        ]
    )
    assert debs.mirror_from_targets(text) == "mirror://b/debian"
    assert debs.mirror_from_targets("") is None


@pytest.mark.parametrize(
    "text", ["Types: deb\nURIs: file:///srv/debian/\n", "# x\ndeb [arch=amd64] file:///srv/debian/ sid main\n"]
)
def test_mirror_from_sources_of_both_forms(text: str) -> None:
    assert debs.mirror_from_sources(text) == "file:///srv/debian/"


def test_other_archives_are_no_mirror() -> None:
    assert debs.mirror_from_sources("deb file:///srv/tools stable main\n") is None


def test_a_wrong_hash_names_file_expected_found_and_remedy(tmp_path: Path) -> None:
    pin = debs.Pin(SHA, "a", "1", "all", "sid")
    path = tmp_path / pin.file_name
    path.write_bytes(b"other")
    with pytest.raises(debs.FetchError) as caught:
        debs.check(pin, path)
    message = str(caught.value)
    assert (
        "a_1_all.deb" in message
        and SHA in message
        and debs.hashlib.sha256(b"other").hexdigest() in message
        and "make lock" in message
    )
    assert not path.exists(), "a wrong file must not stay where a later run would find it"


class FakeSuite:
    """Stands for one suite: knows versions, writes files."""

    name = "sid"

    def __init__(self, offered: dict[str, str]) -> None:
        self.offered = offered
        self.updates = 0

    def has_index(self) -> bool:
        return True

    def update(self) -> None:
        self.updates += 1

    def versions(self, names: list[str]) -> set[tuple[str, str]]:
        return {(name, self.offered[name]) for name in names if name in self.offered}

    def pins(self, names: list[str]) -> dict[str, debs.Pin]:
        return {
            name: debs.Pin("b" * 64, name, self.offered[name], "all", self.name)
            for name in names
            if name in self.offered
        }

    def download(self, pins: list[debs.Pin], into: Path) -> None:
        for pin in pins:
            (into / pin.file_name).write_text(pin.version)


def test_a_version_that_has_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    suite = FakeSuite({"a": "2"})
    with pytest.raises(debs.FetchError, match=r"no longer offers 1 pinned.*\n  a 1\n.*make lock"):
        debs.fetch_suite(suite, [debs.Pin(SHA, "a", "1", "all", "sid")], tmp_path, newer_ok=False)
    assert suite.updates == 1, "the index is refreshed before a version is given up"


def test_a_newer_version_is_taken_only_when_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (got,) = debs.fetch_suite(FakeSuite({"a": "2"}), [debs.Pin(SHA, "a", "1", "all", "sid")], tmp_path, newer_ok=True)
    assert (got.version, got.sha256) == ("2", "b" * 64)
    assert "a 1 has left Debian sid; taking 2" in capsys.readouterr().err


def test_a_kit_s_files_are_taken_without_asking_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"a package"
    sha256 = hashlib.sha256(content).hexdigest()
    place = tmp_path / "kit" / "content_addressable" / "sha256" / sha256 / "file"
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    monkeypatch.setenv("TRTMC_KIT", str(tmp_path / "kit"))
    monkeypatch.setattr(debs, "fetch_suite", lambda *_: pytest.fail("the archive was asked"))
    monkeypatch.setattr(debs, "state_root", lambda: tmp_path)
    pin = debs.Pin(sha256, "a", "1", "all", "sid")
    assert debs.fetch([pin], tmp_path / "into", newer_ok=False) == [pin]
    assert (tmp_path / "into" / "a_1_all.deb").read_bytes() == content
