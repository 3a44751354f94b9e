//! Accesses of a random program: of all spaces and widths, by lanes side by side, apart, in turn, or all at one place.

use crate::source::Source;

/// Bytes of a block's shared array, of what all blocks share in global memory, of a thread's own, and of constants.
pub const SHARED: u32 = 1024;
pub const GLOBAL: u32 = 4096;
pub const LOCAL: u32 = 128;
pub const CONSTANT: u32 = 256;

/// What an access by some bytes may look like; `@` is its place.
const LOADS: [(u32, &[&str]); 5] = [
    (1, &["<u8|s8|b8> $r, @;", "<u8|s8> $h, @;"]),
    (2, &["<u16|s16|b16> $h, @;", "<u16|s16> $r, @;", "v2.u8 {%r0, %r3}, @;"]),
    (
        4,
        &[
            "<u32|s32|b32> $r, @;",
            "<u32|b32> $r, @;",
            "f32 $f, @;",
            "v2.u16 {%h0, %h1}, @;",
            "v4.u8 {%r2, %r3, %r6, %r7}, @;",
        ],
    ),
    (8, &["<u64|b64|s64> $d, @;", "f64 $g, @;", "v2.f32 {%f1, %f4}, @;", "v2.<u32|b32> {%r5, %r1}, @;"]),
    (
        16,
        &[
            "v4.<u32|b32> {%r7, %r9, %r2, %r8}, @;",
            "v4.f32 {%f0, %f3, %f2, %f5}, @;",
            "v2.<u64|b64> {%d3, %d0}, @;",
        ],
    ),
];
const STORES: [(u32, &[&str]); 5] = [
    (1, &["<u8|b8> @, $r;", "u8 @, $h;"]),
    (2, &["<u16|b16> @, $h;", "u16 @, $r;", "v2.u8 @, {$r, $r};"]),
    (4, &["<u32|b32> @, $r;", "<u32|b32> @, $r;", "f32 @, $f;", "v2.b16 @, {$h, $h};"]),
    (8, &["<u64|b64> @, $d;", "f64 @, $g;", "v2.f32 @, {$f, $f};", "v2.b32 @, {$r, $r};"]),
    (16, &["v4.<u32|b32> @, {$r, $r, $r, $r};", "v4.f32 @, {$f, $f, $f, $f};", "v2.b64 @, {$d, $d};"]),
];
const ATOMICS: [(u32, &[&str]); 2] = [
    (
        4,
        &[
            "atom@.<add|min|max>.<u32|s32> $r, @, $r;",
            "atom@.<and|or|xor|exch>.b32 $r, @, $r;",
            "atom@.<inc|dec>.u32 $r, @, $r;",
            "atom@.cas.b32 $r, @, $r, $r;",
            "atom@.add.f32 $f, @, $f;",
            "red@.add.<u32|s32> @, $r;",
            "red@.<add|min|max>.<u32|s32> @, $r;",
            "red@.<and|or|xor>.b32 @, $r;",
            "red@.add.f32 @, $f;",
        ],
    ),
    (
        8,
        &[
            "atom@.<add|min|max>.u64 $d, @, $d;",
            "atom@.<exch|and|or|xor>.b64 $d, @, $d;",
            "atom@.cas.b64 $d, @, $d, $d;",
            "red@.add.u64 @, $d;",
        ],
    ),
];

