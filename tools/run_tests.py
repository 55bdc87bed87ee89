"""`make test`: every test of the build, then those that cannot run inside an action, then one closing line that
counts them. What the latter need of the machine is installed meanwhile.

python3 tools/run_tests.py [PATTERN...]      patterns as for `bazel test`; default //...
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
#: Tests that start Bazel, container engines and servers themselves, so they cannot run inside an action.
SUITES = ("//tests/graph", "//tests/images")


def bazel_tests(patterns: list[str], events: Path) -> tuple[int, Counter[str]]:
    """Runs `bazel test`; returns its status and how many tests passed, failed and were skipped."""
    done = subprocess.run(
        ["bazel", "test", "--keep_going", f"--build_event_json_file={events}", "--", *patterns], cwd=REPO, check=False
    )
    counts: Counter[str] = Counter()
    for line in events.read_text("utf-8").splitlines() if events.is_file() else []:
        summary = json.loads(line).get("testSummary")
        if summary:
            counts["passed" if summary.get("overallStatus") == "PASSED" else "failed"] += 1
    return done.returncode, counts


def closing_counts(line: str) -> Counter[str] | None:
    """How many tests passed, failed and were skipped, if this is the line that pytest ends with."""
    if not re.search(r"\b(passed|failed|errors?|skipped)\b.* in [\d.]+s", line):
        return None
    counts: Counter[str] = Counter()
    for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", line):
        counts["failed" if word.startswith("error") else word] += int(number)
    return counts


def suite(target: str) -> tuple[int, Counter[str]]:
    """Runs one suite with `bazel run`; its output is shown as it comes."""
    counts: Counter[str] = Counter()
    process = subprocess.Popen(
        ["bazel", "run", "--ui_event_filters=-info", target], cwd=REPO, stdout=subprocess.PIPE, text=True
    )
    for line in process.stdout or []:
        print(line, end="", flush=True)
        counts = closing_counts(line) or counts
    return process.wait(), counts


@contextmanager
def containers() -> Iterator[None]:
    """Installs what the suites need beyond a build while the block runs, and then shows what the installer said; where
    something cannot be had, its tests say "not run here".
    """
    with tempfile.TemporaryFile("w+") as said:
        installer = subprocess.Popen([REPO / "tools" / "setup-containers.sh"], stdout=said, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            installer.wait()
            said.seek(0)
            print(said.read(), end="", flush=True)


def main(patterns: list[str]) -> int:
    """Runs all, prints the closing line, and fails if anything failed or nothing ran."""
    with tempfile.TemporaryDirectory() as scratch, nullcontext() if patterns else containers():
        status, counts = bazel_tests(patterns or ["//..."], Path(scratch) / "events.json")
    if status == 0 and not patterns:
        for target in SUITES:
            suite_status, suite_counts = suite(target)
            status = status or suite_status
            counts += suite_counts
    failed = counts["failed"] or int(status != 0)
    print(f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")
    return 1 if failed or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
