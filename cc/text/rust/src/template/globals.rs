//! The functions that every chat template can call.

use std::cell::RefCell;

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Environment, Error};

use super::arguments::Arguments;
use super::clock::Clock;
use super::limits;
use super::sequences::pair;
use super::text::str_of;
use super::types::{bad, items, pairs, Range};

thread_local! {
    static RAISED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The sentence that the template gave to `raise_exception` on this thread, once.
pub fn take_raised() -> Option<String> {
    RAISED.take()
}

pub fn register(env: &mut Environment<'_>, clock: Clock) {
    env.add_function("raise_exception", |message: Value| -> Result<Value, Error> {
        let message = str_of(&message)?;
        RAISED.replace(Some(message.clone()));
        Err(bad(message))
    });
    env.add_function("strftime_now", move |format: String| clock.now().format(&format));
    env.add_function("range", |values: Rest<Value>| range(&values));
    env.add_function("dict", |values: Rest<Value>| mapping(&Arguments::new("dict", &values)).map(Value::from_iter));
    env.add_function("namespace", |values: Rest<Value>| namespace(&Arguments::new("namespace", &values)));
    for name in ["debug", "lipsum"] {
        env.remove_global(name);
    }
}

fn range(values: &[Value]) -> Result<Value, Error> {
    let a = Arguments::new("range", values);
    a.only(3, &[])?;
    let (start, stop, step) = match a.positional.len() {
        0 => return Err(bad("range expected at least 1 argument, got 0")),
        1 => (0, a.int(0, "stop", 0)?, 1),
        _ => (a.int(0, "start", 0)?, a.int(1, "stop", 0)?, a.int(2, "step", 1)?),
    };
    let bound = 1 << 52;
    if step == 0 || [start, stop, step].iter().any(|n| n.abs() > bound) {
        return Err(bad("range() arg 3 must not be zero, and all must be below 2**52"));
    }
    let range = Range { start, stop, step };
    if range.len() > limits::ITEMS {
        return Err(bad(format!("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", limits::ITEMS)));
    }
    Ok(Value::from_object(range))
}

/// What `dict(…)` holds: the pairs of its argument, then the named ones.
fn mapping(a: &Arguments) -> Result<Vec<(Value, Value)>, Error> {
    a.positional.get(1).map_or(Ok(()), |_| Err(bad(format!("{} expected at most 1 argument", a.function))))?;
    let mut all: Vec<(Value, Value)> = match a.positional(0) {
        None => vec![],
        Some(given) if given.kind() == ValueKind::Map => pairs(&given)?,
        Some(given) => items(&given)?.iter().map(pair).collect::<Result<_, _>>()?,
    };
    for (name, value) in a.all_named() {
        let key = Value::from(name);
        match all.iter_mut().find(|(other, _)| *other == key) {
            Some(slot) => slot.1 = value,
            None => all.push((key, value)),
        }
    }
    Ok(all)
}

fn namespace(a: &Arguments) -> Result<Value, Error> {
    let all = mapping(a)?;
    for (key, value) in &all {
        check_name(key.as_str().unwrap_or(""))?;
        limits::depth(value, 0)?;
    }
    minijinja::functions::namespace(Some(Value::from_iter(all)))
}

/// Transformers keeps names with an underscore in front off namespaces.
pub fn check_name(name: &str) -> Result<(), Error> {
    if name.starts_with('_') {
        return Err(bad(format!("Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'. Please rename the attribute.")));
    }
    Ok(())
}
