//! Python's types that the template engine lacks: tuples, the views of a dict, ranges and bound methods.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::methods;

pub fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn indexed(items: &[Value], key: &Value) -> Option<Value> {
    let index = key.as_usize().filter(|_| key.kind() == ValueKind::Number)?;
    items.get(index).cloned()
}

#[derive(Debug)]
pub struct Tuple(pub Vec<Value>);

impl Object for Tuple {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        indexed(&self.0, key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }
}

pub fn tuple(items: Vec<Value>) -> Value {
    Value::from_object(Tuple(items))
}

pub fn is_tuple(value: &Value) -> bool {
    value.downcast_object_ref::<Tuple>().is_some()
}

/// `dict.keys()`, `dict.values()`, `dict.items()`.
#[derive(Debug)]
pub struct DictView {
    pub name: &'static str,
    pub items: Vec<Value>,
}

impl Object for DictView {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn get_value(self: &Arc<Self>, _key: &Value) -> Option<Value> {
        None
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }
}

pub fn view(name: &'static str, items: Vec<Value>) -> Value {
    Value::from_object(DictView { name, items })
}

/// `range(start, stop, step)`.
#[derive(Debug)]
pub struct Range {
    pub start: i64,
    pub stop: i64,
    pub step: i64,
}

impl Range {
    pub fn len(&self) -> usize {
        let (from, to, step) = if self.step > 0 { (self.start, self.stop, self.step) } else { (self.stop, self.start, -self.step) };
        if from >= to { 0 } else { ((to - from - 1) / step + 1) as usize }
    }
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = key.as_usize().filter(|i| *i < self.len())?;
        Some(Value::from(self.start + index as i64 * self.step))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.len())
    }
}

/// A method that was looked up but not called yet: `set f = text.upper`.
#[derive(Debug)]
pub struct Bound {
    pub owner: Value,
    pub name: String,
}

impl Object for Bound {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        methods::call(state, &self.owner, &self.name, args).unwrap_or_else(|| Err(bad(format!("no method {}", self.name))))
    }
}

/// Whether Python would call this a list (and not a tuple, view, range or generator).
pub fn is_list(value: &Value) -> bool {
    value.kind() == ValueKind::Seq && !is_tuple(value) && value.downcast_object_ref::<Range>().is_none()
}

/// The items of anything that can be walked over, as Python would walk: characters of a text, keys of a dict.
pub fn items(value: &Value) -> Result<Vec<Value>, Error> {
    if value.is_none() {
        return Err(bad("'NoneType' object is not iterable"));
    }
    Ok(value.try_iter()?.collect())
}

/// The (key, value) pairs of a dict.
pub fn pairs(value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    value.try_iter()?.map(|key| value.get_item(&key).map(|item| (key, item))).collect()
}

/// The name that Python gives a value's type.
pub fn type_name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "Undefined",
        ValueKind::None => "NoneType",
        ValueKind::Bool => "bool",
        ValueKind::Number if value.is_integer() => "int",
        ValueKind::Number => "float",
        ValueKind::String => "str",
        ValueKind::Seq if is_tuple(value) => "tuple",
        ValueKind::Seq => "list",
        ValueKind::Map => "dict",
        _ => "object",
    }
}
