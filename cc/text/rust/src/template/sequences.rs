//! Jinja2's filters over lists: sorting, grouping, picking by attribute.

use std::cmp::Ordering;

use minijinja::value::{Value, ValueKind};
use minijinja::Error;

use super::arguments::Arguments;
use super::limits;
use super::operators::{binary, equal, order};
use super::types::{bad, items, pairs, tuple};

type Body = fn(&Value, &Arguments) -> Result<Value, Error>;

pub const FILTERS: &[(&str, Body)] = &[
    ("batch", batch), ("dictsort", dictsort), ("groupby", groupby), ("max", max), ("min", min), ("slice", slice), ("sort", sort), ("sum", sum),
    ("unique", unique),
];

/// `a.b.0`: what an `attribute` argument picks; a number picks by position.
pub fn by_path(value: &Value, path: &Value) -> Result<Value, Error> {
    let Some(text) = path.as_str() else { return value.get_item(path) };
    let mut found = value.clone();
    for part in text.split('.') {
        let key = part.parse::<i64>().map_or_else(|_| Value::from(part), Value::from);
        found = found.get_item(&key)?;
    }
    Ok(found)
}

/// The two halves of a pair.
pub fn pair(value: &Value) -> Result<(Value, Value), Error> {
    match items(value)?.as_slice() {
        [a, b] => Ok((a.clone(), b.clone())),
        _ => Err(bad("expected a pair")),
    }
}

fn folded(value: Value, sensitive: bool) -> Value {
    match value.as_str() {
        Some(text) if !sensitive => Value::from(text.to_lowercase()),
        _ => value,
    }
}

/// The keys to compare by: several attributes are separated by commas.
fn keys(item: &Value, attribute: &Option<Value>, sensitive: bool) -> Result<Vec<Value>, Error> {
    let Some(attribute) = attribute else { return Ok(vec![folded(item.clone(), sensitive)]) };
    let paths = match attribute.as_str() {
        Some(text) => text.split(',').map(Value::from).collect(),
        None => vec![attribute.clone()],
    };
    paths.iter().map(|path| by_path(item, path).map(|v| folded(v, sensitive))).collect()
}

fn compare(a: &[Value], b: &[Value]) -> Result<Ordering, Error> {
    for (x, y) in a.iter().zip(b) {
        match order(x, y, "<", 0)? {
            Some(Ordering::Equal) | None => {}
            Some(other) => return Ok(other),
        }
    }
    Ok(Ordering::Equal)
}

