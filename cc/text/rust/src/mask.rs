//! Keeps track of what users wrote while a chat template runs.
//!
//! A character of a message that could take part in a special token is replaced by a stand-in, a private-use
//! character that occurs nowhere in the conversation or the template. The template then moves, trims and joins
//! texts as ever (lengths stay the same), and afterwards the stand-ins say which characters of the result came
//! from a user. They are turned back, and the tokenizer reads no special token there.
//!
//! A conversation without such characters is not touched at all.

use std::cell::Cell;
use std::ops::Range;

use serde_json::Value as Json;

use crate::error::{Outcome, TextError};
use crate::tokenizer::TextTokenizer;

/// Says which parts of a text could be read as special tokens.
pub trait Masker {
    fn ranges(&self, text: &str) -> Outcome<Vec<Range<usize>>>;
}

impl Masker for TextTokenizer {
    /// The special tokens in the text, and beginnings and ends of special tokens at its edges, which could be
    /// completed by what the template writes beside them.
    fn ranges(&self, text: &str) -> Outcome<Vec<Range<usize>>> {
        let mut ranges = self.special_ranges(text)?;
        let (head, tail) = self.special_edges(text);
        ranges.push(0..head);
        ranges.push(text.len() - tail..text.len());
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        Ok(merged(ranges))
    }
}

fn merged(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = vec![];
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

/// Stand-ins: the character `base + i` stands for `chars[i]`.
#[derive(Clone, Debug)]
pub struct Alphabet {
    base: u32,
    chars: Vec<char>,
}

impl Alphabet {
    fn stand_in(&self, c: char) -> char {
        let index = self.chars.iter().position(|other| *other == c).unwrap_or(0);
        char::from_u32(self.base + index as u32).unwrap_or(c)
    }

    fn original(&self, c: char) -> Option<char> {
        let index = (c as u32).checked_sub(self.base)? as usize;
        self.chars.get(index).copied()
    }

    /// The text with the original characters, and the byte ranges where they were put back.
    pub fn restore(&self, text: &str) -> (String, Vec<Range<usize>>) {
        let mut out = String::with_capacity(text.len());
        let mut ranges = vec![];
        for c in text.chars() {
            let start = out.len();
            match self.original(c) {
                Some(original) => {
                    out.push(original);
                    ranges.push(start..out.len());
                }
                None => out.push(c),
            }
        }
        (out, merged(ranges))
    }
}

thread_local! {
    static STAND_INS: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Makes this thread's `is_stand_in` know an alphabet.
pub fn install(alphabet: Option<Alphabet>) {
    STAND_INS.set(alphabet.map_or((0, 0), |a| (a.base, a.base + a.chars.len() as u32)));
}

/// Whether a character stands for another one in the rendering that runs on this thread.
pub fn is_stand_in(c: char) -> bool {
    let (first, end) = STAND_INS.get();
    (first..end).contains(&(c as u32))
}

/// Puts stand-ins into every text of `spoken`; `None` when there is nothing to mask. Roles and types stay as they
/// are: they are the caller's own words, and templates may build tokens from them.
pub fn replace(spoken: &mut Json, masker: &dyn Masker, template: &str) -> Outcome<Option<Alphabet>> {
    let mut chars = vec![];
    let mut used = Private::default();
    used.see(template);
    each_text(spoken, &mut |text| {
        used.see(text);
        for range in masker.ranges(text)? {
            chars.extend(text[range].chars().filter(|c| !chars.contains(c)).collect::<Vec<_>>());
        }
        Ok(())
    })?;
    chars.sort_unstable();
    chars.dedup();
    if chars.is_empty() {
        return Ok(None);
    }
    let base = used.free_run(chars.len() as u32).ok_or_else(|| TextError::input("chat.private_use", "the conversation uses all private-use characters"))?;
    let alphabet = Alphabet { base, chars };
    each_text(spoken, &mut |text| {
        let ranges = masker.ranges(text)?;
        for range in ranges.into_iter().rev() {
            let masked: String = text[range.clone()].chars().map(|c| alphabet.stand_in(c)).collect();
            text.replace_range(range, &masked);
        }
        Ok(())
    })?;
    Ok(Some(alphabet))
}

fn each_text(value: &mut Json, act: &mut dyn FnMut(&mut String) -> Outcome<()>) -> Outcome<()> {
    match value {
        Json::String(text) => act(text),
        Json::Array(list) => list.iter_mut().try_for_each(|item| each_text(item, act)),
        Json::Object(map) => {
            let old = std::mem::take(map);
            for (mut key, mut item) in old {
                if key != "role" && key != "type" {
                    each_text(&mut item, act)?;
                }
                act(&mut key)?;
                map.insert(key, item);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The private-use characters of planes 15 and 16 that a conversation already holds.
#[derive(Default)]
struct Private {
    used: std::collections::BTreeSet<u32>,
}

impl Private {
    fn see(&mut self, text: &str) {
        self.used.extend(text.chars().map(u32::from).filter(|c| *c >= 0xf0000));
    }

    /// The first of `count` neighbours that do not occur.
    fn free_run(&self, count: u32) -> Option<u32> {
        [(0xf0000, 0xffffe), (0x100000, 0x10fffe)].into_iter().find_map(|(first, end)| {
            let mut start = first;
            for taken in self.used.range(first..end) {
                if taken - start >= count {
                    return Some(start);
                }
                start = taken + 1;
            }
            (end - start >= count).then_some(start)
        })
    }
}
