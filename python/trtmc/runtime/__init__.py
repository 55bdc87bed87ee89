"""The runtime from Python: load a bundle, generate, stream, chat.

    from trtmc import runtime

    llm = runtime.load("smollm2.bundle")
    print(llm.chat([{"role": "user", "content": "Hello!"}]).text)
    for event in llm.stream("Once upon a time", max_new_tokens=40):
        print(event.text, end="", flush=True)

Prompts are text or lists of token ids. Computing releases the GIL. One call at a time on one pipeline; other pipelines
are independent. Failures raise `RuntimeFailure` with the runtime's stable `code` and its `exit_code`.
"""

from trtmc.runtime.pipeline import Pipeline, RuntimeFailure, TokenEvent, load

__all__ = ["Pipeline", "RuntimeFailure", "TokenEvent", "load"]
