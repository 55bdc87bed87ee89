//! The methods of Python's `str`.

use minijinja::value::Value;
use minijinja::Error;

use super::arguments::Arguments;
use super::chars::{ends_line, is_cased, is_decimal, is_digit, is_printable, is_space, title_case};
use super::format;
use super::limits;
use super::spec::check_width;
use super::types::{bad, is_tuple, items, tuple, type_name};

/// Every method; the sandbox allows them all.
pub const NAMES: &[&str] = &[
    "capitalize", "casefold", "center", "count", "encode", "endswith", "expandtabs", "find", "format", "format_map", "index", "isalnum", "isalpha",
    "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper", "join", "ljust",
    "lower", "lstrip", "maketrans", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rjust", "rpartition", "rsplit",
    "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "translate", "upper", "zfill",
];

/// `text.name(arguments)`; `None` when there is no such method here.
pub fn call(text: &str, name: &str, a: &Arguments) -> Option<Result<Value, Error>> {
    limits::spend(text.len()).map_or_else(|e| Some(Err(e)), |()| dispatch(text, name, a).transpose())
}

/// Methods that take no arguments.
const PLAIN: &[&str] = &[
    "capitalize", "casefold", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace",
    "istitle", "isupper", "lower", "swapcase", "title", "upper",
];

fn dispatch(s: &str, name: &str, a: &Arguments) -> Result<Option<Value>, Error> {
    if PLAIN.contains(&name) {
        a.only(0, &[])?;
    }
    let all = |test: &dyn Fn(char) -> bool| Value::from(!s.is_empty() && s.chars().all(test));
    Ok(Some(match name {
        "strip" => strip(s, a.optional_text(0, "chars")?.as_deref(), true, true).into(),
        "lstrip" => strip(s, a.optional_text(0, "chars")?.as_deref(), true, false).into(),
        "rstrip" => strip(s, a.optional_text(0, "chars")?.as_deref(), false, true).into(),
        "upper" => s.to_uppercase().into(),
        "lower" => s.to_lowercase().into(),
        "casefold" => s.to_lowercase().replace('ß', "ss").into(),
        "swapcase" => s.chars().map(|c| if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() }).collect::<String>().into(),
        "title" => title(s).into(),
        "capitalize" => capitalize(s).into(),
        "startswith" => affix(s, a, |part, prefix| part.starts_with(prefix))?.into(),
        "endswith" => affix(s, a, |part, suffix| part.ends_with(suffix))?.into(),
        "removeprefix" => { let p = a.text(0, "prefix")?; s.strip_prefix(p.as_str()).unwrap_or(s).into() }
        "removesuffix" => { let p = a.text(0, "suffix")?; s.strip_suffix(p.as_str()).unwrap_or(s).into() }
        "replace" => replace(s, &a.text(0, "old")?, &a.text(1, "new")?, a.int(2, "count", -1)?)?.into(),
        "split" => split(s, a)?,
        "rsplit" => rsplit(s, a)?,
        "splitlines" => splitlines(s, a.flag(0, "keepends")),
        "partition" => partition(s, &a.text(0, "sep")?, true)?,
        "rpartition" => partition(s, &a.text(0, "sep")?, false)?,
        "join" => join(s, &a.get(0, "iterable").ok_or_else(|| bad("str.join() takes exactly one argument"))?)?.into(),
        "find" | "rfind" | "index" | "rindex" => find(s, name, a)?,
        "count" => { let part = a.text(0, "sub")?; count(&window(s, a)?.0, &part).into() }
        "center" => pad(s, a, |missing, width| missing / 2 + (missing & width & 1))?.into(),
        "ljust" => pad(s, a, |_, _| 0)?.into(),
        "rjust" => pad(s, a, |missing, _| missing)?.into(),
        "zfill" => zfill(s, a.int(0, "width", 0)?)?.into(),
        "expandtabs" => expandtabs(s, a.int(0, "tabsize", 8)?)?.into(),
        "format" => format::format(s, a)?,
        "isdigit" => all(&is_digit),
        "isdecimal" => all(&is_decimal),
        "isnumeric" => all(&|c| c.is_numeric()),
        "isalpha" => all(&|c| c.is_alphabetic() && !c.is_numeric()),
        "isalnum" => all(&|c| c.is_alphanumeric()),
        "isspace" => all(&is_space),
        "isascii" => s.is_ascii().into(),
        "isprintable" => s.chars().all(|c| c == ' ' || is_printable(c)).into(),
        "isidentifier" => (!s.is_empty() && s.chars().enumerate().all(|(i, c)| c == '_' || c.is_alphabetic() || (i > 0 && c.is_alphanumeric()))).into(),
        "isupper" => (s.chars().any(is_cased) && !s.chars().any(|c| is_cased(c) && !c.is_uppercase())).into(),
        "islower" => (s.chars().any(is_cased) && !s.chars().any(|c| is_cased(c) && !c.is_lowercase())).into(),
        "istitle" => (s.chars().any(is_cased) && title(s) == s).into(),
        _ => return Ok(None),
    }))
}

