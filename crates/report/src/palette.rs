//! The colours of the page in its light and its dark form, and the contrast between them.
//!
//! Every colour that text stands on is here, so that one test can hold all pairs to WCAG 2.1: 4.5 to 1 for text, 3 to
//! 1 for shapes.

/// A colour as sRGB bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// `#rrggbb`.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// From hue (degrees), saturation and lightness (0 to 1).
    pub fn hsl(hue: f64, saturation: f64, lightness: f64) -> Self {
        let chroma = (1.0 - (2.0 * lightness - 1.0).abs()) * saturation;
        let sector = (hue / 60.0).rem_euclid(6.0);
        let second = chroma * (1.0 - (sector % 2.0 - 1.0).abs());
        let (r, g, b) = match sector as u32 {
            0 => (chroma, second, 0.0),
            1 => (second, chroma, 0.0),
            2 => (0.0, chroma, second),
            3 => (0.0, second, chroma),
            4 => (second, 0.0, chroma),
            _ => (chroma, 0.0, second),
        };
        let byte = |part: f64| ((part + lightness - chroma / 2.0) * 255.0).round() as u8;
        Self(byte(r), byte(g), byte(b))
    }

    /// Relative luminance (WCAG 2.1).
    pub fn luminance(self) -> f64 {
        let linear = |byte: u8| {
            let value = f64::from(byte) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Contrast ratio (WCAG 2.1), 1 to 21.
    ///
    /// ```
    /// use report::palette::Colour;
    ///
    /// assert_eq!(Colour(0, 0, 0).contrast(Colour(255, 255, 255)), 21.0);
    /// ```
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }
}

/// One form of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Palette {
    /// Behind everything.
    pub page: Colour,
    /// Behind cards, tables and drawings.
    pub card: Colour,
    pub text: Colour,
    /// Text that steps back.
    pub muted: Colour,
    pub link: Colour,
    /// Lines between things.
    pub rule: Colour,
    /// Conflicts and waste.
    pub bad: Colour,
    /// Behind cells with conflicts and waste.
    pub bad_fill: Colour,
    /// Good values.
    pub good: Colour,
    /// Bytes that were asked for.
    pub used: Colour,
    /// Text on [`Self::used`].
    pub on_used: Colour,
    /// Lightness of the banks' colours.
    bank_lightness: f64,
}

/// The light form.
pub const LIGHT: Palette = Palette {
    page: Colour(0xf6, 0xf7, 0xf9),
    card: Colour(0xff, 0xff, 0xff),
    text: Colour(0x1a, 0x1f, 0x26),
    muted: Colour(0x55, 0x5f, 0x6b),
    link: Colour(0x0b, 0x57, 0xb0),
    rule: Colour(0x84, 0x8d, 0x97),
    bad: Colour(0xb4, 0x1c, 0x1c),
    bad_fill: Colour(0xfb, 0xe4, 0xe2),
    good: Colour(0x1b, 0x6e, 0x3c),
    used: Colour(0x1f, 0x6f, 0x9f),
    on_used: Colour(0xff, 0xff, 0xff),
    bank_lightness: 0.80,
};

/// The dark form.
pub const DARK: Palette = Palette {
    page: Colour(0x12, 0x15, 0x19),
    card: Colour(0x1b, 0x1f, 0x25),
    text: Colour(0xe8, 0xeb, 0xef),
    muted: Colour(0xa6, 0xae, 0xb8),
    link: Colour(0x7f, 0xb8, 0xff),
    rule: Colour(0x74, 0x7d, 0x88),
    bad: Colour(0xff, 0x8a, 0x80),
    bad_fill: Colour(0x4a, 0x20, 0x20),
    good: Colour(0x74, 0xd0, 0x96),
    used: Colour(0x6f, 0xb6, 0xdd),
    on_used: Colour(0x10, 0x14, 0x18),
    bank_lightness: 0.22,
};