fn sorted(all: Vec<Value>, reverse: bool, key: impl Fn(&Value) -> Result<Vec<Value>, Error>) -> Result<Vec<Value>, Error> {
    limits::spend(all.len().saturating_mul(64))?;
    let mut keyed = all.into_iter().map(|item| key(&item).map(|k| (k, item))).collect::<Result<Vec<_>, _>>()?;
    let mut failure = None;
    keyed.sort_by(|a, b| {
        let found = compare(&a.0, &b.0).unwrap_or_else(|e| {
            failure.get_or_insert(e);
            Ordering::Equal
        });
        if reverse { found.reverse() } else { found }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
    }
}

fn sort(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let (reverse, sensitive, attribute) = (a.flag(0, "reverse"), a.flag(1, "case_sensitive"), a.given(2, "attribute"));
    sorted(items(value)?, reverse, |item| keys(item, &attribute, sensitive)).map(Value::from)
}

fn dictsort(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let sensitive = a.flag(0, "case_sensitive");
    let at = match a.optional_text(1, "by")?.as_deref() {
        None | Some("key") => 0,
        Some("value") => 1,
        Some(_) => return Err(bad("You can only sort by either \"key\" or \"value\"")),
    };
    if value.kind() != ValueKind::Map {
        return Err(bad("dictsort needs a mapping"));
    }
    let all = pairs(value)?.into_iter().map(|(key, item)| tuple(vec![key, item])).collect();
    sorted(all, a.flag(2, "reverse"), |pair| Ok(vec![folded(pair.get_item_by_index(at)?, sensitive)])).map(Value::from)
}

fn groupby(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let path = a.get(0, "attribute").ok_or_else(|| bad("groupby() misses the argument attribute"))?;
    let (fallback, sensitive) = (a.get(1, "default"), a.flag(2, "case_sensitive"));
    let key = |item: &Value| -> Result<Value, Error> {
        let found = by_path(item, &path)?;
        Ok(if found.is_undefined() { fallback.clone().unwrap_or(found) } else { found })
    };
    let mut groups: Vec<(Value, Vec<Value>)> = vec![];
    for item in sorted(items(value)?, false, |item| Ok(vec![folded(key(item)?, sensitive)]))? {
        let this = key(&item)?;
        match groups.last_mut() {
            Some((last, members)) if equal(&folded(last.clone(), sensitive), &folded(this.clone(), sensitive), 0)? => members.push(item),
            _ => groups.push((this, vec![item])),
        }
    }
    Ok(Value::from(groups.into_iter().map(|(key, members)| Value::from_object(Group { key, members: Value::from(members) })).collect::<Vec<_>>()))
}

/// One group: a pair whose halves also have names.
#[derive(Debug)]
struct Group {
    key: Value,
    members: Value,
}

impl minijinja::value::Object for Group {
    fn repr(self: &std::sync::Arc<Self>) -> minijinja::value::ObjectRepr {
        minijinja::value::ObjectRepr::Seq
    }

    fn get_value(self: &std::sync::Arc<Self>, key: &Value) -> Option<Value> {
        match (key.as_usize(), key.as_str()) {
            (Some(0), _) | (_, Some("grouper")) => Some(self.key.clone()),
            (Some(1), _) | (_, Some("list")) => Some(self.members.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &std::sync::Arc<Self>) -> minijinja::value::Enumerator {
        minijinja::value::Enumerator::Seq(2)
    }
}

fn unique(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let (sensitive, attribute) = (a.flag(0, "case_sensitive"), a.given(1, "attribute"));
    let mut seen: Vec<Vec<Value>> = vec![];
    let mut out = vec![];
    for item in items(value)? {
        let key = keys(&item, &attribute, sensitive)?;
        limits::spend(seen.len())?;
        if !seen.contains(&key) {
            seen.push(key);
            out.push(item);
        }
    }
    Ok(Value::from(out))
}

fn extreme(value: &Value, a: &Arguments, wanted: Ordering) -> Result<Value, Error> {
    let (sensitive, attribute) = (a.flag(0, "case_sensitive"), a.given(1, "attribute"));
    let mut best: Option<(Vec<Value>, Value)> = None;
    for item in items(value)? {
        let key = keys(&item, &attribute, sensitive)?;
        let better = match &best {
            Some((champion, _)) => compare(&key, champion)? == wanted,
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

fn min(value: &Value, a: &Arguments) -> Result<Value, Error> {
    extreme(value, a, Ordering::Less)
}

fn max(value: &Value, a: &Arguments) -> Result<Value, Error> {
    extreme(value, a, Ordering::Greater)
}

fn sum(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let attribute = a.given(0, "attribute");
    let mut total = a.get(1, "start").unwrap_or_else(|| Value::from(0));
    for item in items(value)? {
        let item = match &attribute {
            Some(path) => by_path(&item, path)?,
            None => item,
        };
        total = binary(minijinja::semantics::Operator::Add, &total, &item)?;
    }
    Ok(total)
}

fn batch(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let size = usize::try_from(a.int(0, "linecount", 0)?).ok().filter(|n| *n > 0).ok_or_else(|| bad("batch() needs a size above 0"))?;
    let fill = a.given(1, "fill_with");
    let mut rows: Vec<Vec<Value>> = items(value)?.chunks(size).map(<[Value]>::to_vec).collect();
    if let (Some(last), Some(fill)) = (rows.last_mut(), fill) {
        limits::items(size)?;
        last.resize(size, fill);
    }
    Ok(Value::from(rows.into_iter().map(Value::from).collect::<Vec<_>>()))
}

fn slice(value: &Value, a: &Arguments) -> Result<Value, Error> {
    let count = usize::try_from(a.int(0, "slices", 0)?).ok().filter(|n| *n > 0).ok_or_else(|| bad("slice() needs a count above 0"))?;
    limits::items(count)?;
    let fill = a.given(1, "fill_with");
    let all = items(value)?;
    let (each, extra) = (all.len() / count, all.len() % count);
    let mut rest = all.into_iter();
    let rows = (0..count).map(|row| {
        let mut part: Vec<Value> = rest.by_ref().take(each + usize::from(row < extra)).collect();
        if let (Some(fill), true) = (&fill, extra > 0 && row >= extra) {
            part.push(fill.clone());
        }
        Value::from(part)
    });
    Ok(Value::from(rows.collect::<Vec<_>>()))
}
