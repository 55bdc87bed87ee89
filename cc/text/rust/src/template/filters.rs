//! Jinja2's filters where the template engine's own differ from them or are missing.

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Environment, Error};

use super::arguments::Arguments;
use super::json::tojson;
use super::limits;
use super::operators::{binary, compare_chain, number, Number};
use super::printf::percent;
use super::sequences;
use super::spec::check_width;
use super::strings;
use super::text::str_of;
use super::types::{bad, items, pairs, tuple, type_name};
use crate::mask::is_stand_in;

/// A filter by Python's calling rules.
type Body = fn(&Value, &Arguments) -> Result<Value, Error>;

const FILTERS: &[(&str, Body)] = &[
    ("abs", abs), ("attr", attr), ("capitalize", capitalize), ("center", center), ("count", length), ("d", default), ("default", default), ("e", escape),
    ("escape", escape), ("first", first), ("float", float), ("forceescape", escape), ("format", format), ("indent", indent), ("int", int),
    ("items", dict_items), ("join", join), ("last", last), ("length", length), ("list", list), ("lower", lower), ("replace", replace),
    ("reverse", reverse), ("round", round), ("safe", string), ("string", string), ("striptags", striptags), ("title", title), ("trim", trim),
    ("truncate", truncate), ("upper", upper), ("urlencode", urlencode), ("wordcount", wordcount),
];

/// Filters of the template engine that Jinja2 lacks, or whose Jinja2 form is not supported here.
const REMOVED: &[&str] = &["bool", "chain", "lines", "pprint", "split", "zip"];

pub fn register(env: &mut Environment<'_>) {
    for name in REMOVED {
        env.remove_filter(name);
    }
    for (name, body) in FILTERS.iter().chain(sequences::FILTERS) {
        env.add_filter(*name, move |value: Value, rest: Rest<Value>| body(&value, &Arguments::new(name, &rest)));
    }
    env.add_filter("tojson", |value: Value, rest: Rest<Value>| tojson(&value, &rest));
    env.add_filter("__tuple__", |value: Value| items(&value).map(tuple));
    env.add_filter("__compare__", |operands: Value, operators: Rest<Value>| compare_chain(&items(&operands)?, &operators));
}

fn text(value: &Value) -> Result<String, Error> {
    let text = str_of(value)?;
    limits::spend(text.len())?;
    Ok(text)
}

fn abs(value: &Value, _: &Arguments) -> Result<Value, Error> {
    match number(value) {
        Some(Number::Int(i)) => Ok(super::operators::int_value(i.checked_abs().ok_or_else(|| bad("an integer leaves the range of 128 bits"))?)),
        Some(Number::Float(f)) => Ok(Value::from(f.abs())),
        None => Err(bad(format!("bad operand type for abs(): '{}'", type_name(value)))),
    }
}

/// Python's attributes alone, never the keys of a dict.
fn attr(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let name = a.text(0, "name")?;
    match super::methods::attribute(value, &name, false)? {
        Some(found) => Ok(found),
        None if super::methods::is_dict(value) => Ok(Value::UNDEFINED),
        None => value.get_attr(&name),
    }
}

fn upper(value: &Value, _: &Arguments) -> Result<Value, Error> {
    Ok(Value::from(text(value)?.to_uppercase()))
}

fn lower(value: &Value, _: &Arguments) -> Result<Value, Error> {
    Ok(Value::from(text(value)?.to_lowercase()))
}

fn capitalize(value: &Value, _: &Arguments) -> Result<Value, Error> {
    Ok(Value::from(strings::capitalize(&text(value)?)))
}

/// Jinja2's own rule: words start after white space, hyphens and opening brackets.
fn title(value: &Value, _: &Arguments) -> Result<Value, Error> {
    let mut out = String::new();
    let mut inside = false;
    for c in text(value)?.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        inside = !(super::chars::is_space(c) || "-({[<".contains(c));
    }
    Ok(Value::from(out))
}

fn trim(value: &Value, a: &Arguments) -> Result<Value, Error> {
    Ok(Value::from(strings::strip(&text(value)?, a.optional_text(0, "chars")?.as_deref(), true, true)))
}

