//! `'{} and {name}'.format(…)`, as Python's `str.format` in Jinja2's sandbox.

use minijinja::value::Value;
use minijinja::Error;

use super::arguments::Arguments;
use super::limits;
use super::spec::Spec;
use super::text::{escaped, repr, str_of};
use super::types::bad;

/// Fills the fields of `format`.
pub fn format(format: &str, arguments: &Arguments) -> Result<Value, Error> {
    let mut automatic = 0;
    let out = fill(format, arguments, &mut automatic, 2)?;
    limits::spend(out.len())?;
    Ok(Value::from(out))
}

fn fill(format: &str, arguments: &Arguments, automatic: &mut usize, nesting: usize) -> Result<String, Error> {
    if nesting == 0 {
        return Err(bad("Max string recursion exceeded"));
    }
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        out += &rest[..at];
        let mark = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if rest.starts_with(mark) {
            out += mark;
            rest = &rest[1..];
        } else if mark == "}" {
            return Err(bad("Single '}' encountered in format string"));
        } else {
            let end = field_end(rest).ok_or_else(|| bad("expected '}' before end of string"))?;
            let piece = field(&rest[..end], arguments, automatic, nesting)?;
            limits::spend(piece.len())?;
            out += &piece;
            rest = &rest[end + 1..];
        }
    }
    Ok(out + rest)
}

fn field_end(text: &str) -> Option<usize> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn field(text: &str, arguments: &Arguments, automatic: &mut usize, nesting: usize) -> Result<String, Error> {
    let cut = text.find(['!', ':']).unwrap_or(text.len());
    let (path, mut tail) = text.split_at(cut);
    let mut value = resolve(path, arguments, automatic)?;
    if let Some(conversion) = tail.strip_prefix('!') {
        let letter = conversion.chars().next().ok_or_else(|| bad("end of string while looking for conversion specifier"))?;
        value = Value::from(match letter {
            's' => str_of(&value)?,
            'r' => repr(&value)?,
            'a' => repr(&value)?.chars().map(|c| if c.is_ascii() { c.to_string() } else { escaped(c) }).collect(),
            other => return Err(bad(format!("Unknown conversion specifier '{other}'"))),
        });
        tail = &conversion[letter.len_utf8()..];
    }
    let spec = match tail.strip_prefix(':') {
        Some(spec) => fill(spec, arguments, automatic, nesting - 1)?,
        None if tail.is_empty() => String::new(),
        None => return Err(bad("expected ':' after conversion specifier")),
    };
    Spec::parse(&spec)?.apply(&value)
}

/// `0`, `name`, `name.attribute`, `name[key]`, or nothing for the next in line.
fn resolve(path: &str, arguments: &Arguments, automatic: &mut usize) -> Result<Value, Error> {
    let cut = path.find(['.', '[']).unwrap_or(path.len());
    let (head, mut rest) = path.split_at(cut);
    let mut value = match (head.is_empty(), head.parse::<usize>()) {
        (true, _) => {
            *automatic += 1;
            arguments.positional(*automatic - 1)
        }
        (_, Ok(index)) => arguments.positional(index),
        _ => arguments.named(head),
    }
    .ok_or_else(|| bad(format!("no argument for the format field {head:?}")))?;
    while !rest.is_empty() {
        let (key, after) = if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| bad("Missing ']' in format string"))?;
            (&inner[..end], &inner[end + 1..])
        } else {
            let inner = rest.strip_prefix('.').ok_or_else(|| bad("Only '.' or '[' may follow ']' in format field specifier"))?;
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            inner.split_at(end)
        };
        let key = key.parse::<i64>().map_or_else(|_| Value::from(key), Value::from);
        value = value.get_item(&key)?;
        rest = after;
    }
    Ok(value)
}
