#!/usr/bin/env python3
"""Makes the polynomials of `src/math/poly32.rs` and `src/math/poly64.rs`: `minimax.py [name…]` prints them as Rust.

Each is the Remez polynomial of least relative (or given) error on its interval, its coefficients rounded one after the
other, lowest first, the rest fitted again to what rounding left. Needs `mpmath`; nothing of the build needs this."""
import struct, sys
import mpmath as mp

mp.mp.dps = 45
F32, F64 = 24, 53


def rounded(x, bits):
    """The float nearest to x; as text, the shortest that reads back."""
    if bits == F64:
        return mp.mpf(float(x))
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def text(x, bits):
    value = float(x)
    if bits == F64:
        return repr(value)
    for digits in range(1, 12):
        short = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(short)))[0] == value:
            return short if any(c in short for c in ".e") else short + ".0"
    raise ValueError(value)


def remez(f, weight, a, b, powers, rounds=6):
    """Coefficients c of sum c_i x^powers_i, least maximum of |weight (f - p)| on [a, b]."""
    n = len(powers)
    a, b = mp.mpf(a), mp.mpf(b)
    nodes = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n + 2)) for i in range(n + 1)]
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / (20 * n)) for i in range(20 * n + 1)]
    fg, wg = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(rounds):
        matrix = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            for j, p in enumerate(powers):
                matrix[i, j] = x**p
            matrix[i, n] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = mp.lu_solve(matrix, right)
        c = [solution[j] for j in range(n)]
        error = [w * (fx - evaluate(c, powers, x)) for x, fx, w in zip(grid, fg, wg)]
        # One extremum for each stretch of equal sign.
        extrema, start = [], 0
        for i in range(1, len(grid) + 1):
            if i == len(grid) or (error[i] > 0) != (error[start] > 0):
                extrema.append(max(range(start, i), key=lambda k: abs(error[k])))
                start = i
        while len(extrema) > n + 1:
            extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
        if len(extrema) < n + 1:
            break
        new = [grid[i] for i in extrema]
        if new == nodes:
            break
        nodes = new
    return c, max(abs(e) for e in error)


def evaluate(c, powers, x):
    return mp.fsum(ci * x**p for ci, p in zip(c, powers))


def fit(f, a, b, terms, bits, weight=None, refit=None):
    """Rounded coefficients of x^0, x^1, …, and the error they leave."""
    weight = weight or (lambda x: 1 / f(x))
    fixed = []
    refit = terms if refit is None else refit
    c, _ = remez(f, weight, a, b, list(range(terms)))
    for i in range(terms):
        if i < refit and i > 0:
            done = list(fixed)
            rest = lambda x: f(x) - evaluate(done, range(len(done)), x)
            c, _ = remez(rest, weight, a, b, list(range(i, terms)), rounds=3)
            c = done + c
        fixed.append(rounded(c[i], bits))
    grid = [a + (b - a) * mp.mpf(i) / 1000 for i in range(1001)]
    left = max(abs(weight(x) * (f(x) - evaluate(fixed, range(terms), x))) for x in grid)
    return fixed, left


def series(f, order):
    """f near 0 from its Taylor series, where the closed form cancels."""
    c = mp.taylor(f, 0, order)
    return c


def removable(closed, taylor, below):
    """`closed(x)`, or its Taylor polynomial where |x| < below."""
    return lambda x: closed(x) if abs(x) >= below else mp.polyval(list(reversed(taylor)), x)


def high(f):
    """f evaluated with digits to spare for cancellation."""
    def g(x):
        with mp.workdps(120):
            return +f(mp.mpf(x))
    return g


EPS = mp.mpf("1e-20")


def at(x):
    return mp.mpf(x) if x != 0 else EPS


SHAPES = {}


def shape(name, doc, f, a, b, terms32, terms64, weight=None):
    SHAPES[name] = (doc, high(lambda x: f(at(x))), mp.mpf(a), mp.mpf(b), {F32: terms32, F64: terms64}, weight)


