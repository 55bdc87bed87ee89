//! `strftime_now`: the local date and time in English, from the machine's clock or from one that the caller gives.

use std::fmt::Write;

/// Where "now" comes from.
#[derive(Clone, Copy, Debug, Default)]
pub enum Clock {
    /// The machine's clock, in the time zone of the environment (TZ).
    #[default]
    Machine,
    /// Seconds since 1970 (UTC) and how far the local time is ahead of it.
    Fixed { seconds: i64, offset: i64 },
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
];

/// A date and time without a zone, as `datetime.now()`.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub micro: i64,
    pub weekday: i64,
    pub yearday: i64,
    pub epoch: i64,
}

impl Clock {
    pub fn now(self) -> Moment {
        match self {
            Clock::Fixed { seconds, offset } => Moment::at(seconds, offset, 0),
            Clock::Machine => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                let seconds = now.as_secs() as i64;
                Moment::at(seconds, local_offset(seconds), i64::from(now.subsec_micros()))
            }
        }
    }
}

/// How far the machine's zone is ahead of UTC at a moment.
fn local_offset(seconds: i64) -> i64 {
    let time: libc::time_t = seconds;
    // SAFETY: both pointers are to live objects; localtime_r writes only the second.
    unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&time, &mut parts).is_null() { 0 } else { parts.tm_gmtoff }
    }
}

impl Moment {
    /// The civil date of a moment (proleptic Gregorian calendar).
    pub fn at(seconds: i64, offset: i64, micro: i64) -> Moment {
        let local = seconds + offset;
        let (days, rest) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        // Years that start in March make leap days the last of their year.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][(month - 1) as usize];
        Moment {
            year, month, day, micro,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (days + 4).rem_euclid(7),
            yearday: before + i64::from(leap && month > 2) + day,
            epoch: seconds,
        }
    }

    /// `strftime` in the C locale, with the flags of the GNU library.
    pub fn format(&self, pattern: &str) -> String {
        let mut out = String::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut flag = None;
            let mut letter = chars.next();
            while let Some(c @ ('-' | '_' | '0' | '^' | '#' | 'E' | 'O')) = letter {
                flag = Some(c).filter(|c| !"EO".contains(*c)).or(flag);
                letter = chars.next();
            }
            match letter {
                Some(letter) => self.conversion(letter, flag, &mut out),
                None => out.push('%'),
            }
        }
        out
    }

    fn conversion(&self, letter: char, flag: Option<char>, out: &mut String) {
        let number = |value: i64, width: usize, fill: char, out: &mut String| {
            let text = match flag.unwrap_or(fill) {
                '-' => value.to_string(),
                '_' | ' ' => format!("{value:width$}"),
                _ => format!("{value:0width$}"),
            };
            *out += &text;
        };
        let word = |text: &str, out: &mut String| match flag {
            Some('^') => *out += &text.to_uppercase(),
            Some('#') if letter == 'p' => *out += &text.to_lowercase(),
            Some('#') => *out += &text.to_uppercase(),
            _ => *out += text,
        };
        let (day, month) = (DAYS[self.weekday as usize], MONTHS[(self.month - 1) as usize]);
        let hour12 = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
        match letter {
            'a' => word(&day[..3], out),
            'A' => word(day, out),
            'b' | 'h' => word(&month[..3], out),
            'B' => word(month, out),
            'd' => number(self.day, 2, '0', out),
            'e' => number(self.day, 2, ' ', out),
            'm' => number(self.month, 2, '0', out),
            'y' => number(self.year.rem_euclid(100), 2, '0', out),
            'Y' => number(self.year, 1, '0', out),
            'C' => number(self.year / 100, 2, '0', out),
            'H' => number(self.hour, 2, '0', out),
            'k' => number(self.hour, 2, ' ', out),
            'I' => number(hour12, 2, '0', out),
            'l' => number(hour12, 2, ' ', out),
            'M' => number(self.minute, 2, '0', out),
            'S' => number(self.second, 2, '0', out),
            'f' => _ = write!(out, "{:06}", self.micro),
            'j' => number(self.yearday, 3, '0', out),
            'w' => number(self.weekday, 1, '0', out),
            'u' => number(if self.weekday == 0 { 7 } else { self.weekday }, 1, '0', out),
            'p' => word(if self.hour < 12 { "AM" } else { "PM" }, out),
            'P' => *out += if self.hour < 12 { "am" } else { "pm" },
            'U' => number((self.yearday + 6 - self.weekday) / 7, 2, '0', out),
            'W' => number((self.yearday + 6 - (self.weekday + 6) % 7) / 7, 2, '0', out),
            'V' => number(self.iso_week().1, 2, '0', out),
            'G' => number(self.iso_week().0, 1, '0', out),
            'g' => number(self.iso_week().0.rem_euclid(100), 2, '0', out),
            's' => *out += &self.epoch.to_string(),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            '%' => out.push('%'),
            'z' | 'Z' => {} // a moment without a zone has neither
            'D' | 'x' => *out += &self.format("%m/%d/%y"),
            'F' => *out += &self.format("%Y-%m-%d"),
            'T' | 'X' => *out += &self.format("%H:%M:%S"),
            'R' => *out += &self.format("%H:%M"),
            'r' => *out += &self.format("%I:%M:%S %p"),
            'c' => *out += &self.format("%a %b %e %H:%M:%S %Y"),
            other => {
                out.push('%');
                out.push(other);
            }
        }
    }

    /// The ISO 8601 year and week.
    fn iso_week(&self) -> (i64, i64) {
        let weekday = (self.weekday + 6) % 7; // Monday is 0
        let week = (self.yearday - 1 - weekday + 10) / 7;
        let weeks_in = |year: i64| {
            let first = Moment::first_weekday(year);
            let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
            52 + i64::from(first == 4 || (leap && first == 3))
        };
        if week < 1 {
            (self.year - 1, weeks_in(self.year - 1))
        } else if week > weeks_in(self.year) {
            (self.year + 1, 1)
        } else {
            (self.year, week)
        }
    }

    /// The weekday of the first of January; Sunday is 0.
    fn first_weekday(year: i64) -> i64 {
        let before = year - 1;
        (1 + 365 * before + before / 4 - before / 100 + before / 400).rem_euclid(7)
    }
}
