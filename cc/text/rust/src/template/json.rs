//! `tojson`: Python's `json.dumps`, with Transformers' defaults.

use minijinja::value::{Value, ValueKind};
use minijinja::Error;

use super::arguments::Arguments;
use super::limits;
use super::operators::{number, Number};
use super::text::str_of;
use super::types::{bad, items, pairs, type_name, Range};
use crate::mask::is_stand_in;

struct Dump {
    ascii: bool,
    sort: bool,
    indent: Option<String>,
    item: String,
    key: String,
}

/// The filter: `value|tojson(ensure_ascii=…, indent=…, separators=…, sort_keys=…)`.
pub fn tojson(value: &Value, values: &[Value]) -> Result<Value, Error> {
    let a = Arguments::new("tojson", values);
    a.only(4, &["ensure_ascii", "indent", "separators", "sort_keys"])?;
    let indent = match a.given(1, "indent") {
        None => None,
        Some(text) if text.as_str().is_some() => Some(str_of(&text)?),
        Some(_) => Some(" ".repeat(a.int(1, "indent", 0)?.clamp(0, 1 << 12) as usize)),
    };
    let mut dump = Dump {
        ascii: a.flag(0, "ensure_ascii"),
        sort: a.flag(3, "sort_keys"),
        item: if indent.is_some() { "," } else { ", " }.into(),
        key: ": ".into(),
        indent,
    };
    if let Some(separators) = a.given(2, "separators") {
        let pair = items(&separators)?;
        let [item, key] = pair.as_slice() else { return Err(bad("separators must be a pair of texts")) };
        (dump.item, dump.key) = (str_of(item)?, str_of(key)?);
    }
    let mut out = String::new();
    dump.value(value, 0, &mut out)?;
    limits::spend(out.len())?;
    Ok(Value::from(out))
}

impl Dump {
    fn value(&self, value: &Value, level: usize, out: &mut String) -> Result<(), Error> {
        if level > limits::DEPTH {
            return Err(bad(format!("values are nested more than {} levels deep", limits::DEPTH)));
        }
        if out.len() > limits::TEXT_BYTES {
            return limits::spend(out.len());
        }
        match value.kind() {
            ValueKind::None => *out += "null",
            ValueKind::Bool => *out += if value.is_true() { "true" } else { "false" },
            ValueKind::String => self.text(value.as_str().unwrap_or(""), out),
            ValueKind::Number => *out += &self.number(value)?,
            ValueKind::Map => self.object(value, level, out)?,
            ValueKind::Seq if value.downcast_object_ref::<Range>().is_none() => {
                let list = items(value)?;
                self.enclosed("[", "]", &list, level, out, |item, out| self.value(item, level + 1, out))?;
            }
            _ => return Err(bad(format!("Object of type {} is not JSON serializable", type_name(value)))),
        }
        Ok(())
    }

    fn number(&self, value: &Value) -> Result<String, Error> {
        Ok(match number(value) {
            Some(Number::Float(f)) if f.is_nan() => "NaN".into(),
            Some(Number::Float(f)) if f.is_infinite() => if f > 0.0 { "Infinity" } else { "-Infinity" }.into(),
            _ => str_of(value)?,
        })
    }

    fn object(&self, value: &Value, level: usize, out: &mut String) -> Result<(), Error> {
        let mut all = pairs(value)?;
        if self.sort {
            all.sort_by_key(|(key, _)| str_of(key).unwrap_or_default());
        }
        self.enclosed("{", "}", &all, level, out, |(key, item), out| {
            match key.kind() {
                ValueKind::String => self.text(key.as_str().unwrap_or(""), out),
                ValueKind::Number | ValueKind::Bool | ValueKind::None => {
                    out.push('"');
                    self.value(key, level + 1, out)?;
                    out.push('"');
                }
                _ => return Err(bad(format!("keys must be str, int, float, bool or None, not {}", type_name(key)))),
            }
            *out += &self.key;
            self.value(item, level + 1, out)
        })
    }

    fn enclosed<T>(
        &self, open: &str, close: &str, all: &[T], level: usize, out: &mut String,
        mut each: impl FnMut(&T, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        *out += open;
        for (i, item) in all.iter().enumerate() {
            if i > 0 {
                *out += &self.item;
            }
            self.new_line(level + 1, out);
            each(item, out)?;
        }
        if !all.is_empty() {
            self.new_line(level, out);
        }
        *out += close;
        Ok(())
    }

    fn new_line(&self, level: usize, out: &mut String) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            *out += &indent.repeat(level);
        }
    }

    fn text(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => *out += "\\\"",
                '\\' => *out += "\\\\",
                '\n' => *out += "\\n",
                '\r' => *out += "\\r",
                '\t' => *out += "\\t",
                '\u{8}' => *out += "\\b",
                '\u{c}' => *out += "\\f",
                // A stand-in becomes an ASCII character again after the rendering.
                c if (c as u32) < 32 || (self.ascii && !c.is_ascii() && !is_stand_in(c)) => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        *out += &format!("\\u{unit:04x}");
                    }
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}
