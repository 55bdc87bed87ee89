//! Text from ids that come one at a time: each piece is final, and the pieces join to `decode` of all ids.
//!
//! A piece is held back while the bytes of its last character are not all there, and not a step longer.
//! U+FFFD appears only where the whole text has it too: for bytes that turn out to be no character, at the
//! latest in `finish`.

use std::sync::Arc;

use crate::cleanup::CleanStream;
use crate::error::Outcome;
use crate::tokenizer::TextTokenizer;

pub struct DecodeStream {
    tokenizer: Arc<TextTokenizer>,
    skip_special: bool,
    /// A short window of the newest ids, `prefix`: the text of those already given out, `prefix_ids`: how many.
    ids: Vec<u32>,
    prefix: String,
    prefix_ids: usize,
    /// Everything so far, for decoders whose text of a window does not extend the one before.
    all_ids: Vec<u32>,
    given: String,
    cleaner: Option<CleanStream>,
}

impl DecodeStream {
    pub fn new(tokenizer: Arc<TextTokenizer>, skip_special: bool) -> Self {
        let cleaner = tokenizer.cleans().then(CleanStream::default);
        DecodeStream { tokenizer, skip_special, ids: vec![], prefix: String::new(), prefix_ids: 0, all_ids: vec![], given: String::new(), cleaner }
    }

    /// The text that becomes final with this id; often empty.
    pub fn step(&mut self, id: u32) -> Outcome<String> {
        self.all_ids.push(id);
        let stepped = tokenizers::tokenizer::step_decode_stream(
            self.tokenizer.inner(), vec![id], self.skip_special, &mut self.ids, &mut self.prefix, &mut self.prefix_ids,
        );
        let piece = match stepped {
            Ok(piece) => piece.unwrap_or_default(),
            Err(_) => self.resynchronise()?,
        };
        self.given.push_str(&piece);
        Ok(match &mut self.cleaner {
            Some(cleaner) => cleaner.push(&piece),
            None => piece,
        })
    }

    /// What is still held back when the ids end. The stream is empty and can be used again afterwards.
    pub fn finish(&mut self) -> Outcome<String> {
        let rest = self.rest()?;
        let text = match &mut self.cleaner {
            Some(cleaner) => cleaner.push(&rest) + &cleaner.finish(),
            None => rest,
        };
        *self = DecodeStream::new(self.tokenizer.clone(), self.skip_special);
        Ok(text)
    }

    /// Continues from the whole text where the window's text took another turn.
    fn resynchronise(&mut self) -> Outcome<String> {
        let rest = self.rest()?;
        let keep = self.ids.len().saturating_sub(4);
        self.ids.drain(..keep);
        self.prefix = self.tokenizer.decode_raw(&self.ids, self.skip_special)?;
        self.prefix_ids = self.ids.len();
        Ok(rest)
    }

    fn rest(&self) -> Outcome<String> {
        let whole = self.tokenizer.decode_raw(&self.all_ids, self.skip_special)?;
        Ok(whole.strip_prefix(self.given.as_str()).unwrap_or("").to_string())
    }
}