fn string(value: &Value, _: &Arguments) -> Result<Value, Error> {
    text(value).map(Value::from)
}

fn center(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let width = a.int(0, "width", 80)?;
    let arguments = [Value::from(width)];
    strings::call(&text(value)?, "center", &Arguments::new("center", &arguments)).unwrap_or_else(|| Err(bad("center")))
}

fn replace(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let part = |index, name| a.get(index, name).ok_or_else(|| bad(format!("replace() misses the argument {name}"))).and_then(|v| str_of(&v));
    strings::replace(&text(value)?, &part(0, "old")?, &part(1, "new")?, a.int(2, "count", -1)?).map(Value::from)
}

fn wordcount(value: &Value, _: &Arguments) -> Result<Value, Error> {
    let text = text(value)?;
    Ok(Value::from(text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).count()))
}

fn format(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let named = a.all_named();
    if !named.is_empty() && !a.positional.is_empty() {
        return Err(bad("can't handle positional and keyword arguments at the same time"));
    }
    let values = if named.is_empty() { tuple(a.positional.to_vec()) } else { named.into_iter().collect::<Value>() };
    percent(&text(value)?, &values)
}

fn indent(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let width = match a.given(0, "width") {
        Some(text) if text.as_str().is_some() => str_of(&text)?,
        _ => {
            let width = usize::try_from(a.int(0, "width", 4)?).unwrap_or(0);
            check_width(width)?;
            " ".repeat(width)
        }
    };
    let text = text(value)? + "\n";
    let lines = strings::lines(&text, false);
    limits::spend(lines.len().saturating_mul(width.len()))?;
    let mut out = if a.flag(1, "first") { width.clone() } else { String::new() };
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push('\n');
            if !line.is_empty() || a.flag(2, "blank") {
                out += &width;
            }
        }
        out += line;
    }
    Ok(Value::from(out))
}

fn truncate(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let text = text(value)?;
    let (length, leeway) = (a.int(0, "length", 255)?, a.int(3, "leeway", 5)?);
    let end = a.optional_text(2, "end")?.unwrap_or_else(|| "...".into());
    let chars: Vec<char> = text.chars().collect();
    if chars.len() as i64 <= length.saturating_add(leeway) {
        return Ok(Value::from(text));
    }
    let keep = usize::try_from(length - end.chars().count() as i64).map_err(|_| bad("truncate(): length is shorter than the end mark"))?;
    let cut: String = chars[..keep.min(chars.len())].iter().collect();
    let head = if a.flag(1, "killwords") { cut.as_str() } else { cut.rsplit_once(' ').map_or(cut.as_str(), |(head, _)| head) };
    Ok(Value::from(format!("{head}{end}")))
}

fn escape(value: &Value, _: &Arguments) -> Result<Value, Error> {
    let mut out = String::new();
    for c in text(value)?.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '\'' => out += "&#39;",
            '"' => out += "&#34;",
            c => out.push(c),
        }
    }
    Ok(Value::from(out))
}

fn striptags(value: &Value, _: &Arguments) -> Result<Value, Error> {
    let mut text = text(value)?;
    for (open, close) in [("<!--", "-->"), ("<", ">")] {
        while let Some(start) = text.find(open) {
            let Some(end) = text[start..].find(close) else { break };
            text.replace_range(start..start + end + close.len(), "");
        }
    }
    let words: Vec<&str> = text.split(super::chars::is_space).filter(|w| !w.is_empty()).collect();
    let decoded = words.join(" ").replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", "\"").replace("&quot;", "\"").replace("&#39;", "'");
    Ok(Value::from(decoded.replace("&amp;", "&")))
}

