"""OpenVINO GenAI as a bench peer.

usage: ov_genai.py IR_FOLDER LABEL [PROPERTY=VALUE …]     (properties of the CPU plugin)
"""

from __future__ import annotations

import sys
import time

import numpy as np
import openvino as ov
import openvino_genai as genai
from common import NEW_TOKENS, THREADS, Recorder, prompts


class Stopwatch(genai.StreamerBase):  # type: ignore[misc]
    """Notes the clock at each token that the pipeline hands out."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[float] = []
        self.ids: list[int] = []

    def write(self, token: int | list[int]) -> genai.StreamingStatus:
        """Called with one id, or several at once."""
        for one in [token] if isinstance(token, int) else token:
            self.moments.append(time.time())
            self.ids.append(one)
        return genai.StreamingStatus.RUNNING

    def end(self) -> None:
        """Nothing is held back."""


def main() -> None:
    """Runs all prompts once."""
    folder, label = sys.argv[1:3]
    properties = dict(argument.split("=", 1) for argument in sys.argv[3:])
    pipeline = genai.LLMPipeline(folder, "CPU", INFERENCE_NUM_THREADS=THREADS, **properties)
    config = genai.GenerationConfig()
    config.max_new_tokens = config.min_new_tokens = NEW_TOKENS
    config.ignore_eos = True
    config.do_sample = False
    recorder = Recorder(label)
    for prompt in prompts():
        ids = np.array([prompt], np.int64)
        watch = Stopwatch()
        begin = time.time()
        pipeline.generate(genai.TokenizedInputs(ov.Tensor(ids), ov.Tensor(np.ones_like(ids))), config, watch)
        recorder.add(begin, watch.moments, watch.ids)
    recorder.finish()


if __name__ == "__main__":
    main()
