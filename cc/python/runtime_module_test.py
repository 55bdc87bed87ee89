"""trtmc.runtime over a toy bundle: load, generate, stream, logits, failures."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from cc.testing.toy_root import built, copy, make_bundle, make_root
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


def letters(folder: Path) -> list[str]:
    """Options of a toy bundle: its tokens are the letters a to z, its chat template strings messages together."""
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": {chr(97 + i): i for i in range(26)}, "unk_token": "a"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "config.json").write_text("{}")
    (folder / "chat.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    files = {"--tokenizer": "tokenizer.json", "--tokenizer-config": "config.json", "--chat-template": "chat.jinja"}
    return [word for option, name in files.items() for word in (option, str(folder / name))]


def test_a_streamed_chat_is_the_chat_piece_by_piece(root: Path, tmp_path: Path) -> None:
    llm = runtime.load(make_bundle(tmp_path / "chat.bundle", *letters(tmp_path)), runtime_root=root)
    messages = [{"role": "system", "content": "ab"}, {"role": "user", "content": "c"}]
    assert llm.chat(messages, max_new_tokens=4).text == "defg"
    events = list(llm.stream_chat(messages, max_new_tokens=4))
    assert [event.id for event in events if event.id >= 0] == [3, 4, 5, 6]
    assert "".join(event.text for event in events) == "defg"
    stream = llm.stream_chat(messages)
    assert next(stream).text == "d"
    stream.close()  # ends its generation, so that the pipeline is free again
    assert llm.chat(messages, max_new_tokens=1).text == "d"
    with pytest.raises(runtime.RuntimeFailure, match="no_such_option"):
        next(llm.stream_chat(messages, no_such_option=1))


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


def test_a_target_or_a_gpu_by_name(root: Path) -> None:
    fat = make_bundle(root / "fat.bundle", "--and-sm-89")
    assert runtime.load(fat, runtime_root=root, target="table").target == "table"
    for options in ({"target": "sm_89"}, {"device": 7}):
        with pytest.raises(runtime.RuntimeFailure) as caught:
            runtime.load(fat, runtime_root=root, **options)
        assert caught.value.exit_code in (5, 6)  # no such GPU here, or no backend for it


def test_the_cpu_instead_of_a_gpu_that_fits_warns(root: Path, tmp_path: Path) -> None:
    fat = make_bundle(root / "fat.bundle", "--and-sm-89")
    copy(built("cc/gpu/libfake_cuda.so"), tmp_path / "libcuda.so.1")
    code = f"from trtmc import runtime; runtime.load({str(fat)!r}, runtime_root={str(root)!r})"
    env = {"PYTHONPATH": ":".join(sys.path), "LD_LIBRARY_PATH": str(tmp_path), "TRTMC_FAKE_GPUS": "Ada/8.9"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "RuntimeWarning: running on the CPU" in done.stderr
    assert "GPU 0 (Ada) would fit" in done.stderr


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