/// Colours that banks go through; banks that share one lie this far apart.
pub const BANK_COLOURS: u32 = 32;

impl Palette {
    /// The colour behind a lane that hits `bank`. Neighbours differ by a third of the circle and a bit, so that
    /// neither strides of one nor of two look alike.
    pub fn bank(&self, bank: u32) -> Colour {
        let index = bank % BANK_COLOURS;
        // 11 has no common factor with 32: every hue is used once.
        let hue = f64::from(index * 11 % BANK_COLOURS) * 360.0 / f64::from(BANK_COLOURS);
        Colour::hsl(hue, 0.62, self.bank_lightness)
    }

    /// The named colours, as CSS variables name them.
    pub fn named(&self) -> [(&'static str, Colour); 11] {
        [
            ("page", self.page),
            ("card", self.card),
            ("text", self.text),
            ("muted", self.muted),
            ("link", self.link),
            ("rule", self.rule),
            ("bad", self.bad),
            ("bad-fill", self.bad_fill),
            ("good", self.good),
            ("used", self.used),
            ("on-used", self.on_used),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luminance_of_known_colours() {
        // WebAIM's checker gives 4.54 for #767676 on white and 5.25 for pure red on black.
        assert!((Colour(0x76, 0x76, 0x76).contrast(Colour(255, 255, 255)) - 4.54).abs() < 0.01);
        assert!((Colour(255, 0, 0).contrast(Colour(0, 0, 0)) - 5.25).abs() < 0.01);
    }

    #[test]
    fn hues_of_known_colours() {
        assert_eq!(Colour::hsl(0.0, 1.0, 0.5), Colour(255, 0, 0));
        assert_eq!(Colour::hsl(120.0, 1.0, 0.5), Colour(0, 255, 0));
        assert_eq!(Colour::hsl(240.0, 1.0, 0.25), Colour(0, 0, 128));
        assert_eq!(Colour::hsl(60.0, 0.0, 1.0), Colour(255, 255, 255));
    }

    #[test]
    fn text_is_readable_everywhere() {
        for (form, palette) in [("light", LIGHT), ("dark", DARK)] {
            let text_pairs = [
                ("text on page", palette.text, palette.page),
                ("text on card", palette.text, palette.card),
                ("text on bad fill", palette.text, palette.bad_fill),
                ("muted on page", palette.muted, palette.page),
                ("muted on card", palette.muted, palette.card),
                ("link on page", palette.link, palette.page),
                ("link on card", palette.link, palette.card),
                ("bad on page", palette.bad, palette.page),
                ("bad on card", palette.bad, palette.card),
                ("bad on bad fill", palette.bad, palette.bad_fill),
                ("good on page", palette.good, palette.page),
                ("good on card", palette.good, palette.card),
                ("text on used", palette.on_used, palette.used),
            ];
            for (what, front, back) in text_pairs {
                let ratio = front.contrast(back);
                assert!(ratio >= 4.5, "{form}: {what} is {ratio:.2}");
            }
            for (what, front) in [("rule", palette.rule), ("used", palette.used), ("bad", palette.bad)] {
                let ratio = front.contrast(palette.card);
                assert!(ratio >= 3.0, "{form}: {what} on card is {ratio:.2}");
            }
            for bank in 0..BANK_COLOURS {
                let ratio = palette.text.contrast(palette.bank(bank));
                assert!(ratio >= 4.5, "{form}: text on bank {bank} is {ratio:.2}");
                let outline = palette.bad.contrast(palette.bank(bank));
                assert!(outline >= 3.0, "{form}: conflict outline on bank {bank} is {outline:.2}");
            }
        }
    }

    #[test]
    fn banks_have_colours_of_their_own() {
        for palette in [LIGHT, DARK] {
            let mut seen: Vec<String> = (0..BANK_COLOURS).map(|bank| palette.bank(bank).hex()).collect();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), BANK_COLOURS as usize);
        }
    }
}
