//! What a template may cost: a hostile one ends in an error, never in a full memory or a blown stack.
//!
//! Each rendering runs on a thread of its own (see `render`), so the account is that thread's.

use std::cell::Cell;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Instructions of the template engine; Qwen3's template takes about 60 per message.
pub const FUEL: u64 = 20_000_000;
/// Macros that call macros.
pub const RECURSION: usize = 200;
/// Bytes of text that one rendering may build in all, its output and every value in between included.
pub const TEXT_BYTES: usize = 512 << 20;
/// Bytes of a template.
pub const TEMPLATE_BYTES: usize = 2 << 20;
/// Lists in lists in lists.
pub const DEPTH: usize = 100;
/// Items of a list that an operator makes; Jinja2's sandbox has the same limit for range().
pub const ITEMS: usize = 100_000;
/// The rendering thread's stack; only touched pages count.
pub const STACK_BYTES: usize = 64 << 20;

thread_local! {
    static SPENT: Cell<usize> = const { Cell::new(0) };
}

/// Starts a new account.
pub fn reset() {
    SPENT.set(0);
}

/// Whether the account still covers `bytes` more; they are booked either way.
pub fn covers(bytes: usize) -> bool {
    let total = SPENT.get().saturating_add(bytes);
    SPENT.set(total);
    total <= TEXT_BYTES
}

/// Whether the account is overdrawn.
pub fn exceeded() -> bool {
    SPENT.get() > TEXT_BYTES
}

/// Books the bytes of a text that is about to be built.
pub fn spend(bytes: usize) -> Result<(), Error> {
    if covers(bytes) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidOperation, format!("the template builds more than {} MiB of text", TEXT_BYTES >> 20)))
}

/// Checks the length of a list that is about to be built.
pub fn items(count: usize) -> Result<(), Error> {
    if count > ITEMS {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("the template builds a list of {count} items; at most {ITEMS} are allowed")));
    }
    spend(count * std::mem::size_of::<Value>())
}

/// An error when lists and mappings are nested too deeply (or hold themselves).
pub fn depth(value: &Value, level: usize) -> Result<(), Error> {
    if level > DEPTH {
        return Err(Error::new(ErrorKind::InvalidOperation, format!("values are nested more than {DEPTH} levels deep")));
    }
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => value.try_iter()?.try_for_each(|item| depth(&item, level + 1)),
        ValueKind::Map => value.try_iter()?.try_for_each(|key| depth(&value.get_item(&key)?, level + 1)),
        _ => Ok(()),
    }
}
