//! The C border; `trtmc_text.h` is its description. No panic and no borrowed memory crosses it.

use std::any::Any;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::{Arc, Once};

use serde_json::Value as Json;

use crate::chat::encode_chat;
use crate::error::{Outcome, TextError};
use crate::stream::DecodeStream;
use crate::template::clock::Clock;
use crate::template::messages::{ChatTemplate, Request};
use crate::tokenizer::{EncodeOptions, TextTokenizer};

/// Bytes that belong to the caller of the C function; given back with `trtmc_text_free`.
#[repr(C)]
pub struct Buffer {
    data: *mut u8,
    size: usize,
    capacity: usize,
}

/// Bytes that belong to whoever calls, for the length of the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Span {
    data: *const u8,
    size: usize,
}

#[repr(C)]
pub struct ChatRequest {
    messages: Span,
    tools: Span,
    documents: Span,
    variables: Span,
    template_name: Span,
    continue_field: Span,
    add_generation_prompt: bool,
    fixed_clock: bool,
    clock_seconds: i64,
    clock_utc_offset: i64,
}

impl Buffer {
    fn give(bytes: Vec<u8>) -> Buffer {
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        Buffer { data: bytes.as_mut_ptr(), size: bytes.len(), capacity: bytes.capacity() }
    }

    fn ids(ids: &[u32]) -> Buffer {
        Buffer::give(ids.iter().flat_map(|id| id.to_ne_bytes()).collect())
    }
}

impl Span {
    /// SAFETY: `data` must point to `size` readable bytes, or `size` must be 0.
    unsafe fn text(&self, what: &str) -> Outcome<&str> {
        let bytes = if self.size == 0 { &[] } else { std::slice::from_raw_parts(self.data, self.size) };
        std::str::from_utf8(bytes).map_err(|e| {
            let at = e.valid_up_to();
            TextError::input("text.invalid_utf8", format!("{what} is not UTF-8: byte {at} (0x{:02x}) does not belong there", bytes[at]))
        })
    }

    unsafe fn json(&self, what: &str) -> Outcome<Json> {
        match self.text(what)? {
            "" => Ok(Json::Null),
            text => serde_json::from_str(text).map_err(|e| TextError::input("chat.bad_json", format!("{what}: not JSON: {e}"))),
        }
    }
}

/// What a caught panic said.
pub fn panic_words(panic: &Box<dyn Any + Send>) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// The message for a panic that nobody foresaw.
pub fn panic_text(panic: &Box<dyn Any + Send>) -> String {
    format!("internal error in the text library: {}", panic_words(panic))
}

