//! Python's format specification, `[[fill]align][sign][#][0][width][,][.precision][type]`, and how values follow it.

use minijinja::value::{Value, ValueKind};
use minijinja::Error;

use super::limits;
use super::number::{digits, float_in, float_repr, grouped};
use super::operators::{number, Number};
use super::text::str_of;
use super::types::{bad, type_name};

#[derive(Debug, Default, PartialEq)]
pub struct Spec {
    pub fill: Option<char>,
    pub align: Option<char>,
    pub sign: Option<char>,
    pub alternate: bool,
    pub width: usize,
    pub group: Option<char>,
    pub precision: Option<usize>,
    pub kind: Option<char>,
}

/// The longest text that padding may make.
pub const MAX_WIDTH: usize = 1 << 20;

impl Spec {
    /// Reads a specification.
    pub fn parse(text: &str) -> Result<Spec, Error> {
        let chars: Vec<char> = text.chars().collect();
        let mut at = 0;
        let mut spec = Spec::default();
        let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '=' | '^'));
        if is_align(chars.get(1)) {
            spec.fill = Some(chars[0]);
            spec.align = Some(chars[1]);
            at = 2;
        } else if is_align(chars.first()) {
            spec.align = Some(chars[0]);
            at = 1;
        }
        if let Some(c @ ('+' | '-' | ' ')) = chars.get(at) {
            spec.sign = Some(*c);
            at += 1;
        }
        if chars.get(at) == Some(&'#') {
            spec.alternate = true;
            at += 1;
        }
        if chars.get(at) == Some(&'0') {
            spec.fill = spec.fill.or(Some('0'));
            spec.align = spec.align.or(Some('='));
            at += 1;
        }
        spec.width = read_count(&chars, &mut at)?.unwrap_or(0);
        if let Some(c @ (',' | '_')) = chars.get(at) {
            spec.group = Some(*c);
            at += 1;
        }
        if chars.get(at) == Some(&'.') {
            at += 1;
            spec.precision = Some(read_count(&chars, &mut at)?.ok_or_else(|| bad("Format specifier missing precision"))?);
        }
        if let Some(c) = chars.get(at) {
            spec.kind = Some(*c);
            at += 1;
        }
        if at < chars.len() {
            return Err(bad(format!("Invalid format specifier {text:?}")));
        }
        Ok(spec)
    }

    /// `format(value, spec)`.
    pub fn apply(&self, value: &Value) -> Result<String, Error> {
        match (number(value), value.kind()) {
            (_, ValueKind::Bool) if self.kind.is_none() && *self == Spec::default() => str_of(value),
            (Some(n), _) => self.number(n),
            (None, ValueKind::String) => {
                if !matches!(self.kind, None | Some('s')) || self.sign.is_some() || self.group.is_some() {
                    return Err(bad(format!("Unknown format code for object of type '{}'", type_name(value))));
                }
                let text = str_of(value)?;
                let text = self.precision.map_or(text.clone(), |p| text.chars().take(p).collect());
                self.pad("", &text, '<')
            }
            _ if *self == Spec::default() => str_of(value),
            _ => Err(bad(format!("unsupported format string passed to {}.__format__", type_name(value)))),
        }
    }

    fn number(&self, value: Number) -> Result<String, Error> {
        let (negative, body) = match (value, self.kind) {
            (Number::Int(i), None | Some('d' | 'n')) => (i < 0, i.unsigned_abs().to_string()),
            (Number::Int(i), Some('c')) => {
                let c = u32::try_from(i).ok().and_then(char::from_u32).ok_or_else(|| bad("%c arg not in range(0x110000)"))?;
                return self.pad("", &c.to_string(), '<');
            }
            (Number::Int(i), Some(kind @ ('b' | 'o' | 'x' | 'X'))) => {
                let base = match kind { 'b' => 2, 'o' => 8, _ => 16 };
                let text = digits(i.unsigned_abs(), base, kind == 'X');
                (i < 0, if self.alternate { format!("0{kind}{text}") } else { text })
            }
            (number, Some(kind @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%' | 'n'))) => {
                let f = match number { Number::Int(i) => i as f64, Number::Float(f) => f };
                let precision = self.precision.unwrap_or(6);
                check_width(precision)?;
                let text = match kind {
                    '%' => float_in(f.abs() * 100.0, 'f', precision, false) + "%",
                    'n' => float_in(f.abs(), 'g', precision, false),
                    kind => float_in(f.abs(), kind, precision, self.alternate),
                };
                (f.is_sign_negative() && !f.is_nan(), text)
            }
            (Number::Float(f), None) => {
                let text = match self.precision {
                    None => float_repr(f.abs()),
                    Some(precision) => {
                        check_width(precision)?;
                        let text = float_in(f.abs(), 'g', precision, false);
                        if text.contains(['.', 'e', 'n', 'i']) { text } else { text + ".0" }
                    }
                };
                (f.is_sign_negative() && !f.is_nan(), text)
            }
            (_, Some(kind)) => return Err(bad(format!("Unknown format code '{kind}' for a number"))),
        };
        let body = match (self.group, self.kind) {
            (None, _) => body,
            (Some(c), Some('b' | 'o' | 'x' | 'X')) => grouped(&body, c, 4),
            (Some(c), _) => grouped(&body, c, 3),
        };
        let sign = match (negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        };
        self.pad(sign, &body, '>')
    }

    fn pad(&self, sign: &str, body: &str, natural: char) -> Result<String, Error> {
        check_width(self.width)?;
        let length = sign.len() + body.chars().count();
        let missing = self.width.saturating_sub(length);
        limits::spend(self.width + body.len())?;
        let fill = |count: usize| self.fill.unwrap_or(' ').to_string().repeat(count);
        Ok(match self.align.unwrap_or(natural) {
            '<' => format!("{sign}{body}{}", fill(missing)),
            '^' => format!("{}{sign}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
            '=' => format!("{sign}{}{body}", fill(missing)),
            _ => format!("{}{sign}{body}", fill(missing)),
        })
    }
}

pub fn check_width(width: usize) -> Result<(), Error> {
    if width > MAX_WIDTH {
        return Err(bad(format!("a field of {width} characters is too wide; at most {MAX_WIDTH} are allowed")));
    }
    Ok(())
}

/// A run of digits at `at`.
pub fn read_count(chars: &[char], at: &mut usize) -> Result<Option<usize>, Error> {
    let start = *at;
    while chars.get(*at).is_some_and(char::is_ascii_digit) {
        *at += 1;
    }
    if start == *at {
        return Ok(None);
    }
    let text: String = chars[start..*at].iter().collect();
    text.parse().map(Some).map_err(|_| bad("a number in a format is too large"))
}
