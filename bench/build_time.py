"""Build time: checkpoint → bundle by ``trtmc-build``, per phase, against optimum's export of the same checkpoint.

Our side includes packing, hashing, a full verification of the bundle and a parity check of its answer against the
oracle's ids. The other side is the export alone. Both are whole processes, run in turn; wall time, peak memory,
medians.

    python -m bench.build_time --checkpoint FOLDER --runtime-root DIR --trtmc-build "python -m trtmc.cli"
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers_setup import bench_dir, clean_environment, read_status
from bench.run import PROMPTS, leading_equal


@dataclass(frozen=True)
class Timed:
    """One finished process."""

    seconds: float
    peak_mb: float
    stdout: str
    cpu_seconds: float = 0.0


def timed(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Timed:
    """Runs a command to its end; raises RuntimeError with its last words if it failed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"`{shlex.join(command)}` failed: {err.read().decode()[-400:]}")
        cpu = usage.ru_utime + usage.ru_stime
        peak_mb = usage.ru_maxrss * 1024 / 1e6  # the kernel counts in KiB
        return Timed(seconds, peak_mb, out.read().decode(), cpu)


def our_build(builder: Sequence[str], runtime: Path | None, checkpoint: Path, scratch: Path) -> dict[str, Any]:
    """Build, verification and parity check: seconds of each, phases, peak memory, sizes."""
    bundle, report = scratch / "x.bundle", scratch / "report.json"
    bundle.unlink(missing_ok=True)
    build = timed([*builder, str(checkpoint), "-o", str(bundle), "--report", str(report), "--json", "-q"])
    megabytes = bundle.stat().st_size / 1e6
    found: dict[str, Any] = {"build_s": build.seconds, "peak_mb": build.peak_mb, "bundle_mb": megabytes}
    found["report"] = json.loads(report.read_text())
    found["verify_s"] = timed([*builder, "verify", str(bundle)]).seconds
    if runtime is not None:
        found |= parity(runtime, bundle)
    found["sum_s"] = found["build_s"] + found["verify_s"] + found.get("parity_s", 0.0)
    return found


def parity(runtime: Path, bundle: Path) -> dict[str, Any]:
    """The bundle's greedy answer to the first benchmark prompt against the oracle's ids."""
    case = json.loads(PROMPTS.read_text())["cases"][0]
    command = [str(runtime / "bin" / "trtmc"), "run", str(bundle), "--ids", ",".join(map(str, case["prompt"]))]
    done = timed([*command, "-n", "64", "--temperature", "0", "--ignore-eos", "--json"])
    ids = json.loads(done.stdout.splitlines()[-1])["ids"]
    return {"parity_s": done.seconds, "parity_equal_ids": leading_equal(case["greedy"][:64], ids)}


def optimum_export(checkpoint: Path, scratch: Path) -> dict[str, Any]:
    """The usual way: optimum-cli export openvino, 16-bit weights."""
    out = scratch / "optimum"
    shutil.rmtree(out, ignore_errors=True)
    program = bench_dir() / "venv-optimum" / "bin" / "optimum-cli"
    command = [str(program), "export", "openvino", "--model", str(checkpoint), "--task", "text-generation-with-past"]
    done = timed([*command, "--weight-format", "fp16", str(out)], clean_environment())
    return {"export_s": done.seconds, "peak_mb": done.peak_mb}


def markdown(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]], missing: str) -> str:
    """Two short tables."""
    lines = ["| step | seconds (median) |", "| --- | --- |"]
    phases = ours[0]["report"]
    for group, part in [*phases["components"].items(), ("packing", phases["bundle"])]:
        lines += [f"| {group}: {phase['name']} | {phase['seconds']:.2f} |" for phase in part["phases"]]
    for key, label in (("build_s", "the whole process"), ("verify_s", "verify"), ("parity_s", "parity check")):
        if key in ours[0]:
            lines.append(f"| {label} | {statistics.median(run[key] for run in ours):.2f} |")
    total = statistics.median(run["sum_s"] for run in ours)
    lines.append(f"| **sum** | **{total:.2f}** |")
    peak = max(run["peak_mb"] for run in ours)
    limit = ours[0]["bundle_mb"] * 1.3 + 400
    lines += ["", f"Peak memory {peak:.0f} MB (bound: bundle size × 1.3 + 400 MB = {limit:.0f} MB)."]
    if theirs:
        export = statistics.median(run["export_s"] for run in theirs)
        top = max(run["peak_mb"] for run in theirs)
        ratio = export / total
        lines.append(f"optimum-cli export openvino: {export:.1f} s, peak {top:.0f} MB: {ratio:.1f} times ours.")
    else:
        lines.append(f"optimum-cli export openvino: {missing}")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line face."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--runtime-root", type=Path)
    parser.add_argument("--trtmc-build", default=f"{sys.executable} -m trtmc.cli")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=bench_dir() / "results")
    arguments = parser.parse_args(argv)
    missing = read_status().get("openvino_genai", "not run here: not set up (bench/peers_setup.py)")
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    builder = shlex.split(arguments.trtmc_build)
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(arguments.rounds):
            ours.append(our_build(builder, arguments.runtime_root, arguments.checkpoint, Path(scratch)))
            if missing == "ok":
                theirs.append(optimum_export(arguments.checkpoint, Path(scratch)))
    table = markdown(ours, theirs, missing)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "build_time.md").write_text(table, encoding="utf-8")
    raw = json.dumps({"ours": ours, "optimum": theirs})
    (arguments.out / "build_time.json").write_text(raw + "\n", encoding="utf-8")
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
