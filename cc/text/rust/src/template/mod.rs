//! Chat templates, rendered byte for byte as Transformers renders them with Jinja2's immutable sandbox.
//!
//! MiniJinja parses and runs them. Python's meaning of values comes from here: `operators`, `methods`, `filters`,
//! `text` (str and repr), `json`, `clock`. `messages` does what Transformers does around the template. A rendering
//! runs on a thread of its own, under the `limits`, so that no template can take the process down.

mod arguments;
mod chars;
pub mod clock;
mod escapes;
mod filters;
mod format;
mod globals;
mod json;
pub mod limits;
pub mod messages;
mod methods;
mod number;
mod operators;
mod printf;
mod sequences;
mod spec;
mod strings;
mod text;
mod types;

use std::sync::Once;

use minijinja::semantics::{self, Semantics};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use serde_json::Value as Json;

use crate::error::{Outcome, TextError};
use crate::mask;
use clock::Clock;

const NAME: &str = "chat template";

/// Renders `template` with the variables of `context`.
pub fn render(template: &str, context: Json, clock: Clock, alphabet: Option<mask::Alphabet>) -> Outcome<String> {
    on_own_thread(move || {
        mask::install(alphabet);
        let env = environment(template, clock)?;
        let outcome = env.get_template(NAME).and_then(|t| t.render(minijinja::Value::from_serialize(&context)));
        outcome.map_err(|e| describe(&e))
    })
}

/// Checks that a template can be compiled.
pub fn check(template: &str) -> Outcome<()> {
    on_own_thread(|| environment(template, Clock::Machine).map(|_| ()))
}

/// A big stack for deeply nested values; nothing of the work outlives the call.
fn on_own_thread<T: Send>(work: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("chat-template".into()).stack_size(limits::STACK_BYTES);
        let handle = thread
            .spawn_scoped(scope, || {
                limits::reset();
                globals::take_raised();
                work()
            })
            .map_err(|e| TextError::resource("template.no_thread", format!("no thread for the chat template: {e}")))?;
        handle.join().unwrap_or_else(|panic| Err(TextError::internal("template.panic", crate::ffi::panic_text(&panic))))
    })
}

fn environment(template: &str, clock: Clock) -> Outcome<Environment<'_>> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        semantics::install(Semantics {
            binary: operators::binary,
            negate: operators::negate,
            slice: operators::slice,
            attribute: methods::attribute,
            method: methods::call,
            assign: |name, value| globals::check_name(name).and_then(|()| limits::depth(value, 0)),
            iterate: operators::iterate,
            emit: limits::covers,
            unescape: escapes::unescape,
        });
    });
    if template.len() > limits::TEMPLATE_BYTES {
        return Err(TextError::resource("template.too_large", format!("the chat template has {} bytes; at most {} are allowed", template.len(), limits::TEMPLATE_BYTES)));
    }
    let mut env = Environment::new();
    env.set_trim_blocks(true);
    env.set_lstrip_blocks(true);
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_recursion_limit(limits::RECURSION);
    env.set_fuel(Some(limits::FUEL));
    register(&mut env, clock);
    env.set_formatter(|out, _, value| out.write_str(&text::str_of(value)?).map_err(Error::from));
    env.add_template(NAME, template).map_err(|e| describe(&e))?;
    Ok(env)
}

fn register(env: &mut Environment<'_>, clock: Clock) {
    filters::register(env);
    filters::register_tests(env);
    globals::register(env, clock);
}

/// The error as a sentence with the template's line.
fn describe(error: &Error) -> TextError {
    if let Some(sentence) = globals::take_raised() {
        return TextError::input("template.raised", sentence);
    }
    if limits::exceeded() || error.kind() == ErrorKind::OutOfFuel {
        let what = if limits::exceeded() { format!("{} MiB of text", limits::TEXT_BYTES >> 20) } else { format!("{} instructions", limits::FUEL) };
        return TextError::resource("template.limit", format!("the chat template was stopped after {what}; it does not end in reasonable time"));
    }
    let code = if error.kind() == ErrorKind::SyntaxError { "template.syntax" } else { "template.failed" };
    let mut innermost = error;
    while let Some(inner) = std::error::Error::source(innermost).and_then(|e| e.downcast_ref::<Error>()) {
        innermost = inner;
    }
    let place = error.line().map_or(String::new(), |line| format!(", line {line}"));
    let sentence = innermost.detail().map_or_else(|| innermost.kind().to_string(), str::to_string);
    TextError::input(code, format!("chat template{place}: {sentence}"))
}

/// `str.strip()`, or `str.rstrip()` when the left side stays.
fn strip_space(text: &str, left: bool) -> String {
    strings::strip(text, None, left, true)
}