fn urlencode(value: &Value, _: &Arguments) -> Result<Value, Error> {
    let quote = |text: &str, safe: &str| -> String {
        let keep = |b: u8| b.is_ascii_alphanumeric() || b"_.-~".contains(&b) || safe.as_bytes().contains(&b);
        let byte = |b: u8| if keep(b) { (b as char).to_string() } else { format!("%{b:02X}") };
        text.chars().map(|c| if is_stand_in(c) { c.to_string() } else { c.to_string().bytes().map(byte).collect() }).collect()
    };
    if value.as_str().is_some() || number(value).is_some() {
        return Ok(Value::from(quote(&text(value)?, "/")));
    }
    let all = if value.kind() == ValueKind::Map { pairs(value)? } else { items(value)?.iter().map(sequences::pair).collect::<Result<_, _>>()? };
    let part = |v: &Value| text(v).map(|t| quote(&t, "").replace("%20", "+"));
    let parts = all.iter().map(|(key, item)| Ok(format!("{}={}", part(key)?, part(item)?))).collect::<Result<Vec<_>, Error>>()?;
    Ok(Value::from(parts.join("&")))
}

fn length(value: &Value, _: &Arguments) -> Result<Value, Error> {
    match (value.kind(), value.len()) {
        (ValueKind::Undefined, _) => Ok(Value::from(0)),
        (ValueKind::String, _) => Ok(Value::from(value.as_str().unwrap_or("").chars().count())),
        (_, Some(length)) => Ok(Value::from(length)),
        _ => Err(bad(format!("object of type '{}' has no len()", type_name(value)))),
    }
}

fn first(value: &Value, _: &Arguments) -> Result<Value, Error> {
    Ok(items(value)?.into_iter().next().unwrap_or(Value::UNDEFINED))
}

fn last(value: &Value, _: &Arguments) -> Result<Value, Error> {
    Ok(items(value)?.pop().unwrap_or(Value::UNDEFINED))
}

fn list(value: &Value, _: &Arguments) -> Result<Value, Error> {
    let all = items(value)?;
    limits::spend(all.len() * std::mem::size_of::<Value>())?;
    Ok(Value::from(all))
}

fn reverse(value: &Value, _: &Arguments) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        limits::spend(text.len())?;
        return Ok(Value::from(text.chars().rev().collect::<String>()));
    }
    let mut all = items(value)?;
    all.reverse();
    Ok(Value::from(all))
}

fn join(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let separator = a.get(0, "d").map_or(Ok(String::new()), |v| str_of(&v))?;
    let mut out = String::new();
    for (i, item) in items(value)?.into_iter().enumerate() {
        let item = match a.given(1, "attribute") {
            Some(path) => sequences::by_path(&item, &path)?,
            None => item,
        };
        let piece = str_of(&item)?;
        limits::spend(piece.len() + separator.len())?;
        if i > 0 {
            out += &separator;
        }
        out += &piece;
    }
    Ok(Value::from(out))
}

fn default(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let falls_back = value.is_undefined() || (a.flag(1, "boolean") && !value.is_true());
    Ok(if falls_back { a.get(0, "default_value").unwrap_or_else(|| Value::from("")) } else { value.clone() })
}

fn dict_items(value: &Value, _: &Arguments) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(Value::from(Vec::<Value>::new())),
        ValueKind::Map => Ok(Value::from(pairs(value)?.into_iter().map(|(key, item)| tuple(vec![key, item])).collect::<Vec<_>>())),
        _ => Err(bad("Can only get item pairs from a mapping.")),
    }
}

fn int(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let default = || Ok(a.get(0, "default").unwrap_or_else(|| Value::from(0)));
    match number(value) {
        Some(Number::Int(i)) => return Ok(super::operators::int_value(i)),
        Some(Number::Float(f)) if f.is_finite() => return Ok(super::operators::int_value(f.trunc() as i128)),
        Some(_) => return default(),
        None => {}
    }
    let Some(text) = value.as_str() else { return default() };
    let base = a.int(1, "base", 10)?;
    let text = strings::strip(text, None, true, true).replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let prefix = match base { 2 => "0b", 8 => "0o", 16 => "0x", _ => "" };
    let digits = digits.to_lowercase();
    let digits = digits.strip_prefix(prefix).unwrap_or(&digits);
    if (2..=36).contains(&base) {
        if let Ok(i) = i128::from_str_radix(digits, base as u32) {
            return Ok(super::operators::int_value(sign * i));
        }
    }
    match text.parse::<f64>() {
        Ok(f) if f.is_finite() => Ok(super::operators::int_value(f.trunc() as i128)),
        _ => default(),
    }
}

