//! Numbers as Python prints them: `repr(float)` and the conversions of `%` and `format()`.

/// `repr(float)`: the shortest digits that read back as the same number.
pub fn float_repr(value: f64) -> String {
    if !value.is_finite() {
        return special(value);
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        return with_exponent(mantissa, exponent, 'e');
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { plain + ".0" }
}

fn special(value: f64) -> String {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "nan",
        (_, true) => "inf",
        _ => "-inf",
    }
    .into()
}

fn with_exponent(mantissa: &str, exponent: i32, letter: char) -> String {
    format!("{mantissa}{letter}{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `%e`, `%f`, `%g` of C, without sign flags and padding. `alternate` keeps the zeros and the point of `%#g`.
pub fn float_in(value: f64, letter: char, precision: usize, alternate: bool) -> String {
    let upper = letter.is_ascii_uppercase();
    let text = if !value.is_finite() {
        special(value)
    } else {
        match letter.to_ascii_lowercase() {
            'e' => exponential(value, precision),
            'g' => general(value, precision.max(1), alternate),
            _ => format!("{value:.precision$}"),
        }
    };
    if upper { text.to_uppercase() } else { text }
}

fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    with_exponent(mantissa, exponent.parse().unwrap_or(0), 'e')
}

fn general(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{:.*e}", precision - 1, value);
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if value != 0.0 && (exponent < -4 || exponent >= precision as i32) {
        let mantissa = text.split_once('e').map_or("", |(m, _)| m);
        return with_exponent(if alternate { mantissa } else { trimmed(mantissa) }, exponent, 'e');
    }
    let digits = (precision as i32 - 1 - if value == 0.0 { 0 } else { exponent }).max(0) as usize;
    let plain = format!("{value:.digits$}");
    if alternate { plain } else { trimmed(&plain).to_string() }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Digits of an integer in a base, without a sign.
pub fn digits(value: u128, base: u32, upper: bool) -> String {
    match (base, upper) {
        (2, _) => format!("{value:b}"),
        (8, _) => format!("{value:o}"),
        (16, false) => format!("{value:x}"),
        (16, true) => format!("{value:X}"),
        _ => value.to_string(),
    }
}

/// Puts a separator between groups of the digits before the point.
pub fn grouped(text: &str, separator: char, size: usize) -> String {
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(end);
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % size == 0 {
            out.push(separator);
        }
        out.push(c);
    }
    out + rest
}
