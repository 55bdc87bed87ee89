//! Attributes and methods of values, as Python has them and Jinja2's immutable sandbox allows them.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::arguments::Arguments;
use super::operators::{equal, number, Number};
use super::types::{bad, is_list, is_tuple, items, pairs, tuple, type_name, view, Bound};
use super::{limits, strings};

const DICT: &[&str] = &["copy", "fromkeys", "get", "items", "keys", "values"];
const DICT_CHANGES: &[&str] = &["clear", "pop", "popitem", "setdefault", "update"];
const LIST: &[&str] = &["copy", "count", "index"];
const LIST_CHANGES: &[&str] = &["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"];
const TUPLE: &[&str] = &["count", "index"];

/// The methods of a value's type, and those of them that would change it.
fn names(value: &Value) -> (&'static [&'static str], &'static [&'static str]) {
    match value.kind() {
        ValueKind::String => (strings::NAMES, &[]),
        _ if is_dict(value) => (DICT, DICT_CHANGES),
        ValueKind::Seq if is_tuple(value) => (TUPLE, &[]),
        ValueKind::Seq if is_list(value) => (LIST, LIST_CHANGES),
        _ => (&[], &[]),
    }
}

/// Namespaces, loops and macros look like mappings to the template engine but are none.
pub fn is_dict(value: &Value) -> bool {
    if value.kind() != ValueKind::Map {
        return false;
    }
    let text = value.as_object().map_or("", |o| o.type_name());
    !["Namespace", "Loop", "Module", "Closure"].iter().any(|name| text.ends_with(name))
}

fn unsafe_access(value: &Value, name: &str) -> Error {
    bad(format!("access to attribute '{name}' of '{}' object is unsafe", type_name(value)))
}

/// What `value.name` is, where Python's own attributes come before (or, for `value[name]`, after) the keys.
pub fn attribute(value: &Value, name: &str, _item: bool) -> Result<Option<Value>, Error> {
    let (known, changing) = names(value);
    if !value.is_undefined() && (name.starts_with("__") || changing.contains(&name)) {
        return Ok(Some(Value::UNDEFINED)); // the sandbox's own answer; whoever uses it gets an error
    }
    if known.contains(&name) {
        return Ok(Some(Value::from_object(Bound { owner: value.clone(), name: name.to_string() })));
    }
    Ok(None)
}

/// `value.name(values)`; `None` when the template engine shall look itself.
pub fn call(_state: &State, value: &Value, name: &str, values: &[Value]) -> Option<Result<Value, Error>> {
    let full = format!("{}.{name}", type_name(value));
    let a = Arguments::new(&full, values);
    if let Some(text) = value.as_str() {
        return Some(strings::call(text, name, &a).unwrap_or_else(|| Err(unknown(value, name))));
    }
    let (known, changing) = names(value);
    if changing.contains(&name) || name.starts_with("__") {
        return Some(Err(unsafe_access(value, name)));
    }
    if known.contains(&name) {
        return Some(if value.kind() == ValueKind::Map { dict_method(value, name, &a) } else { list_method(value, name, &a) });
    }
    match (number(value), name) {
        (Some(Number::Float(f)), "is_integer") => Some(Ok(Value::from(f.fract() == 0.0))),
        (Some(Number::Int(i)), "bit_length") => Some(Ok(Value::from(128 - i.unsigned_abs().leading_zeros()))),
        _ => None,
    }
}

fn unknown(value: &Value, name: &str) -> Error {
    Error::new(ErrorKind::UnknownMethod, format!("'{}' object has no attribute '{name}'", type_name(value)))
}

fn dict_method(value: &Value, name: &str, a: &Arguments) -> Result<Value, Error> {
    let size = value.len().unwrap_or(0);
    limits::spend(size * std::mem::size_of::<Value>())?;
    Ok(match name {
        "items" => view("dict_items", pairs(value)?.into_iter().map(|(key, item)| tuple(vec![key, item])).collect()),
        "keys" => view("dict_keys", items(value)?),
        "values" => view("dict_values", pairs(value)?.into_iter().map(|(_, item)| item).collect()),
        "get" => {
            a.only(2, &[])?;
            let key = a.positional(0).ok_or_else(|| bad("get expected at least 1 argument, got 0"))?;
            let found = value.get_item(&key)?;
            if !found.is_undefined() {
                found
            } else {
                a.positional(1).unwrap_or(Value::from(()))
            }
        }
        "copy" => value.clone(),
        _ => return Err(unknown(value, name)),
    })
}

fn list_method(value: &Value, name: &str, a: &Arguments) -> Result<Value, Error> {
    if name == "copy" {
        return Ok(value.clone());
    }
    let wanted = a.positional(0).ok_or_else(|| bad(format!("{}() takes at least one argument", a.function)))?;
    let mut found = 0;
    for (index, item) in items(value)?.iter().enumerate() {
        if equal(item, &wanted, 0)? {
            if name == "index" {
                return Ok(Value::from(index));
            }
            found += 1;
        }
    }
    if name == "index" {
        return Err(bad("the value is not in the list"));
    }
    Ok(Value::from(found))
}
