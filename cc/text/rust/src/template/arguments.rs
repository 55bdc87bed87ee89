//! The arguments of a call: positional ones and named ones, by Python's rules.

use minijinja::value::{Kwargs, Value};
use minijinja::Error;

use super::operators::{number, Number};
use super::types::{bad, type_name};

pub struct Arguments<'a> {
    /// Whose they are, for error texts: `str.split`.
    pub function: &'a str,
    pub positional: &'a [Value],
    named: Option<Kwargs>,
}

impl<'a> Arguments<'a> {
    pub fn new(function: &'a str, values: &'a [Value]) -> Self {
        match values.split_last() {
            Some((last, rest)) if last.is_kwargs() => {
                Arguments { function, positional: rest, named: Kwargs::try_from(last.clone()).ok() }
            }
            _ => Arguments { function, positional: values, named: None },
        }
    }

    pub fn positional(&self, index: usize) -> Option<Value> {
        self.positional.get(index).cloned()
    }

    pub fn named(&self, name: &str) -> Option<Value> {
        self.named.as_ref().filter(|n| n.has(name)).and_then(|n| n.peek::<Value>(name).ok())
    }

    /// All named arguments, in their order.
    pub fn all_named(&self) -> Vec<(String, Value)> {
        let Some(named) = &self.named else { return vec![] };
        named.args().filter_map(|name| named.peek::<Value>(name).ok().map(|v| (name.to_string(), v))).collect()
    }

    /// An argument that can come in either way.
    pub fn get(&self, index: usize, name: &str) -> Option<Value> {
        self.positional(index).or_else(|| self.named(name))
    }

    /// The same, with none as absent.
    pub fn given(&self, index: usize, name: &str) -> Option<Value> {
        self.get(index, name).filter(|v| !v.is_none())
    }

    /// A text that must be there.
    pub fn text(&self, index: usize, name: &str) -> Result<String, Error> {
        self.optional_text(index, name)?.ok_or_else(|| bad(format!("{}() misses the argument {name}", self.function)))
    }

    pub fn optional_text(&self, index: usize, name: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.given(index, name) else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_string())),
            None => Err(bad(format!("{}(): {name} must be str, not {}", self.function, type_name(&value)))),
        }
    }

    pub fn int(&self, index: usize, name: &str, default: i64) -> Result<i64, Error> {
        let Some(value) = self.given(index, name) else { return Ok(default) };
        match number(&value) {
            Some(Number::Int(i)) => Ok(i.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
            _ => Err(bad(format!("{}(): {name} must be int, not {}", self.function, type_name(&value)))),
        }
    }

    pub fn flag(&self, index: usize, name: &str) -> bool {
        self.get(index, name).is_some_and(|v| v.is_true())
    }

    /// An error when there are more positional arguments than the function takes, or unknown names.
    pub fn only(&self, most: usize, names: &[&str]) -> Result<(), Error> {
        if self.positional.len() > most {
            return Err(bad(format!("{}() takes at most {most} arguments ({} given)", self.function, self.positional.len())));
        }
        match self.all_named().iter().find(|(name, _)| !names.contains(&name.as_str())) {
            Some((name, _)) => Err(bad(format!("{}() got an unexpected keyword argument '{name}'", self.function))),
            None => Ok(()),
        }
    }
}