/// Runs `work`; stores its error as "slug\nsentence" and returns the exit class, 0 for success.
///
/// Panics end here or in the thread that is joined here, and become errors; so they print nothing themselves.
unsafe fn guard(error: *mut Buffer, work: impl FnOnce() -> Outcome<()>) -> i32 {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| set_hook(Box::new(|_| {})));
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return 0,
        Ok(Err(failure)) => failure,
        Err(panic) => TextError::internal("text.panic", panic_text(&panic)),
    };
    if !error.is_null() {
        error.write(Buffer::give(format!("{}\n{}", failure.code, failure.message).into_bytes()));
    }
    failure.class as i32
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_free(buffer: Buffer) {
    if !buffer.data.is_null() {
        drop(Vec::from_raw_parts(buffer.data, buffer.size, buffer.capacity));
    }
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_tokenizer_open(json: Span, config: Span, out: *mut *const TextTokenizer, error: *mut Buffer) -> i32 {
    guard(error, || {
        let tokenizer = TextTokenizer::open(json.text("tokenizer.json")?, Some(config.text("tokenizer_config.json")?))?;
        out.write(Arc::into_raw(Arc::new(tokenizer)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_tokenizer_close(tokenizer: *const TextTokenizer) {
    if !tokenizer.is_null() {
        drop(Arc::from_raw(tokenizer));
    }
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_encode(
    tokenizer: *const TextTokenizer, text: Span, add_special: bool, parse_special: bool, ids: *mut Buffer, error: *mut Buffer,
) -> i32 {
    guard(error, || {
        let found = (*tokenizer).encode(text.text("the text")?, EncodeOptions { add_special, parse_special })?;
        ids.write(Buffer::ids(&found));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_decode(
    tokenizer: *const TextTokenizer, ids: *const u32, count: usize, skip_special: bool, text: *mut Buffer, error: *mut Buffer,
) -> i32 {
    guard(error, || {
        let ids = if count == 0 { &[] } else { std::slice::from_raw_parts(ids, count) };
        text.write(Buffer::give((*tokenizer).decode(ids, skip_special)?.into_bytes()));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_vocab_size(tokenizer: *const TextTokenizer) -> usize {
    (*tokenizer).vocab_size()
}

/// The id of a token, or -1.
#[no_mangle]
pub unsafe extern "C" fn trtmc_text_token_id(tokenizer: *const TextTokenizer, token: Span) -> i64 {
    token.text("the token").ok().and_then(|t| (*tokenizer).id(t)).map_or(-1, i64::from)
}

/// 1 for a special token, 0 for any other, -1 for no token at all; the token's text goes to `text`.
#[no_mangle]
pub unsafe extern "C" fn trtmc_text_token(tokenizer: *const TextTokenizer, id: u32, text: *mut Buffer) -> i32 {
    let Some(token) = (*tokenizer).token(id) else { return -1 };
    let special = (*tokenizer).is_special(id);
    text.write(Buffer::give(token.into_bytes()));
    special.into()
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_stream_open(tokenizer: *const TextTokenizer, skip_special: bool) -> *mut DecodeStream {
    Arc::increment_strong_count(tokenizer);
    Box::into_raw(Box::new(DecodeStream::new(Arc::from_raw(tokenizer), skip_special)))
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_stream_close(stream: *mut DecodeStream) {
    if !stream.is_null() {
        drop(Box::from_raw(stream));
    }
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_stream_step(stream: *mut DecodeStream, id: u32, piece: *mut Buffer, error: *mut Buffer) -> i32 {
    guard(error, || {
        piece.write(Buffer::give((*stream).step(id)?.into_bytes()));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_stream_finish(stream: *mut DecodeStream, piece: *mut Buffer, error: *mut Buffer) -> i32 {
    guard(error, || {
        piece.write(Buffer::give((*stream).finish()?.into_bytes()));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_template_open(file: Span, config: Span, out: *mut *mut ChatTemplate, error: *mut Buffer) -> i32 {
    guard(error, || {
        let template = ChatTemplate::new(file.text("chat_template.jinja")?, config.text("tokenizer_config.json")?)?;
        out.write(Box::into_raw(Box::new(template)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_template_close(template: *mut ChatTemplate) {
    if !template.is_null() {
        drop(Box::from_raw(template));
    }
}

unsafe fn request(from: &ChatRequest) -> Outcome<Request> {
    Ok(Request {
        messages: from.messages.json("the messages")?,
        tools: from.tools.json("the tools")?,
        documents: from.documents.json("the documents")?,
        variables: from.variables.json("the template variables")?,
        template: from.template_name.text("the template's name")?.to_string(),
        add_generation_prompt: from.add_generation_prompt,
        continue_field: from.continue_field.text("the field to continue")?.to_string(),
        clock: if from.fixed_clock { Clock::Fixed { seconds: from.clock_seconds, offset: from.clock_utc_offset } } else { Clock::Machine },
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_render(template: *const ChatTemplate, chat: *const ChatRequest, text: *mut Buffer, error: *mut Buffer) -> i32 {
    guard(error, || {
        let rendered = (*template).render(request(&*chat)?, None)?;
        text.write(Buffer::give(rendered.text.into_bytes()));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn trtmc_text_encode_chat(
    tokenizer: *const TextTokenizer, template: *const ChatTemplate, chat: *const ChatRequest, special_in_content: bool,
    ids: *mut Buffer, text: *mut Buffer, error: *mut Buffer,
) -> i32 {
    guard(error, || {
        let encoded = encode_chat(&*tokenizer, &*template, request(&*chat)?, special_in_content)?;
        ids.write(Buffer::ids(&encoded.ids));
        text.write(Buffer::give(encoded.text.into_bytes()));
        Ok(())
    })
}
