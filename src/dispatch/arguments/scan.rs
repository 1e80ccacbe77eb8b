//! Where a scan through JSON stands: outside of strings, inside one, or inside an escape. Pure.

/// The state between two characters.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::dispatch) struct Scan {
    inside: bool,
    escape: Escape,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After a backslash.
    Begun,
    /// Inside `\u` and four digits: how many digits are there, and what they say.
    Digits(u8, u32),
    /// After the first half of a pair.
    Half,
    /// After the first half of a pair and the backslash of the second.
    HalfBegun,
}

impl Scan {
    /// Whether it stands inside a string.
    pub(in crate::dispatch) fn inside(self) -> bool {
        self.inside
    }

    /// Whether it stands inside an escape: what comes next belongs to the character before it.
    pub(super) fn inside_escape(self) -> bool {
        self.escape != Escape::None
    }

    /// Takes the next character; answers whether it is content of a string (its quotes are not).
    pub(in crate::dispatch) fn step(&mut self, character: char) -> bool {
        if !self.inside {
            self.inside = character == '"';
            return false;
        }
        self.escape = match (self.escape, character) {
            (Escape::Begun | Escape::HalfBegun, 'u') => Escape::Digits(0, 0),
            (Escape::Digits(count, value), digit) if digit.is_ascii_hexdigit() => {
                let value = value * 16 + digit.to_digit(16).unwrap_or_default();
                match (count, value) {
                    (3, 0xd800..=0xdbff) => Escape::Half,
                    (3, _) => Escape::None,
                    _ => Escape::Digits(count + 1, value),
                }
            }
            (Escape::Half, '\\') => Escape::HalfBegun,
            (Escape::None, '\\') => Escape::Begun,
            (Escape::None | Escape::Half | Escape::Digits(..), '"') => {
                *self = Scan::default();
                return false;
            }
            _ => Escape::None,
        };
        true
    }
}
