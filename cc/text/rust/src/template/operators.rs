//! Python's operators on template values: what adds, compares, contains and slices, and what is a TypeError.

use std::cmp::Ordering;

use minijinja::semantics::Operator;
use minijinja::value::{Value, ValueKind};
use minijinja::Error;

use super::limits;
use super::printf;
use super::text::str_of;
use super::types::{bad, is_list, is_tuple, items, pairs, tuple, type_name, DictView};

/// A number as Python computes with it; bools count as 0 and 1.
#[derive(Clone, Copy)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(f) => f,
        }
    }

    fn is_zero(self) -> bool {
        self.float() == 0.0
    }
}

pub fn number(value: &Value) -> Option<Number> {
    match value.kind() {
        ValueKind::Bool => Some(Number::Int(value.is_true().into())),
        ValueKind::Number if value.is_integer() => i128::try_from(value.clone()).ok().map(Number::Int),
        ValueKind::Number => f64::try_from(value.clone()).ok().map(Number::Float),
        _ => None,
    }
}

pub fn int_value(value: i128) -> Value {
    i64::try_from(value).map_or_else(|_| Value::from(value), Value::from)
}

fn unsupported(symbol: &str, left: &Value, right: &Value) -> Error {
    for side in [left, right] {
        if side.is_undefined() {
            return Error::new(minijinja::ErrorKind::UndefinedError, format!("an undefined value is used with the operator {symbol}"));
        }
    }
    bad(format!("unsupported operand type(s) for {symbol}: '{}' and '{}'", type_name(left), type_name(right)))
}

fn overflow() -> Error {
    bad("an integer leaves the range of 128 bits")
}

/// `left operator right`.
pub fn binary(operator: Operator, left: &Value, right: &Value) -> Result<Value, Error> {
    Ok(match operator {
        Operator::Add => return add(left, right),
        Operator::Mul => return multiply(left, right),
        Operator::Rem if left.as_str().is_some() => return printf::percent(left.as_str().unwrap_or(""), right),
        Operator::Sub | Operator::Div | Operator::FloorDiv | Operator::Rem | Operator::Pow => return arithmetic(operator, left, right),
        Operator::Concat => return concat(left, right),
        Operator::Eq => equal(left, right, 0)?.into(),
        Operator::Ne => (!equal(left, right, 0)?).into(),
        Operator::Lt => (order(left, right, "<", 0)? == Some(Ordering::Less)).into(),
        Operator::Lte => matches!(order(left, right, "<=", 0)?, Some(Ordering::Less | Ordering::Equal)).into(),
        Operator::Gt => (order(left, right, ">", 0)? == Some(Ordering::Greater)).into(),
        Operator::Gte => matches!(order(left, right, ">=", 0)?, Some(Ordering::Greater | Ordering::Equal)).into(),
        Operator::In => contains(right, left)?.into(),
    })
}

fn add(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        limits::spend(a.len() + b.len())?;
        return Ok(Value::from([a, b].concat()));
    }
    let both = |test: fn(&Value) -> bool| test(left) && test(right);
    if both(is_list) || both(is_tuple) {
        let mut all = items(left)?;
        all.extend(items(right)?);
        limits::items(all.len())?;
        return Ok(if is_tuple(left) { tuple(all) } else { Value::from(all) });
    }
    match (number(left), number(right)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => a.checked_add(b).map(int_value).ok_or_else(overflow),
        (Some(a), Some(b)) => Ok(Value::from(a.float() + b.float())),
        _ => Err(unsupported("+", left, right)),
    }
}

fn multiply(left: &Value, right: &Value) -> Result<Value, Error> {
    let (sequence, count) = if number(left).is_some() { (right, left) } else { (left, right) };
    let times = match number(count) {
        Some(Number::Int(n)) => usize::try_from(n.max(0)).map_err(|_| overflow())?,
        _ => 0,
    };
    let repeats = matches!(number(count), Some(Number::Int(_)));
    if let (Some(text), true) = (sequence.as_str(), repeats) {
        limits::spend(text.len().saturating_mul(times))?;
        return Ok(Value::from(text.repeat(times)));
    }
    if repeats && (is_list(sequence) || is_tuple(sequence)) {
        let one = items(sequence)?;
        limits::items(one.len().saturating_mul(times))?;
        let all: Vec<Value> = std::iter::repeat(one).take(times).flatten().collect();
        return Ok(if is_tuple(sequence) { tuple(all) } else { Value::from(all) });
    }
    match (number(left), number(right)) {
        (Some(Number::Int(a)), Some(Number::Int(b))) => a.checked_mul(b).map(int_value).ok_or_else(overflow),
        (Some(a), Some(b)) => Ok(Value::from(a.float() * b.float())),
        _ => Err(unsupported("*", left, right)),
    }
}

