//! `clean_up_tokenization_spaces`: takes out the spaces that WordPiece decoding leaves before punctuation.

/// What is replaced, in this order.
const RULES: [(&str, &str); 10] = [
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"),
    (" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
];

/// The cleaned form of a whole text.
pub fn clean(text: &str) -> String {
    RULES.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

/// Cleans a text that comes in pieces; the pieces that go out join to `clean` of the whole.
#[derive(Default)]
pub struct CleanStream {
    held: String,
}

impl CleanStream {
    /// Takes a piece; returns what can no longer change.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let cut = safe_cut(&self.held);
        let ready = clean(&self.held[..cut]);
        self.held.drain(..cut);
        ready
    }

    /// The rest, at the end of the text.
    pub fn finish(&mut self) -> String {
        clean(&std::mem::take(&mut self.held))
    }
}

/// The last place that no rule can reach across: each rule starts with a space and has at most two more
/// characters without one before it is complete, so three characters that are no space end its reach.
fn safe_cut(text: &str) -> usize {
    let mut run = 0;
    let mut cut = 0;
    for (at, c) in text.char_indices() {
        run = if c.is_whitespace() { 0 } else { run + 1 };
        if run >= 3 {
            cut = at + c.len_utf8();
        }
    }
    cut
}