/// `str.strip` and its halves; `None` strips white space.
pub fn strip(s: &str, set: Option<&str>, left: bool, right: bool) -> String {
    let drops = |c: char| set.map_or(is_space(c), |set| set.contains(c));
    let s = if left { s.trim_start_matches(drops) } else { s };
    if right { s.trim_end_matches(drops) } else { s }.to_string()
}

pub fn capitalize(s: &str) -> String {
    let mut chars = s.chars();
    chars.next().map_or(String::new(), |first| title_case(first) + &chars.as_str().to_lowercase())
}

fn title(s: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for c in s.chars() {
        if inside {
            out.extend(c.to_lowercase());
        } else {
            out += &title_case(c);
        }
        inside = is_cased(c);
    }
    out
}

/// `str.replace`; a negative count means all.
pub fn replace(s: &str, old: &str, new: &str, count: i64) -> Result<String, Error> {
    let found = if old.is_empty() { s.chars().count() + 1 } else { s.matches(old).count() };
    let times = usize::try_from(count).map_or(found, |c| c.min(found));
    limits::spend(s.len() + times.saturating_mul(new.len()))?;
    Ok(s.replacen(old, new, times))
}

/// The part of a text that the arguments start and end pick, and its first position in characters.
fn window(s: &str, a: &Arguments) -> Result<(String, usize), Error> {
    if a.given(1, "start").is_none() && a.given(2, "end").is_none() {
        return Ok((s.to_string(), 0));
    }
    let chars: Vec<char> = s.chars().collect();
    let length = chars.len() as i64;
    let place = |i: i64| (if i < 0 { i.saturating_add(length) } else { i }).clamp(0, length) as usize;
    let (start, end) = (place(a.int(1, "start", 0)?), place(a.int(2, "end", length)?));
    Ok((chars[start.min(end)..end].iter().collect(), start))
}

fn affix(s: &str, a: &Arguments, test: impl Fn(&str, &str) -> bool) -> Result<bool, Error> {
    let (part, _) = window(s, a)?;
    let wanted = a.positional(0).ok_or_else(|| bad(format!("{}() takes at least 1 argument", a.function)))?;
    let options = if is_tuple(&wanted) { items(&wanted)? } else { vec![wanted] };
    let mut hit = false;
    for option in &options {
        let text = option.as_str().ok_or_else(|| bad(format!("{} first arg must be str or a tuple of str, not {}", a.function, type_name(option))))?;
        hit |= test(&part, text);
    }
    Ok(hit)
}

fn find(s: &str, name: &str, a: &Arguments) -> Result<Value, Error> {
    let wanted = a.text(0, "sub")?;
    let (part, start) = window(s, a)?;
    let at = if name.starts_with('r') { part.rfind(&wanted) } else { part.find(&wanted) };
    match at {
        Some(byte) => Ok(Value::from(part[..byte].chars().count() + start)),
        None if name.ends_with("find") => Ok(Value::from(-1)),
        None => Err(bad("substring not found")),
    }
}

fn count(s: &str, part: &str) -> usize {
    if part.is_empty() { s.chars().count() + 1 } else { s.matches(part).count() }
}

fn separator(a: &Arguments) -> Result<Option<String>, Error> {
    let separator = a.optional_text(0, "sep")?;
    if separator.as_deref() == Some("") {
        return Err(bad("empty separator"));
    }
    Ok(separator)
}

fn texts<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Value, Error> {
    let list: Vec<Value> = parts.map(Value::from).collect();
    limits::spend(list.len() * std::mem::size_of::<Value>())?;
    Ok(Value::from(list))
}

