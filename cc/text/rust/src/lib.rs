//! The text half of the runtime: tokens and chat templates, exactly as the Python libraries do them.
//!
//! `tokenizer` and `stream` wrap Hugging Face's own crate; `template` gives MiniJinja the meaning that
//! Jinja2 inherits from Python; `chat` joins the two, so that what a user types cannot pose as markup.
//! `ffi` is the C border, described in `trtmc_text.h`. Nothing here knows models, bundles or files.

pub mod chat;
pub mod cleanup;
pub mod error;
pub mod ffi;
pub mod mask;
pub mod stream;
pub mod template;
pub mod tokenizer;
