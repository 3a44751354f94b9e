//! Numbers as people read them: prefixes of a thousand, three digits.

/// A rate or size with the prefix that leaves one to three digits before the point.
///
/// ```
/// assert_eq!(report::unit::rate(4.917e12, "B/s"), "4.92 TB/s");
/// assert_eq!(report::unit::rate(50e9, "FLOP/s"), "50.0 GFLOP/s");
/// ```
pub fn rate(value: f64, unit: &str) -> String {
    let mut value = value;
    let mut prefix = "";
    for next in ["k", "M", "G", "T", "P"] {
        if value.abs() < 999.5 {
            break;
        }
        value /= 1000.0;
        prefix = next;
    }
    let digits = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {prefix}{unit}")
}

/// Bytes in KiB, MiB or GiB where they are whole, else in bytes.
pub fn bytes(count: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if count > 0 && count.is_multiple_of(1 << shift) {
            return format!("{} {unit}", count >> shift);
        }
    }
    format!("{count} bytes")
}

/// Bytes as a person reads them: three digits of the largest unit that they fill.
///
/// ```
/// assert_eq!(report::unit::size(1_064_960), "1.02 MiB");
/// assert_eq!(report::unit::size(512), "512 bytes");
/// ```
pub fn size(count: u64) -> String {
    let mut value = count as f64;
    let mut unit = "bytes";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let digits = match value {
        _ if count < 1024 || value.fract() == 0.0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn prefixes_change_at_a_thousand() {
        assert_eq!(rate(999.0, "B/s"), "999 B/s");
        assert_eq!(rate(999.7, "B/s"), "1.00 kB/s");
        assert_eq!(rate(0.0, "B/s"), "0.00 B/s");
        assert_eq!(bytes(2048), "2 KiB");
        assert_eq!(bytes(2049), "2049 bytes");
        assert_eq!(bytes(0), "0 bytes");
        for (count, text) in [
            (1023, "1023 bytes"),
            (1024, "1 KiB"),
            (1536, "1.50 KiB"),
            (12_600, "12.3 KiB"),
            (1 << 30, "1 GiB"),
            ((1 << 20) - 1, "1.00 MiB"),
        ] {
            assert_eq!(size(count), text);
        }
    }
}