fn split(s: &str, a: &Arguments) -> Result<Value, Error> {
    let most = usize::try_from(a.int(1, "maxsplit", -1)?).unwrap_or(usize::MAX - 1);
    if let Some(separator) = separator(a)? {
        return texts(s.splitn(most + 1, separator.as_str()));
    }
    let mut parts = vec![];
    let mut rest = s.trim_start_matches(is_space);
    while !rest.is_empty() {
        let end = rest.find(is_space).filter(|_| parts.len() < most).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_space);
    }
    texts(parts.into_iter())
}

fn rsplit(s: &str, a: &Arguments) -> Result<Value, Error> {
    let most = usize::try_from(a.int(1, "maxsplit", -1)?).unwrap_or(usize::MAX - 1);
    let mut parts = vec![];
    if let Some(separator) = separator(a)? {
        parts.extend(s.rsplitn(most + 1, separator.as_str()));
    } else {
        let mut rest = s.trim_end_matches(is_space);
        while !rest.is_empty() {
            let cut = rest.char_indices().rev().find(|(_, c)| is_space(*c)).filter(|_| parts.len() < most);
            let start = cut.map_or(0, |(at, c)| at + c.len_utf8());
            parts.push(&rest[start..]);
            rest = rest[..start].trim_end_matches(is_space);
        }
    }
    texts(parts.into_iter().rev())
}

/// `str.splitlines`.
pub fn lines(s: &str, keep: bool) -> Vec<&str> {
    let mut found = vec![];
    let mut start = 0;
    let mut chars = s.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !ends_line(c) {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.peek().is_some_and(|(_, next)| *next == '\n') {
            chars.next();
            end += 1;
        }
        found.push(if keep { &s[start..end] } else { &s[start..at] });
        start = end;
    }
    if start < s.len() {
        found.push(&s[start..]);
    }
    found
}

fn splitlines(s: &str, keep: bool) -> Value {
    Value::from(lines(s, keep).into_iter().map(Value::from).collect::<Vec<_>>())
}

fn partition(s: &str, separator: &str, first: bool) -> Result<Value, Error> {
    if separator.is_empty() {
        return Err(bad("empty separator"));
    }
    let at = if first { s.find(separator) } else { s.rfind(separator) };
    let parts = match at {
        Some(at) => [&s[..at], separator, &s[at + separator.len()..]],
        None if first => [s, "", ""],
        None => ["", "", s],
    };
    Ok(tuple(parts.into_iter().map(Value::from).collect()))
}

fn join(separator: &str, iterable: &Value) -> Result<String, Error> {
    let mut out = String::new();
    for (i, item) in items(iterable)?.iter().enumerate() {
        let text = item.as_str().ok_or_else(|| bad(format!("sequence item {i}: expected str instance, {} found", type_name(item))))?;
        limits::spend(separator.len() + text.len())?;
        if i > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    Ok(out)
}

/// Pads to a width; `left` says how much of the missing goes to the left.
fn pad(s: &str, a: &Arguments, left: impl Fn(usize, usize) -> usize) -> Result<String, Error> {
    let width = usize::try_from(a.int(0, "width", 0)?).unwrap_or(0);
    check_width(width)?;
    let fill = a.optional_text(1, "fillchar")?.unwrap_or_else(|| " ".into());
    if fill.chars().count() != 1 {
        return Err(bad("The fill character must be exactly one character long"));
    }
    limits::spend(width)?;
    let missing = width.saturating_sub(s.chars().count());
    let before = left(missing, width);
    Ok(fill.repeat(before) + s + &fill.repeat(missing - before))
}

fn zfill(s: &str, width: i64) -> Result<String, Error> {
    let width = usize::try_from(width).unwrap_or(0);
    check_width(width)?;
    let zeros = "0".repeat(width.saturating_sub(s.chars().count()));
    let signed = s.starts_with(['+', '-']) as usize;
    Ok(format!("{}{zeros}{}", &s[..signed], &s[signed..]))
}

fn expandtabs(s: &str, size: i64) -> Result<String, Error> {
    let size = usize::try_from(size).unwrap_or(0);
    check_width(size)?;
    limits::spend(s.matches('\t').count().saturating_mul(size))?;
    let mut out = String::new();
    let mut column = 0;
    for c in s.chars() {
        match c {
            '\t' if size == 0 => {}
            '\t' => {
                let spaces = size - column % size;
                out += &" ".repeat(spaces);
                column += spaces;
            }
            c => {
                out.push(c);
                column = if matches!(c, '\n' | '\r') { 0 } else { column + 1 };
            }
        }
    }
    Ok(out)
}
