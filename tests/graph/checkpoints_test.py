"""One's own checkpoint in the graph: a local folder, and a hub at an exact revision, here a server on this machine."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.graph.harness import Checkout, sha256
from trtmc.e2e.tiny import make_tiny

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "use_sliding_window": False,
}
ENGINE = "//families/qwen:llm"
MINE = "--//families/qwen:checkpoint=@mine//:checkpoint"


def declared(tree: Checkout, tag: str) -> AbstractContextManager[None]:
    """MODULE.bazel with one more checkpoint, called @mine."""
    return tree.appended("MODULE.bazel", f'\n{tag}\nuse_repo(checkpoints, "mine")\n')


@contextmanager
def hub(folder: Path) -> Iterator[str]:
    """Serves a folder on this machine; gives the base URL."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()


def test_a_local_folder_takes_the_place_of_the_default_checkpoint_and_is_watched(
    tree: Checkout, tmp_path: Path
) -> None:
    folder = make_tiny(tmp_path / "model", CONFIG, seed=1)
    with declared(tree, f'checkpoints.local(name = "mine", path = "{folder}")'):
        tree.build(ENGINE, MINE)
        one = [sha256(path) for path in tree.files(ENGINE, MINE)]
        make_tiny(folder, CONFIG, seed=2)
        tree.build(ENGINE, MINE)
        assert [sha256(path) for path in tree.files(ENGINE, MINE)] != one


def test_a_folder_without_config_is_refused_by_name(tree: Checkout, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with declared(tree, f'checkpoints.local(name = "mine", path = "{tmp_path}")'):
        result = tree.bazel("build", "@mine//:checkpoint")
    assert result.code != 0 and f"{tmp_path} has no config.json" in result.text


def hub_tag(files: dict[str, str], revision: str = REVISION) -> str:
    return f'checkpoints.hub(name = "mine", model = "org/model", revision = "{revision}", files = {files!r})'.replace(
        "'", '"'
    )


def served_model(root: Path) -> dict[str, str]:
    """A model as a hub would serve it; its files' hashes."""
    folder = make_tiny(root / "org" / "model" / "resolve" / REVISION, CONFIG, seed=3)
    return {path.name: sha256(path) for path in folder.iterdir()}


def test_a_hub_at_an_exact_revision(tree: Checkout, tmp_path: Path) -> None:
    files = served_model(tmp_path)
    with hub(tmp_path) as url, declared(tree, hub_tag(files)):
        tree.build("@mine//:checkpoint", env={"HF_ENDPOINT": url})
        (built,) = tree.files("@mine//:checkpoint")
    assert {name: sha256(built / name) for name in files} == files


def test_a_wrong_hash_is_refused_and_names_the_file(tree: Checkout, tmp_path: Path) -> None:
    files = served_model(tmp_path) | {"config.json": "0" * 64}
    with hub(tmp_path) as url, declared(tree, hub_tag(files)):
        result = tree.bazel("build", "@mine//:checkpoint", env={"HF_ENDPOINT": url})
    assert result.code != 0
    assert "cannot fetch config.json of revision" in result.text and "0" * 64 in result.text
    assert sha256(tmp_path / "org/model/resolve" / REVISION / "config.json") in result.text, (
        "the found hash is told too"
    )


def test_without_a_hub_the_message_says_what_to_set(tree: Checkout) -> None:
    with declared(tree, hub_tag({"config.json": "1" * 64})):
        result = tree.bazel("build", "@mine//:checkpoint", env={"HF_ENDPOINT": ""})
    assert result.code != 0 and "set HF_ENDPOINT" in result.text


def test_a_branch_is_no_revision(tree: Checkout) -> None:
    with declared(tree, hub_tag({"config.json": "1" * 64}, revision="main")):
        result = tree.bazel("build", "@mine//:checkpoint")
    assert result.code != 0 and 'revision "main" is not a commit' in result.text
