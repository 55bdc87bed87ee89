//! One tokenizer.json: text to ids and back, with the ids of the Python library on any input.
//!
//! Shared between threads without locks. Padding and truncation that a tokenizer.json asks for are
//! switched off: how long a prompt may be is the runtime's decision, never a silent cut.

use std::collections::HashSet;
use std::ops::Range;
use std::panic::catch_unwind;
use std::sync::OnceLock;

use serde_json::Value as Json;
use tokenizers::models::ModelWrapper;
use tokenizers::Tokenizer;

use crate::cleanup;
use crate::error::{Outcome, TextError};
use crate::ffi::panic_words;

/// How `encode` treats special tokens.
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// Run the post-processor, which adds BOS and the like.
    pub add_special: bool,
    /// Read the text of a special token as that token; otherwise as the characters it is written with.
    pub parse_special: bool,
}

pub struct TextTokenizer {
    inner: Tokenizer,
    cleanup: bool,
    specials: Vec<String>,
    /// Whether special tokens are also found in forms that only normalizing reveals.
    normalizes_specials: bool,
    edges: OnceLock<Edges>,
}

/// Beginnings and ends of special tokens, the whole tokens left out.
struct Edges {
    starts: HashSet<String>,
    ends: HashSet<String>,
    longest: usize,
}

impl Edges {
    fn of(specials: &[String]) -> Edges {
        let mut edges = Edges { starts: HashSet::new(), ends: HashSet::new(), longest: 0 };
        for token in specials {
            for (at, _) in token.char_indices().skip(1) {
                let (start, end) = token.split_at(at);
                // White space is left alone: templates trim it.
                edges.starts.extend(Some(start.to_string()).filter(|s| !s.trim().is_empty()));
                edges.ends.extend(Some(end.to_string()).filter(|s| !s.trim().is_empty()));
            }
            edges.longest = edges.longest.max(token.len());
        }
        edges
    }
}

