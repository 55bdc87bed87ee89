"""trtmc.runtime over a toy bundle: load, generate, stream, logits, failures."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from cc.testing.toy_root import make_bundle, make_root
from trtmc import runtime


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    make_root(folder)
    make_bundle(folder / "toy.bundle", "--eos", "20")
    make_bundle(folder / "long.bundle", "--max-sequence", "4000000")
    return folder


@pytest.fixture
def toy(root: Path) -> runtime.Pipeline:
    return runtime.load(root / "toy.bundle", runtime_root=root)


def test_exported_names() -> None:
    assert runtime.__all__ == ["Pipeline", "RuntimeFailure", "TokenEvent", "load"]


def test_what_a_pipeline_says_of_itself(toy: runtime.Pipeline) -> None:
    assert (toy.vocab_size, toy.max_sequence, toy.eos_token_ids) == (26, 64, [20])
    assert (toy.family, toy.target, len(toy.bundle_id)) == ("toy", "table", 64)


def test_generate(toy: runtime.Pipeline) -> None:
    result = toy.generate([0, 1], max_new_tokens=3, logprobs=2)
    assert (result.ids, result.finish_reason, result.reused_tokens) == ([2, 3, 4], "length", 0)
    assert [step.chosen.id for step in result.logprobs] == [2, 3, 4]
    assert len(result.logprobs[0].top) == 2
    assert toy.generate([0, 1, 2], max_new_tokens=1).reused_tokens == 2
    toy.reset()
    assert toy.generate([0, 1, 2], max_new_tokens=1).reused_tokens == 0
    assert toy.generate([17]).ids == [18, 19, 20]
    assert toy.generate([17], ignore_eos=True, max_new_tokens=5).ids == [18, 19, 20, 21, 22]


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (26, 26), (27, 26), (1000000, 26)])
def test_any_number_of_logprobs(toy: runtime.Pipeline, asked: int, given: int) -> None:
    (step,) = toy.generate([3], max_new_tokens=1, logprobs=asked).logprobs
    assert len(step.top) == given


def test_a_seed_repeats(toy: runtime.Pipeline) -> None:
    def ids(seed: int) -> list[int]:
        return toy.generate([1], temperature=9.0, seed=seed, max_new_tokens=20, ignore_eos=True).ids

    assert ids(3) == ids(3)
    assert ids(3) != ids(4)


def test_callback_sees_events_and_can_stop(toy: runtime.Pipeline) -> None:
    seen = []

    def take(event: runtime.TokenEvent) -> bool:
        seen.append(event.id)
        return len(seen) < 3

    assert toy.generate([0], on_token=take).finish_reason == "cancelled"
    assert seen == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        toy.generate([0], on_token=lambda event: 1 / 0)
    assert toy.generate([0], max_new_tokens=1).ids == [1]


def test_stream(toy: runtime.Pipeline) -> None:
    assert [event.id for event in toy.stream([4], max_new_tokens=4)] == [5, 6, 7, 8]
    stream = toy.stream([4])
    assert next(stream).id == 5
    stream.close()
    assert toy.generate([0], max_new_tokens=1).ids == [1]
    with pytest.raises(runtime.RuntimeFailure, match="temperature"):
        next(toy.stream([4], temperature=-1))


def test_logits(toy: runtime.Pipeline) -> None:
    logits = toy.logits([1, 2, 3])
    assert logits.shape == (3, 26)
    assert logits.dtype == np.float32
    assert logits.argmax(-1).tolist() == [2, 3, 4]
    assert np.array_equal(toy.logits([1, 2, 3], chunk=2), logits)


def test_failures_have_codes(toy: runtime.Pipeline, root: Path) -> None:
    def failure(call: object) -> tuple[str, int]:
        with pytest.raises(runtime.RuntimeFailure) as caught:
            call()
        return caught.value.code, caught.value.exit_code

    assert failure(lambda: toy.generate([])) == ("generate.empty_prompt", 3)
    assert failure(lambda: toy.generate([26])) == ("generate.bad_token_id", 3)
    assert failure(lambda: toy.generate([0] * 65)) == ("generate.prompt_too_long", 3)
    assert failure(lambda: toy.generate([0], temperature=float("nan"))) == ("sampling.bad_option", 2)
    assert failure(lambda: toy.generate([0], temprature=1)) == ("generate.bad_option", 2)
    assert failure(lambda: toy.generate("text")) == ("generate.no_tokenizer", 4)
    assert failure(lambda: runtime.load(root / "none", runtime_root=root))[1] == 3
    assert failure(lambda: runtime.load(root / "toy.bundle", runtime_root=root / "bin")) == (
        "load.no_library_folder",
        6,
    )
    assert failure(lambda: runtime.load(root / "toy.bundle", verify="no"))[0] == "load.bad_option"


def test_other_threads_run_meanwhile_and_a_second_call_is_refused(root: Path) -> None:
    pipeline = runtime.load(root / "long.bundle", runtime_root=root)
    started = threading.Event()
    stop = threading.Event()

    def on_token(event: runtime.TokenEvent) -> bool:
        started.set()
        return not stop.is_set()

    worker = threading.Thread(target=lambda: pipeline.generate([0], max_new_tokens=4000000, on_token=on_token))
    worker.start()
    assert started.wait(30)
    with pytest.raises(runtime.RuntimeFailure, match="one call at a time"):
        pipeline.generate([0])
    stop.set()
    worker.join(30)
    assert not worker.is_alive()
    assert pipeline.generate([0], max_new_tokens=1).ids == [1]


def test_an_open_stream_does_not_hold_up_the_exit(root: Path) -> None:
    code = (
        f"from trtmc import runtime; s = runtime.load({str(root / 'long.bundle')!r}, runtime_root={str(root)!r})"
        ".stream([0], max_new_tokens=4000000); next(s)"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, timeout=60)
    assert done.returncode == 0
