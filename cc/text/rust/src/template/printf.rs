//! `'text with %s' % values`, as Python's `str.__mod__`.

use minijinja::value::{Value, ValueKind};
use minijinja::Error;

use super::limits;
use super::operators::{number, Number};
use super::spec::{check_width, read_count, Spec};
use super::text::{escaped, repr, str_of};
use super::types::{bad, type_name, Tuple};

/// The values in their order; a mapping can be asked by name instead.
struct Source<'a> {
    values: Vec<Value>,
    next: usize,
    whole: &'a Value,
}

impl Source<'_> {
    fn take(&mut self) -> Result<Value, Error> {
        let value = self.values.get(self.next).cloned();
        self.next += 1;
        value.ok_or_else(|| bad("not enough arguments for format string"))
    }

    fn named(&self, name: &str) -> Result<Value, Error> {
        if self.whole.kind() != ValueKind::Map {
            return Err(bad("format requires a mapping"));
        }
        let value = self.whole.get_item(&Value::from(name))?;
        if value.is_undefined() {
            return Err(bad(format!("KeyError: '{name}'")));
        }
        Ok(value)
    }

    fn count(&mut self) -> Result<i128, Error> {
        match number(&self.take()?) {
            Some(Number::Int(i)) => Ok(i),
            _ => Err(bad("* wants int")),
        }
    }
}

/// `format % arguments`.
pub fn percent(format: &str, arguments: &Value) -> Result<Value, Error> {
    let values = match arguments.downcast_object_ref::<Tuple>() {
        Some(tuple) => tuple.0.clone(),
        None => vec![arguments.clone()],
    };
    let mut source = Source { values, next: 0, whole: arguments };
    let chars: Vec<char> = format.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        at += 1;
        if *c == '%' {
            let piece = conversion(&chars, &mut at, &mut source)?;
            limits::spend(piece.len())?;
            out += &piece;
        } else {
            out.push(*c);
        }
    }
    if source.next < source.values.len() && !matches!(arguments.kind(), ValueKind::Map) {
        return Err(bad("not all arguments converted during string formatting"));
    }
    limits::spend(out.len())?;
    Ok(Value::from(out))
}

fn conversion(chars: &[char], at: &mut usize, source: &mut Source<'_>) -> Result<String, Error> {
    let mut named = None;
    if chars.get(*at) == Some(&'(') {
        let end = chars[*at..].iter().position(|c| *c == ')').ok_or_else(|| bad("incomplete format key"))?;
        let name: String = chars[*at + 1..*at + end].iter().collect();
        named = Some(source.named(&name)?);
        *at += end + 1;
    }
    let mut spec = Spec::default();
    let (mut left, mut zero) = (false, false);
    while let Some(flag) = chars.get(*at).filter(|c| "-+ 0#".contains(**c)) {
        match flag {
            '-' => left = true,
            '0' => zero = true,
            '#' => spec.alternate = true,
            '+' => spec.sign = Some('+'),
            _ => spec.sign = spec.sign.or(Some(' ')),
        }
        *at += 1;
    }
    if chars.get(*at) == Some(&'*') {
        *at += 1;
        let width = source.count()?;
        left |= width < 0;
        spec.width = width.unsigned_abs() as usize;
    } else {
        spec.width = read_count(chars, at)?.unwrap_or(0);
    }
    check_width(spec.width)?;
    if chars.get(*at) == Some(&'.') {
        *at += 1;
        spec.precision = Some(if chars.get(*at) == Some(&'*') {
            *at += 1;
            source.count()?.max(0) as usize
        } else {
            read_count(chars, at)?.unwrap_or(0)
        });
        check_width(spec.precision.unwrap_or(0))?;
    }
    while chars.get(*at).is_some_and(|c| "hlL".contains(*c)) {
        *at += 1;
    }
    let kind = *chars.get(*at).ok_or_else(|| bad("incomplete format"))?;
    *at += 1;
    if kind == '%' {
        return Ok("%".into());
    }
    let value = match named {
        Some(value) => value,
        None => source.take()?,
    };
    spec.align = Some(if left { '<' } else { '>' });
    convert(kind, &value, spec, zero && !left)
}

fn convert(kind: char, value: &Value, mut spec: Spec, zero: bool) -> Result<String, Error> {
    let text = match kind {
        's' => str_of(value)?,
        'r' => repr(value)?,
        'a' => repr(value)?.chars().map(|c| if c.is_ascii() { c.to_string() } else { escaped(c) }).collect(),
        'c' if value.as_str().is_some_and(|s| s.chars().count() == 1) => str_of(value)?,
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' | 'c' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let number = number(value).ok_or_else(|| bad(format!("%{kind} format: a real number is required, not {}", type_name(value))))?;
            return numeric(kind, number, spec, zero);
        }
        _ => return Err(bad(format!("unsupported format character '{kind}'"))),
    };
    spec.sign = None;
    spec.alternate = false;
    spec.apply(&Value::from(text))
}

fn numeric(kind: char, number: Number, mut spec: Spec, zero: bool) -> Result<String, Error> {
    if zero {
        spec.fill = Some('0');
        spec.align = Some('=');
    }
    let value = match (kind, number) {
        ('d' | 'i' | 'u', Number::Float(f)) => Value::from(f.trunc() as i128),
        ('o' | 'x' | 'X' | 'c', Number::Float(_)) => return Err(bad(format!("%{kind} format: an integer is required, not float"))),
        (_, Number::Int(i)) => Value::from(i),
        (_, Number::Float(f)) => Value::from(f),
    };
    let whole = matches!(kind, 'd' | 'i' | 'u' | 'o' | 'x' | 'X');
    spec.kind = Some(if matches!(kind, 'i' | 'u') { 'd' } else { kind });
    if let (true, Some(least)) = (whole, spec.precision.take_if(|_| whole)) {
        // `%.5d` asks for that many digits at least.
        let inner = Spec { fill: Some('0'), align: Some('='), width: least, kind: spec.kind, ..Spec::default() };
        let digits = inner.apply(&absolute(&value)?)?;
        let negative = matches!(super::operators::number(&value), Some(Number::Int(i)) if i < 0);
        let sign = if negative { "-" } else { spec.sign.map_or("", |s| if s == '+' { "+" } else { " " }) };
        let outer = Spec { align: spec.align.filter(|a| *a != '=').or(Some('>')), width: spec.width, ..Spec::default() };
        return outer.apply(&Value::from(format!("{sign}{digits}")));
    }
    spec.apply(&value)
}

fn absolute(value: &Value) -> Result<Value, Error> {
    match number(value) {
        Some(Number::Int(i)) if i < 0 => super::operators::negate(value),
        _ => Ok(value.clone()),
    }
}