fn arithmetic(operator: Operator, left: &Value, right: &Value) -> Result<Value, Error> {
    let symbol = match operator {
        Operator::Sub => "-",
        Operator::Div => "/",
        Operator::FloorDiv => "//",
        Operator::Rem => "%",
        _ => "**",
    };
    let (Some(a), Some(b)) = (number(left), number(right)) else { return Err(unsupported(symbol, left, right)) };
    if b.is_zero() && matches!(operator, Operator::Div | Operator::FloorDiv | Operator::Rem) {
        return Err(bad("division by zero"));
    }
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        let whole = match operator {
            Operator::Sub => a.checked_sub(b),
            Operator::FloorDiv => a.checked_div(b).map(|q| if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q }),
            Operator::Rem => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
            Operator::Pow if b >= 0 => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
            Operator::Pow => return Ok(Value::from((a as f64).powf(b as f64))),
            _ => return Ok(Value::from(a as f64 / b as f64)),
        };
        return whole.map(int_value).ok_or_else(overflow);
    }
    let (a, b) = (a.float(), b.float());
    let remainder = || {
        let r = a % b;
        if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
    };
    Ok(Value::from(match operator {
        Operator::Sub => a - b,
        Operator::Div => a / b,
        Operator::FloorDiv => ((a - remainder()) / b).round(),
        Operator::Rem => remainder(),
        _ => a.powf(b),
    }))
}

fn concat(left: &Value, right: &Value) -> Result<Value, Error> {
    let (mut text, tail) = (str_of(left)?, str_of(right)?);
    limits::spend(text.len() + tail.len())?;
    text.push_str(&tail);
    Ok(Value::from(text))
}

/// `-value`.
pub fn negate(value: &Value) -> Result<Value, Error> {
    match number(value) {
        Some(Number::Int(i)) => i.checked_neg().map(int_value).ok_or_else(overflow),
        Some(Number::Float(f)) => Ok(Value::from(-f)),
        None => Err(bad(format!("bad operand type for unary -: '{}'", type_name(value)))),
    }
}

fn too_deep(level: usize) -> Result<(), Error> {
    if level > limits::DEPTH {
        return Err(bad(format!("values are nested more than {} levels deep", limits::DEPTH)));
    }
    Ok(())
}