fn by<'a>(lists: &[(u32, &'a [&'a str])], bytes: u32) -> &'a [&'a str] {
    lists.iter().find(|list| list.0 == bytes).map_or(&[], |list| list.1)
}

/// Some accesses by one register, at places that are mostly inside.
pub fn accesses(s: &mut Source) {
    let space = s.random.of(&[
        "shared", "shared", "shared", "global", "global", "global", "local", "const", "generic", "generic",
    ]);
    let of_shared = space == "shared" || space == "generic" && s.random.one_in(2);
    let bytes = match space {
        _ if of_shared => SHARED,
        "local" => LOCAL,
        "const" => CONSTANT,
        _ => GLOBAL,
    };
    let width = [4, 4, 4, 4, 8, 8, 16, 2, 1][s.random.below(9) as usize];
    // A family: several places by one register, a little apart.
    let count = if s.random.one_in(3) { 2 + s.random.below(4) } else { 1 };
    let room = width * 8;
    let mask = (bytes - 1) & !(width - 1) & !if count > 1 { room } else { 0 };
    index(s, width, mask);
    if s.random.one_in(500) {
        s.line("add.u32 %at, %at, 65536;");
    }
    if s.random.one_in(500) {
        s.line("add.u32 %at, %at, 1;");
    }
    let base = base(s, space, of_shared);
    for _ in 0..count {
        let mut offset = if count > 1 { width * s.random.below(8) as u32 } else { 0 };
        if !base.starts_with('%') {
            offset += s.random.next() as u32 & mask;
        }
        let place = if offset == 0 { format!("[{base}]") } else { format!("[{base}+{offset}]") };
        let guard = s.guard();
        let text = match s.random.below(8) {
            0..=3 => load(s, space, width, &place),
            4..=6 if space != "const" => store(s, space, width, &place),
            _ if !matches!(space, "const" | "local") && matches!(width, 4 | 8) => {
                atomic(s, space, width, &place)
            }
            _ => load(s, space, width, &place),
        };
        s.line(&format!("{guard}{text}"));
    }
}

/// What an access begins with: a register that leads to `%at`, or an array by its name.
fn base(s: &mut Source, space: &str, of_shared: bool) -> &'static str {
    let array = match space {
        "shared" => Some("array"),
        "local" => Some("mine"),
        "const" => Some("constants"),
        _ => None,
    };
    if let Some(array) = array
        && s.random.one_in(6)
    {
        return array;
    }
    match space {
        "shared" => {
            s.line("add.u32 %place, %at, %shared;");
            "%place"
        }
        "local" => {
            s.line("add.u32 %place, %at, %own;");
            "%place"
        }
        _ => {
            let base = match space {
                "const" => "%constants",
                _ if of_shared => "%window",
                _ => "%global",
            };
            s.line(&format!("cvt.u64.u32 %far, %at; add.u64 %far, %far, {base};"));
            "%far"
        }
    }
}

/// Which place each lane goes to: its own, any, one for all, a row that others have, every so many, or backwards.
fn index(s: &mut Source, width: u32, mask: u32) {
    match s.random.below(10) {
        0 => {
            let form = s.form(&format!("and.b32 %at, $r, {mask};"));
            s.line(&form);
        }
        1 => {
            let place = s.random.next() as u32 & mask;
            s.line(&format!("mov.u32 %at, {place};"));
        }
        2 => {
            let shift = s.random.below(5);
            s.line(&format!("shr.u32 %at, %thread, {shift};"));
            s.line(&format!("mul.lo.u32 %at, %at, {width};"));
        }
        3 => {
            let apart = width * [2, 3, 4, 8, 32, 33][s.random.below(6) as usize];
            s.line(&format!("mul.lo.u32 %at, %thread, {apart};"));
        }
        4 => {
            let form = s.form(&format!("xor.b32 %at, %thread, $n; mul.lo.u32 %at, %at, {width};"));
            s.line(&form);
        }
        5 => {
            let first = s.random.below(64);
            s.line(&format!("mad.lo.u32 %at, %thread, {width}, {};", first * u64::from(width)));
        }
        6 => {
            let form = s.form(&format!(
                "shl.b32 %at, $r, 4; and.b32 %at, %at, 112; mad.lo.u32 %at, %block, {width}, %at;"
            ));
            s.line(&form);
        }
        _ => s.line(&format!("mul.lo.u32 %at, %thread, {width};")),
    }
    s.line(&format!("and.b32 %at, %at, {mask};"));
}

/// `.space`, or nothing for what is asked of all.
fn suffix(space: &str) -> String {
    if space == "generic" { String::new() } else { format!(".{space}") }
}

fn load(s: &mut Source, space: &str, width: u32, place: &str) -> String {
    access(s, ("ld", ".acquire.cta"), space, by(&LOADS, width), place)
}

fn store(s: &mut Source, space: &str, width: u32, place: &str) -> String {
    access(s, ("st", ".release.cta"), space, by(&STORES, width), place)
}

/// A load or a store, now and then a volatile or an ordered one.
fn access(s: &mut Source, (name, ordered): (&str, &str), space: &str, forms: &[&str], place: &str) -> String {
    let form = s.random.of(forms);
    let order = match space {
        "shared" | "global" | "generic" if s.random.one_in(8) => {
            s.random.of(&[".volatile", ".relaxed.gpu", ordered])
        }
        _ => "",
    };
    s.form(&format!("{name}{order}{}.{}", suffix(space), form.replace('@', place)))
}

fn atomic(s: &mut Source, space: &str, width: u32, place: &str) -> String {
    let form = s.random.of(by(&ATOMICS, width));
    let (name, rest) = form.split_once('@').expect("atomics name their space");
    let form = s.form(&format!("{name}{}{rest}", suffix(space)));
    form.replace('@', place)
}
