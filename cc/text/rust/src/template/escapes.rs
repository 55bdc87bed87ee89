//! The escapes of a string literal, which Jinja2 reads as Python's `unicode-escape` codec does.

use minijinja::{Error, ErrorKind};

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::BadEscape, format!("the string literal has an incomplete or impossible {what} escape"))
}

/// The text that the inside of a literal stands for. An unknown escape stays as it is written.
pub fn unescape(literal: &str) -> Result<String, Error> {
    let mut out = String::with_capacity(literal.len());
    let mut rest = literal.chars();
    let mut high: Option<u32> = None;
    while let Some(c) = rest.next() {
        let code = if c == '\\' { escape(&mut rest, &mut out)? } else { Some(c as u32) };
        let Some(code) = code else { continue };
        // Python keeps a lone surrogate and fails when it prints it; two that match are a character here.
        match (high.take(), code) {
            (Some(first), 0xdc00..=0xdfff) => out.push(char::from_u32(0x10000 + ((first - 0xd800) << 10) + (code - 0xdc00)).ok_or_else(|| broken("\\u"))?),
            (Some(_), _) => return Err(broken("surrogate \\u")),
            (None, 0xd800..=0xdbff) => high = Some(code),
            (None, _) => out.push(char::from_u32(code).ok_or_else(|| broken("\\u"))?),
        }
    }
    if high.is_some() {
        return Err(broken("surrogate \\u"));
    }
    Ok(out)
}

/// The code point of one escape; `None` when it stands for nothing or was copied to `out` as it is.
fn escape(rest: &mut std::str::Chars<'_>, out: &mut String) -> Result<Option<u32>, Error> {
    let c = rest.next().ok_or_else(|| broken("backslash"))?;
    Ok(Some(match c {
        '\n' => return Ok(None),
        '\\' | '\'' | '"' => c as u32,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'x' => hex(rest, 2, "\\x")?,
        'u' => hex(rest, 4, "\\u")?,
        'U' => hex(rest, 8, "\\U")?,
        '0'..='7' => {
            let mut code = c as u32 - 48;
            for _ in 0..2 {
                let Some(digit) = rest.as_str().chars().next().and_then(|d| d.to_digit(8)) else { break };
                rest.next();
                code = code * 8 + digit;
            }
            code
        }
        'N' => return Err(broken("\\N{name} (character names are not supported)")),
        other => {
            out.push('\\');
            out.push(other);
            return Ok(None);
        }
    }))
}

fn hex(rest: &mut std::str::Chars<'_>, count: usize, what: &str) -> Result<u32, Error> {
    let digits: String = rest.by_ref().take(count).collect();
    if digits.len() != count || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(broken(what));
    }
    u32::from_str_radix(&digits, 16).map_err(|_| broken(what))
}
