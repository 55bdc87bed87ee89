"""Makes the golden files of the E2E manifests with HF Transformers: the one command that updates them.

    python tests/oracle/make_goldens.py                                        # every manifest with a tiny checkpoint
    python tests/oracle/make_goldens.py --checkpoint smollm2_135m_instruct=FOLDER    # and one with a real checkpoint
    python tests/oracle/make_goldens.py --bench FOLDER                         # prompts and ids of the benchmark

Needs torch, transformers, safetensors and numpy in the versions that README.md beside this file pins. Refuses a case in
which the oracle's choice hangs by a hair: such a case would test rounding and not the product.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO), str(REPO / "python")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

from tests.oracle.decoder_oracle import Oracle  # noqa: E402
from trtmc.e2e.fingerprint import config_sha256, weights_sha256  # noqa: E402
from trtmc.e2e.goldens import Golden, GoldenCase, GoldenTurn, save_golden  # noqa: E402
from trtmc.e2e.manifest import CaseSpec, CheckpointKind, Manifest, load_manifest  # noqa: E402
from trtmc.e2e.prompts import random_prompt  # noqa: E402
from trtmc.e2e.tiny import make_tiny  # noqa: E402

#: A greedy choice must win by this much. Float32 results of two good implementations differ by about 1e-5 here.
MIN_MARGIN = {CheckpointKind.TINY: 2e-4, CheckpointKind.NAMED: 1e-3}
#: Rows of logits that are kept per turn.
ROWS = {CheckpointKind.TINY: 4, CheckpointKind.NAMED: 3}
BENCH_PROMPTS, BENCH_LENGTH = 4, 128
BENCH_TEXT = Path("/usr/share/common-licenses/GPL-3")


def run_case(oracle: Oracle, manifest: Manifest, case: CaseSpec) -> GoldenCase:
    """All turns of one case."""
    rows = ROWS[manifest.checkpoint.kind]
    if case.turns:
        turns = oracle.conversation(case.turns, case.new_tokens, rows)
    else:
        if case.text:
            if oracle.tokenizer is None:
                raise SystemExit(f"{manifest.path}: case '{case.name}' has a text, the checkpoint no tokenizer")
            ids = oracle.tokenizer(case.text).input_ids
        else:
            ids = list(case.ids) or random_prompt(case, int(str(manifest.checkpoint.config["vocab_size"])))
        turns = [oracle.answer(ids, case.new_tokens, rows, stop_at_eos=False)]
    for turn in turns:
        check_margins(manifest, case, turn)
    return GoldenCase(case.name, tuple(turns))


def check_margins(manifest: Manifest, case: CaseSpec, turn: GoldenTurn) -> None:
    """Fails when a choice of the oracle was too close to call."""
    least = min(turn.margins)
    bound = MIN_MARGIN[manifest.checkpoint.kind]
    if least < bound:
        where = turn.margins.index(least)
        raise SystemExit(
            f"{manifest.path}: case '{case.name}': the oracle's choice {where} wins by {least}, less than {bound}; "
            "take another seed or prompt"
        )


def make(manifest: Manifest, folder: Path) -> Golden:
    """The whole golden file of one manifest."""
    oracle = Oracle(folder)
    return Golden(
        manifest=manifest.name,
        made_with={"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]},
        config_sha256=config_sha256(folder),
        weights_sha256=weights_sha256(folder),
        cases=tuple(run_case(oracle, manifest, case) for case in manifest.cases),
    )


def make_bench(folder: Path, out: Path) -> None:
    """Prompts of 128 ids from a long plain text, and the oracle's 128 greedy ids for each."""
    oracle = Oracle(folder)
    if oracle.tokenizer is None:
        raise SystemExit(f"{folder} has no tokenizer.json")
    words = " ".join(BENCH_TEXT.read_text(encoding="utf-8").split())
    ids = oracle.tokenizer(words).input_ids
    prompts = [ids[1000 * i + 137 : 1000 * i + 137 + BENCH_LENGTH] for i in range(1, BENCH_PROMPTS + 1)]
    cases = []
    for prompt in prompts:
        turn = oracle.answer(prompt, BENCH_LENGTH, 0, stop_at_eos=False)
        cases.append({"prompt": prompt, "greedy": turn.greedy_ids, "margins": turn.margins})
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    out.write_text(f'{{"weights_sha256": "{weights_sha256(folder)}",\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{out}: {len(cases)} prompts, least margin {min(min(case['margins']) for case in cases)}")


def find_manifests(names: list[str]) -> list[Manifest]:
    """All manifests of all families, or those named."""
    manifests = [load_manifest(path) for path in sorted(REPO.glob("families/*/e2e/*.toml"))]
    unknown = set(names) - {manifest.name for manifest in manifests}
    if unknown:
        raise SystemExit(f"no manifest is called {', '.join(sorted(unknown))}")
    return [manifest for manifest in manifests if not names or manifest.name in names]


def main() -> int:
    """Command line face."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manifest", action="append", default=[], help="only these, by name")
    parser.add_argument("--checkpoint", action="append", default=[], metavar="MANIFEST=FOLDER")
    parser.add_argument("--bench", type=Path, metavar="FOLDER", help="the SmolLM2 checkpoint")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    np.seterr(all="raise", under="ignore")
    given = dict(item.split("=", 1) for item in arguments.checkpoint)
    if arguments.bench:
        make_bench(arguments.bench, REPO / "bench" / "prompts.json")
        return 0
    for manifest in find_manifests([*arguments.manifest, *given]):
        if manifest.checkpoint.kind is CheckpointKind.NAMED and manifest.name not in given:
            print(f"{manifest.name}: left as it is (needs --checkpoint {manifest.name}=FOLDER)")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            spec = manifest.checkpoint
            tiny = spec.kind is CheckpointKind.TINY
            folder = Path(given.get(manifest.name) or scratch)
            golden = make(manifest, make_tiny(folder, spec.config, spec.seed, spec.dtype) if tiny else folder)
        save_golden(manifest.golden, golden)
        least = min(min(turn.margins) for case in golden.cases for turn in case.turns)
        size = manifest.golden.stat().st_size
        print(f"{manifest.name}: {len(golden.cases)} cases, least margin {least}, {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