/// `left == right`.
pub fn equal(left: &Value, right: &Value, level: usize) -> Result<bool, Error> {
    too_deep(level)?;
    if let (Some(a), Some(b)) = (number(left), number(right)) {
        return Ok(match (a, b) {
            (Number::Int(a), Number::Int(b)) => a == b,
            (a, b) => a.float() == b.float(),
        });
    }
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        return Ok(a == b);
    }
    if left.kind() == ValueKind::Map && right.kind() == ValueKind::Map {
        let (a, b) = (pairs(left)?, pairs(right)?);
        if a.len() != b.len() {
            return Ok(false);
        }
        for (key, item) in &a {
            let Some((_, other)) = b.iter().find(|(other, _)| other == key) else { return Ok(false) };
            if !equal(item, other, level + 1)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if type_name(left) == type_name(right) && matches!(left.kind(), ValueKind::Seq | ValueKind::Iterable) {
        let (a, b) = (items(left)?, items(right)?);
        limits::spend(a.len())?;
        if a.len() != b.len() {
            return Ok(false);
        }
        for (x, y) in a.iter().zip(&b) {
            if !equal(x, y, level + 1)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    Ok(left.kind() == right.kind() && matches!(left.kind(), ValueKind::None | ValueKind::Undefined))
}

/// How two values compare; `None` for NaN. Values of unlike types have no order.
pub fn order(left: &Value, right: &Value, symbol: &str, level: usize) -> Result<Option<Ordering>, Error> {
    too_deep(level)?;
    if let (Some(a), Some(b)) = (number(left), number(right)) {
        return Ok(match (a, b) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (a, b) => a.float().partial_cmp(&b.float()),
        });
    }
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        return Ok(Some(a.cmp(b)));
    }
    if type_name(left) == type_name(right) && (is_list(left) || is_tuple(left)) {
        let (a, b) = (items(left)?, items(right)?);
        for (x, y) in a.iter().zip(&b) {
            if !equal(x, y, level + 1)? {
                return order(x, y, symbol, level + 1);
            }
        }
        return Ok(Some(a.len().cmp(&b.len())));
    }
    Err(bad(format!("'{symbol}' not supported between instances of '{}' and '{}'", type_name(left), type_name(right))))
}

/// `item in container`.
pub fn contains(container: &Value, item: &Value) -> Result<bool, Error> {
    if let Some(text) = container.as_str() {
        let part = item.as_str().ok_or_else(|| bad(format!("'in <string>' requires string as left operand, not {}", type_name(item))))?;
        limits::spend(text.len())?;
        return Ok(text.contains(part));
    }
    limits::spend(container.len().unwrap_or(0))?;
    match container.kind() {
        ValueKind::Undefined => Ok(false),
        ValueKind::Map => Ok(container.try_iter()?.any(|key| key == *item)),
        ValueKind::Seq | ValueKind::Iterable => {
            for other in items(container)? {
                if equal(&other, item, 0)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(bad(format!("argument of type '{}' is not iterable", type_name(container)))),
    }
}

/// A chain such as `a < b <= c`, with its operators as texts.
pub fn compare_chain(operands: &[Value], operators: &[Value]) -> Result<bool, Error> {
    for (pair, symbol) in operands.windows(2).zip(operators) {
        let [left, right] = pair else { continue };
        let operator = match symbol.as_str().unwrap_or("") {
            "==" => Operator::Eq,
            "!=" => Operator::Ne,
            "<" => Operator::Lt,
            "<=" => Operator::Lte,
            ">" => Operator::Gt,
            ">=" => Operator::Gte,
            _ => Operator::In,
        };
        let holds = binary(operator, left, right)?.is_true();
        if holds == (symbol.as_str() == Some("not in")) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `value[start:stop:step]`.
pub fn slice(value: &Value, start: &Value, stop: &Value, step: &Value) -> Result<Value, Error> {
    if [start, stop, step].iter().any(|bound| !bound.is_none() && !matches!(number(bound), Some(Number::Int(_)))) && !value.is_undefined() {
        return Ok(Value::UNDEFINED);
    }
    if let Some(text) = value.as_str() {
        let chars: Vec<char> = text.chars().collect();
        limits::spend(text.len())?;
        let picked = positions(chars.len(), start, stop, step)?;
        return Ok(Value::from(picked.into_iter().map(|i| chars[i]).collect::<String>()));
    }
    if value.is_undefined() {
        return Err(unsupported("[:]", value, value));
    }
    let sliceable = matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) && value.downcast_object_ref::<DictView>().is_none();
    if !sliceable {
        // Python fails with a TypeError, which Jinja2 turns into an undefined value.
        return Ok(Value::UNDEFINED);
    }
    let all = items(value)?;
    limits::spend(all.len() * std::mem::size_of::<Value>())?;
    let picked: Vec<Value> = positions(all.len(), start, stop, step)?.into_iter().map(|i| all[i].clone()).collect();
    Ok(if is_tuple(value) { tuple(picked) } else { Value::from(picked) })
}

/// The indices that a slice picks, as `slice.indices` of Python computes them.
fn positions(len: usize, start: &Value, stop: &Value, step: &Value) -> Result<Vec<usize>, Error> {
    let bound = |value: &Value| -> Result<Option<i64>, Error> {
        match number(value) {
            _ if value.is_none() => Ok(None),
            Some(Number::Int(i)) => Ok(Some(i.clamp(i64::MIN as i128 / 4, i64::MAX as i128 / 4) as i64)),
            _ => Err(bad("slice indices must be integers or None")),
        }
    };
    let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?.unwrap_or(1));
    if step == 0 {
        return Err(bad("slice step cannot be zero"));
    }
    let len = len as i64;
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let place = |index: i64| (if index < 0 { index + len } else { index }).clamp(low, high);
    let mut at = start.map_or(if step > 0 { low } else { high }, place);
    let end = stop.map_or(if step > 0 { high } else { low }, place);
    let mut picked = vec![];
    while (step > 0 && at < end) || (step < 0 && at > end) {
        picked.push(at as usize);
        at += step;
    }
    Ok(picked)
}

/// Whether a `for` loop may walk over a value.
pub fn iterate(value: &Value) -> Result<(), Error> {
    let walks = matches!(value.kind(), ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map | ValueKind::Iterable);
    let object = value.as_object().is_some() && value.try_iter().is_ok();
    if walks || object {
        return Ok(());
    }
    Err(bad(format!("'{}' object is not iterable", type_name(value))))
}
