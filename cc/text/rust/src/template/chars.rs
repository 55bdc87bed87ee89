//! Python's view of single characters: white space, printable, digits, letter case, line ends.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

/// `str.isspace`: Unicode white space and the four separators that Unicode leaves out.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Where `str.splitlines` ends a line.
pub fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// `str.isprintable`, the space aside.
pub fn is_printable(c: char) -> bool {
    static HIDDEN: OnceLock<Vec<(char, char)>> = OnceLock::new();
    let hidden = HIDDEN.get_or_init(|| class_of(r"[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]"));
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let at = hidden.partition_point(|(_, last)| *last < c);
    hidden.get(at).map_or(true, |(first, _)| c < *first)
}

/// `str.isdecimal`.
pub fn is_decimal(c: char) -> bool {
    static DECIMAL: OnceLock<Vec<(char, char)>> = OnceLock::new();
    let decimal = DECIMAL.get_or_init(|| class_of(r"\p{Nd}"));
    let at = decimal.partition_point(|(_, last)| *last < c);
    decimal.get(at).is_some_and(|(first, _)| *first <= c)
}

/// `str.isdigit`: decimal digits and those that stand raised, lowered or in circles.
pub fn is_digit(c: char) -> bool {
    is_decimal(c)
        || matches!(c, '\u{b2}' | '\u{b3}' | '\u{b9}' | '\u{1369}'..='\u{1371}' | '\u{19da}' | '\u{2070}' | '\u{2074}'..='\u{2079}'
            | '\u{2080}'..='\u{2089}' | '\u{2460}'..='\u{2468}' | '\u{2474}'..='\u{247c}' | '\u{2488}'..='\u{2490}' | '\u{24ea}'
            | '\u{24f5}'..='\u{24fd}' | '\u{24ff}' | '\u{2776}'..='\u{277e}' | '\u{2780}'..='\u{2788}' | '\u{278a}'..='\u{2792}'
            | '\u{10a40}'..='\u{10a43}' | '\u{10e60}'..='\u{10e68}' | '\u{11052}'..='\u{1105a}' | '\u{1f100}'..='\u{1f10a}')
}

/// A character in title case: one capital, the rest of an expansion small.
pub fn title_case(c: char) -> String {
    match c {
        '\u{1c4}'..='\u{1c6}' => "\u{1c5}".into(),
        '\u{1c7}'..='\u{1c9}' => "\u{1c8}".into(),
        '\u{1ca}'..='\u{1cc}' => "\u{1cb}".into(),
        '\u{1f1}'..='\u{1f3}' => "\u{1f2}".into(),
        '\u{10d0}'..='\u{10ff}' => c.into(),
        '\u{1f80}'..='\u{1faf}' => char::from_u32(c as u32 | 8).unwrap_or(c).into(),
        _ => {
            let mut capital = false;
            let mut out = String::new();
            for upper in c.to_uppercase() {
                if capital {
                    out.extend(upper.to_lowercase());
                } else {
                    out.push(upper);
                }
                capital |= is_cased(upper);
            }
            out
        }
    }
}

/// Whether a character takes part in `str.title`, `isupper` and the like.
pub fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || matches!(c, '\u{1c5}' | '\u{1c8}' | '\u{1cb}' | '\u{1f2}' | '\u{1f88}'..='\u{1faf}')
}

fn class_of(pattern: &str) -> Vec<(char, char)> {
    let Ok(hir) = regex_syntax::parse(pattern) else { return vec![] };
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().iter().map(|r| (r.start(), r.end())).collect(),
        _ => vec![],
    }
}