half_ln2 = mp.log(2) / 2 + mp.mpf("1e-6")
shape("exp_tail", "(e^r - 1 - r) / r² on |r| <= ln(2)/2", lambda r: (mp.exp(r) - 1 - r) / r**2, -half_ln2, half_ln2, 6, 12,
      lambda r: r**2 / mp.exp(r) + mp.mpf("1e-30"))
z_ln = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
shape("atanh_tail", "(atanh(s)/s - 1 - z/3) / z² with z = s², on |s| <= (√2-1)/(√2+1)",
      lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, 0, z_ln, 4, 8)
z_trig = (mp.pi / 4) ** 2 * mp.mpf("1.0001")
shape("sin_tail", "(sin(x)/x - 1) / z with z = x², on |x| <= π/4", lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, z_trig, 4, 7,
      lambda z: z)
shape("cos_tail", "(cos(x) - 1 + z/2) / z² with z = x², on |x| <= π/4", lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0, z_trig, 3, 7,
      lambda z: z**2)
shape("asin_tail", "(asin(x)/x - 1) / z with z = x², on |x| <= 1/2", lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, mp.mpf(".2501"), 6, 14,
      lambda z: z)
shape("atan_tail", "(atan(x)/x - 1) / z with z = x², on |x| <= tan(π/8)", lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, mp.mpf("0.17158"), 5, 12,
      lambda z: z)
shape("sinh_tail", "(sinh(x)/x - 1) / z with z = x², on |x| <= 1", lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, 1, 4, 8,
      lambda z: z)
shape("tanh_tail", "(tanh(x)/x - 1) / z with z = x², on |x| <= 0.55", lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, mp.mpf("0.303"), 6, 11,
      lambda z: z)
shape("rcbrt_start", "m^(-1/3) on 1 <= m < 2", lambda m: m ** (-mp.mpf(1) / 3), 1, 2, 4, 5)
shape("erf_head", "erf(x)/x - 1 with z = x², on |x| <= 1", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, 1, 8, 16,
      lambda z: 1)


def scaled_erfc(t):
    # x = 4 (1 + t) / (1 - t)
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.erfc(x) * mp.exp(x * x) - 1 if x < 1000 else (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * x * x) + 3 / (4 * x**4) - 15 / (8 * x**6)+105/(16*x**8)) - 1


ELEMENTARY = ["exp_tail", "atanh_tail", "sin_tail", "cos_tail", "asin_tail", "atan_tail", "sinh_tail", "tanh_tail", "rcbrt_start"]


def rust(name, bits):
    doc, f, a, b, terms, weight = SHAPES[name]
    c, left = fit(f, a, b, terms[bits], bits, weight, refit=None if bits == F32 else 4)
    kind = "f32" if bits == F32 else "f64"
    lines, line = [], "        "
    for item in [text(x, bits) + ", " for x in c]:
        if len(line) + len(item) > 100:
            lines.append(line.rstrip())
            line = "        "
        line += item
    lines.append(line.rstrip().rstrip(","))
    body = "\n".join(lines)
    return (f"/// {doc}. Error {mp.nstr(left, 2)}.\n#[inline(always)]\npub(crate) fn {name}(x: {kind}) -> {kind} {{\n"
            f"    polynomial!(x;\n{body})\n}}\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--files"]:
        for bits, n in ((F32, 32), (F64, 64)):
            with open(f"{sys.argv[2]}/poly{n}.rs", "w") as out:
                out.write(f"//! The polynomials of the elementary functions for `f{n}`, made by `tools/minimax.py`.\n\n"
                          "use super::real::polynomial;\n")
                for name in ELEMENTARY:
                    out.write("\n" + rust(name, bits))
    for name in [] if sys.argv[1:2] == ["--files"] else sys.argv[1:]:
        print(rust(name, F32), rust(name, F64), sep="\n")
