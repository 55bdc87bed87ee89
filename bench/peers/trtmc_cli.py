"""Our own runtime as a bench peer: the ``trtmc`` program, as a user runs it.

One process per prompt. A first process streams and gives the time from process start to the first byte of the answer,
as a person at a terminal sees it. Further ones answer twice from an empty cache; the second answer is timed, as the
other peers' first (cold) generation is not timed either.

usage: trtmc_cli.py TRTMC BUNDLE LABEL [OPTION …]      (options are passed to ``trtmc run``)
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from common import NEW_TOKENS, THREADS, prompts


def command(program: str, bundle: str, prompt: list[int], options: list[str]) -> list[str]:
    """The command line for one prompt."""
    ids = ",".join(map(str, prompt))
    fixed = ["--ids", ids, "-n", str(NEW_TOKENS), "--ignore-eos", "--temperature", "0", "--threads", str(THREADS)]
    return [program, "run", bundle, *fixed, *options]


def seconds_to_first_byte(line: list[str]) -> float:
    """From just before the process starts to the first byte that it prints."""
    begin = time.time()
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if process.stdout is None or not process.stdout.read(1):
            raise SystemExit(f"no answer came from {' '.join(line[:3])}")
        first = time.time() - begin
        process.stdout.read()
    return first


def main() -> None:
    """Runs all prompts."""
    program, bundle, label, *options = sys.argv[1:]
    all_prompts = prompts()
    first = seconds_to_first_byte(command(program, bundle, all_prompts[0], options))
    answers = []
    for prompt in all_prompts:
        line = [*command(program, bundle, prompt, options), "--json", "--repeat", "2"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{label}: {done.stderr}")
        answers.append([json.loads(text) for text in done.stdout.splitlines()][-1])
    result = {
        "name": label,
        "prefill_s": [answer["timing"]["prefill_s"] for answer in answers],
        "step_s": [answer["timing"]["decode_s"] / (NEW_TOKENS - 1) for answer in answers],
        "first_token_s": first,
        "rss_mb": max(answer["peak_memory_bytes"] for answer in answers) / 2**20,
        "ids": [answer["ids"] for answer in answers],
    }
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