fn float(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let parsed = match number(value) {
        Some(Number::Int(i)) => Some(i as f64),
        Some(Number::Float(f)) => Some(f),
        None => value.as_str().and_then(|text| strings::strip(text, None, true, true).replace('_', "").parse().ok()),
    };
    Ok(parsed.map_or_else(|| a.get(0, "default").unwrap_or_else(|| Value::from(0.0)), Value::from))
}

fn round(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let (precision, method) = (a.int(0, "precision", 0)?, a.optional_text(1, "method")?.unwrap_or_else(|| "common".into()));
    let Some(given) = number(value) else { return Err(bad(format!("type {} doesn't define __round__ method", type_name(value)))) };
    if !(-30..=30).contains(&precision) {
        return Err(bad("round(): the precision must be between -30 and 30"));
    }
    let f = match given { Number::Int(i) => i as f64, Number::Float(f) => f };
    let scale = 10f64.powi(precision as i32);
    match (method.as_str(), given) {
        ("common", Number::Int(_)) if precision >= 0 => Ok(value.clone()),
        ("common", Number::Int(i)) => {
            let step = 10i128.pow(-precision as u32);
            let (low, rest) = (i.div_euclid(step), i.rem_euclid(step));
            let up = rest * 2 > step || (rest * 2 == step && low % 2 != 0);
            Ok(super::operators::int_value((low + i128::from(up)) * step))
        }
        ("common", _) if precision >= 0 => Ok(Value::from(format!("{f:.*}", precision as usize).parse::<f64>().unwrap_or(f))),
        ("common", _) => Ok(Value::from((f * scale).round_ties_even() / scale)),
        ("ceil", _) => Ok(Value::from((f * scale).ceil() / scale)),
        ("floor", _) => Ok(Value::from((f * scale).floor() / scale)),
        _ => Err(bad("method must be common, ceil or floor")),
    }
}

/// Tests whose meaning is Python's.
pub fn register_tests(env: &mut Environment<'_>) {
    use minijinja::semantics::Operator;
    let operators: [(Operator, &[&str]); 7] = [
        (Operator::Eq, &["eq", "equalto", "=="]), (Operator::Ne, &["ne", "!="]), (Operator::Lt, &["lt", "lessthan", "<"]),
        (Operator::Lte, &["le", "<="]), (Operator::Gt, &["gt", "greaterthan", ">"]), (Operator::Gte, &["ge", ">="]), (Operator::In, &["in"]),
    ];
    for (operator, names) in operators {
        for name in names {
            env.add_test(*name, move |a: Value, b: Value| binary(operator, &a, &b).map(|v| v.is_true()));
        }
    }
    env.add_test("mapping", |v: Value| v.kind() == ValueKind::Map);
    env.add_test("iterable", |v: Value| matches!(v.kind(), ValueKind::Undefined | ValueKind::Map | ValueKind::Seq | ValueKind::Iterable | ValueKind::String));
    env.add_test("sequence", |v: Value| matches!(v.kind(), ValueKind::Undefined | ValueKind::Map | ValueKind::String | ValueKind::Seq));
    env.add_test("number", |v: Value| number(&v).is_some());
    env.add_test("integer", |v: Value| v.kind() == ValueKind::Number && v.is_integer());
    env.add_test("float", |v: Value| v.kind() == ValueKind::Number && !v.is_integer());
    env.add_test("boolean", |v: Value| v.kind() == ValueKind::Bool);
    env.add_test("callable", |v: Value| v.kind() == ValueKind::Plain || v.as_object().is_some_and(|o| o.type_name().contains("Macro")));
    env.add_test("escaped", |_: Value| false);
    env.add_test("lower", |v: Value| str_of(&v).map(|t| t.chars().any(super::chars::is_cased) && t.to_lowercase() == t));
    env.add_test("upper", |v: Value| str_of(&v).map(|t| t.chars().any(super::chars::is_cased) && t.to_uppercase() == t));
}
