//! From a conversation to the ids that a model is asked with.

use crate::error::Outcome;
use crate::mask::Masker;
use crate::template::messages::{ChatTemplate, Request};
use crate::tokenizer::{EncodeOptions, TextTokenizer};

/// The ids, and the text that they stand for.
pub struct EncodedChat {
    pub ids: Vec<u32>,
    pub text: String,
}

/// Renders and encodes a conversation. The post-processor stays out: the template itself writes BOS if there is
/// one. Unless `special_in_content`, a special token that somebody typed into a message is plain text; the
/// template's own stay special.
pub fn encode_chat(tokenizer: &TextTokenizer, template: &ChatTemplate, request: Request, special_in_content: bool) -> Outcome<EncodedChat> {
    let masker: Option<&dyn Masker> = if special_in_content { None } else { Some(tokenizer) };
    let rendered = template.render(request, masker)?;
    let ids = if rendered.masked.is_empty() {
        tokenizer.encode(&rendered.text, EncodeOptions { add_special: false, parse_special: true })?
    } else {
        tokenizer.encode_masked(&rendered.text, false, &rendered.masked)?
    };
    Ok(EncodedChat { ids, text: rendered.text })
}
