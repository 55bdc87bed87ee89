"""The checks of the tree: each finds what it is for, and nothing else."""

from __future__ import annotations

from tools.lint.checks import HOSTS, Source, missing_docstrings, read_exemptions, registry_hosts, too_long


def lines(count: int) -> str:
    return "x\n" * count


def test_a_long_file_is_named_with_its_size() -> None:
    (complaint,) = too_long([Source("a.py", lines(601)), Source("b.py", lines(600))], {})
    assert complaint.startswith("a.py: 601 lines, at most 600")


def test_an_exemption_may_only_shrink() -> None:
    exemptions = read_exemptions("# why\na.py 700\n")
    assert too_long([Source("a.py", lines(700))], exemptions) == []
    assert "701 lines, at most 700" in too_long([Source("a.py", lines(701))], exemptions)[0]
    assert "lower the limit to 650" in too_long([Source("a.py", lines(650))], exemptions)[0]
    assert "remove the line" in too_long([Source("a.py", lines(10))], exemptions)[0]
    assert "gone" in too_long([], exemptions)[0]


def test_generated_files_have_no_limit() -> None:
    assert too_long([Source("third_party/x.lock.bzl", lines(5000)), Source("goldens/a.json", lines(5000))], {}) == []


def test_every_registry_host_is_found_with_its_place() -> None:
    for host in HOSTS:
        (complaint,) = registry_hosts([Source("a.md", f"fine\nsee files.{host}/x\n")])
        assert complaint.startswith(f"a.md:2: names the host files.{host}")


def test_words_that_only_look_like_hosts_are_fine() -> None:
    assert registry_hosts([Source("a.toml", "[source.crates-io]\nfrom = 'PyPI'\n")]) == []


def test_docstrings() -> None:
    good = [
        Source("a.py", '"""What."""\n'),
        Source("b.py", '#!/x\n# c\n"""What."""\n'),
        Source("c.py", ""),
        Source("d.cc", "int x;"),
    ]
    assert missing_docstrings(good) == []
    assert missing_docstrings([Source("a.bzl", "x = 1\n")]) != []
