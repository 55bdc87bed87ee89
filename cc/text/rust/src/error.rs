//! What can go wrong, in the words that the whole runtime shares: an exit class, a stable slug, a sentence.

/// The exit classes of `trtmc/status.h`; the numbers are its.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Class {
    Internal = 1,
    BadInput = 3,
    Unsupported = 4,
    Resource = 7,
}

/// A failure that crosses the C border.
#[derive(Clone, Debug)]
pub struct TextError {
    pub class: Class,
    pub code: &'static str,
    pub message: String,
}

pub type Outcome<T> = Result<T, TextError>;

impl TextError {
    /// Something that the caller gave us is not right.
    pub fn input(code: &'static str, message: impl Into<String>) -> Self {
        TextError { class: Class::BadInput, code, message: message.into() }
    }

    /// Asks for what is not there.
    pub fn unsupported(code: &'static str, message: impl Into<String>) -> Self {
        TextError { class: Class::Unsupported, code, message: message.into() }
    }

    /// A limit was reached.
    pub fn resource(code: &'static str, message: impl Into<String>) -> Self {
        TextError { class: Class::Resource, code, message: message.into() }
    }

    /// A bug of ours or of a library.
    pub fn internal(code: &'static str, message: impl Into<String>) -> Self {
        TextError { class: Class::Internal, code, message: message.into() }
    }
}