impl TextTokenizer {
    /// From the bytes of tokenizer.json and, when there is one, of tokenizer_config.json.
    pub fn open(json: &str, config: Option<&str>) -> Outcome<TextTokenizer> {
        let bad = |e: &dyn std::fmt::Display| TextError::input("tokenizer.bad_file", format!("tokenizer.json cannot be used: {e}"));
        // Where parts of a model contradict each other, the library panics instead of giving an error.
        let mut inner = catch_unwind(|| Tokenizer::from_bytes(json.as_bytes()))
            .map_err(|panic| bad(&format!("its parts contradict each other: {}", panic_words(&panic))))?
            .map_err(|e| bad(&e))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| bad(&e))?;
        let mut added: Vec<_> = inner.get_added_tokens_decoder().into_iter().collect();
        added.sort_by_key(|(id, _)| *id);
        let normalizes_specials = added.iter().any(|(_, token)| token.special && token.normalized);
        let specials = added.into_iter().filter(|(_, token)| token.special).map(|(_, token)| token.content).collect();
        let cleanup = wants_cleanup(config, matches!(inner.get_model(), ModelWrapper::BPE(_)))?;
        Ok(TextTokenizer { inner, cleanup, specials, normalizes_specials, edges: OnceLock::new() })
    }

    /// The ids of a text.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Outcome<Vec<u32>> {
        if !options.parse_special && !text.is_empty() {
            return self.encode_masked(text, options.add_special, &[0..text.len()]);
        }
        let encoding = self.inner.encode_fast(text, options.add_special).map_err(encode_failed)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The ids of a text whose `masked` byte ranges (sorted, apart) are somebody's words: a special token
    /// that touches one is read as the characters that it is written with. All else is encoded as ever.
    pub fn encode_masked(&self, text: &str, add_special: bool, masked: &[Range<usize>]) -> Outcome<Vec<u32>> {
        let encoding = self.inner.encode_except(text, add_special, masked).map_err(encode_failed)?;
        let touched = |&(start, end): &(usize, usize)| {
            let first = masked.partition_point(|range| range.end <= start);
            start < end && masked.get(first).is_some_and(|range| range.start < end)
        };
        for (id, offsets) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            // A model whose own vocabulary spells a special token in one piece leaves no other ids for it.
            if touched(offsets) && self.is_special(*id) {
                return Err(TextError::input(
                    "tokenizer.special_in_text",
                    format!("the text contains {:?}, which this tokenizer cannot write as plain characters", self.token(*id).unwrap_or_default()),
                ));
            }
        }
        Ok(encoding.get_ids().to_vec())
    }

    /// Where the tokenizer would find special tokens in a text, as byte ranges.
    pub fn special_ranges(&self, text: &str) -> Outcome<Vec<Range<usize>>> {
        if !self.normalizes_specials && !self.specials.iter().any(|token| text.contains(token.as_str())) {
            return Ok(vec![]);
        }
        let encoding = self.inner.encode(text, false).map_err(encode_failed)?;
        let pairs = encoding.get_ids().iter().zip(encoding.get_offsets());
        Ok(pairs.filter(|(id, (start, end))| start < end && self.is_special(**id)).map(|(_, (start, end))| *start..*end).collect())
    }

    /// The lengths of the longest end of a special token that the text starts with, and of the longest
    /// beginning of one that it ends with: what stands beside the text could complete either.
    pub fn special_edges(&self, text: &str) -> (usize, usize) {
        let edges = self.edges.get_or_init(|| Edges::of(&self.specials));
        let longest = edges.longest.min(text.len());
        let head = (1..=longest).rev().find(|n| text.get(..*n).is_some_and(|part| edges.ends.contains(part)));
        let tail = (1..=longest).rev().find(|n| text.get(text.len() - n..).is_some_and(|part| edges.starts.contains(part)));
        (head.unwrap_or(0), tail.unwrap_or(0))
    }

    /// The text of ids, cleaned where the tokenizer's configuration asks for it.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Outcome<String> {
        let text = self.decode_raw(ids, skip_special)?;
        Ok(if self.cleanup { cleanup::clean(&text) } else { text })
    }

    /// The decoder's own text, before any cleaning.
    pub fn decode_raw(&self, ids: &[u32], skip_special: bool) -> Outcome<String> {
        self.inner.decode(ids, skip_special).map_err(|e| TextError::internal("tokenizer.decode_failed", format!("decoding failed: {e}")))
    }

    /// Whether decoded text goes through `cleanup`.
    pub fn cleans(&self) -> bool {
        self.cleanup
    }

    /// The crate's object, for `stream`.
    pub fn inner(&self) -> &Tokenizer {
        &self.inner
    }

    /// The id of a token, added tokens first.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The token of an id, as it stands in the vocabulary.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// Whether an id is a special token.
    pub fn is_special(&self, id: u32) -> bool {
        self.token(id).is_some_and(|token| self.inner.get_added_vocabulary().is_special_token(&token))
    }

    /// The number of ids, added tokens included.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}

fn encode_failed(error: impl std::fmt::Display) -> TextError {
    TextError::input("tokenizer.encode_failed", format!("the text cannot be encoded: {error}"))
}

/// Transformers cleans decoded text when tokenizer_config.json says so, but not a BPE model's, which it would spoil.
fn wants_cleanup(config: Option<&str>, bpe: bool) -> Outcome<bool> {
    let Some(config) = config.filter(|c| !c.is_empty()) else { return Ok(false) };
    let json: Json = serde_json::from_str(config)
        .map_err(|e| TextError::input("tokenizer.bad_config", format!("tokenizer_config.json is not JSON: {e}")))?;
    let flag = |name: &str| json.get(name).and_then(Json::as_bool).unwrap_or(false);
    Ok(flag("clean_up_tokenization_spaces") && (!bpe || flag("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output")))
}
