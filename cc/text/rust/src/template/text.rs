//! Python's `str()` and `repr()` of the values that a template can hold.

use minijinja::value::{Value, ValueKind};
use minijinja::Error;

use super::chars;
use super::limits;
use super::number;
use super::types::{bad, items, pairs, DictView, Range, Tuple};
use crate::mask::is_stand_in;

/// `str(value)`: what `{{ value }}` prints.
pub fn str_of(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_string());
    }
    match value.kind() {
        ValueKind::Undefined => Ok(String::new()),
        _ => repr(value),
    }
}

/// `repr(value)`.
pub fn repr(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write_repr(value, 0, &mut out)?;
    limits::spend(out.len())?;
    Ok(out)
}

fn write_repr(value: &Value, level: usize, out: &mut String) -> Result<(), Error> {
    if level > limits::DEPTH {
        return Err(bad(format!("values are nested more than {} levels deep", limits::DEPTH)));
    }
    if out.len() > limits::TEXT_BYTES {
        return limits::spend(out.len());
    }
    if let Some(text) = value.as_str() {
        quote(text, out);
        return Ok(());
    }
    if let Some(tuple) = value.downcast_object_ref::<Tuple>() {
        let close = if tuple.0.len() == 1 { ",)" } else { ")" };
        return write_items(&tuple.0, "(", close, level, out);
    }
    if let Some(view) = value.downcast_object_ref::<DictView>() {
        *out += view.name;
        return write_items(&view.items, "([", "])", level, out);
    }
    if let Some(range) = value.downcast_object_ref::<Range>() {
        *out += &match range.step {
            1 => format!("range({}, {})", range.start, range.stop),
            step => format!("range({}, {}, {step})", range.start, range.stop),
        };
        return Ok(());
    }
    match value.kind() {
        ValueKind::Undefined => *out += "Undefined",
        ValueKind::None => *out += "None",
        ValueKind::Bool => *out += if value.is_true() { "True" } else { "False" },
        ValueKind::Number if value.is_integer() => *out += &value.to_string(),
        ValueKind::Number => *out += &number::float_repr(f64::try_from(value.clone())?),
        ValueKind::Seq | ValueKind::Iterable => return write_items(&items(value)?, "[", "]", level, out),
        ValueKind::Map => {
            out.push('{');
            for (i, (key, item)) in pairs(value)?.iter().enumerate() {
                if i > 0 {
                    *out += ", ";
                }
                write_repr(key, level + 1, out)?;
                *out += ": ";
                write_repr(item, level + 1, out)?;
            }
            out.push('}');
        }
        _ => *out += &value.to_string(),
    }
    Ok(())
}

fn write_items(items: &[Value], open: &str, close: &str, level: usize, out: &mut String) -> Result<(), Error> {
    *out += open;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            *out += ", ";
        }
        write_repr(item, level + 1, out)?;
    }
    *out += close;
    Ok(())
}

/// A text in quotes, as `repr` writes it.
pub fn quote(text: &str, out: &mut String) {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(mark);
    for c in text.chars() {
        match c {
            '\\' => *out += "\\\\",
            '\n' => *out += "\\n",
            '\r' => *out += "\\r",
            '\t' => *out += "\\t",
            c if c == mark => {
                out.push('\\');
                out.push(c);
            }
            c if c == ' ' || chars::is_printable(c) || is_stand_in(c) => out.push(c),
            c => *out += &escaped(c),
        }
    }
    out.push(mark);
}

/// `\xNN`, `\uNNNN` or `\UNNNNNNNN`.
pub fn escaped(c: char) -> String {
    match c as u32 {
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code @ 0x100..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}
