#!/usr/bin/env python3
"""Makes the polynomials of `src/math`: `minimax.py --files src/math` and `minimax.py --special src/math/special`.

Each is the Remez polynomial of least relative (or given) error on its interval, its coefficients rounded one after the
other, lowest first, the rest fitted again to what rounding left. Needs `mpmath`; nothing of the build needs this."""
import struct, sys
import mpmath as mp

mp.mp.dps = 75
F32, F64 = 24, 53
DENSITY = 12


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
    middle, half = (a + b) / 2, (b - a) / 2
    nodes = [middle - half * mp.cos(mp.pi * i / n) for i in range(n + 1)]
    grid = [middle - half * mp.cos(mp.pi * i / (DENSITY * n)) for i in range(DENSITY * n + 1)]
    fg, wg = [f(x) for x in grid], [weight(x) for x in grid]
    best = None
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
        size = max(abs(e) for e in error)
        if best is None or size < best[1]:
            best = c, size
        # One extremum for each stretch of equal sign; of too many, the smallest neighbours go.
        extrema, start = [], 0
        for i in range(1, len(grid) + 1):
            if i == len(grid) or (error[i] > 0) != (error[start] > 0):
                extrema.append(max(range(start, i), key=lambda k: abs(error[k])))
                start = i
        while len(extrema) > n + 1:
            if len(extrema) == n + 2:
                extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
            else:
                k = min(range(len(extrema) - 1), key=lambda k: max(abs(error[extrema[k]]), abs(error[extrema[k + 1]])))
                del extrema[k:k + 2]
        if len(extrema) < n + 1:
            break
        new = [grid[i] for i in extrema]
        if new == nodes:
            break
        nodes = new
    return best


def evaluate(c, powers, x):
    return mp.fsum(ci * x**p for ci, p in zip(c, powers))


def fit(f, a, b, terms, bits, weight=None, refit=None):
    """Rounded coefficients of x^0, x^1, …, and the error they leave."""
    weight = weight or (lambda x: 1 / f(x))
    fixed = []
    # Where zero lies inside the interval, a polynomial that vanishes there cannot follow.
    refit = 1 if a < 0 < b and weight(mp.mpf(0)) != 0 else terms if refit is None else refit
    c, _ = remez(f, weight, a, b, list(range(terms)))
    for i in range(terms):
        if i < refit and i > 0:
            done = list(fixed)
            rest = lambda x: f(x) - evaluate(done, range(len(done)), x)
            c, _ = remez(rest, weight, a, b, list(range(i, terms)), rounds=3)
            c = done + c
        fixed.append(rounded(c[i], bits))
    grid = [a + (b - a) * mp.mpf(i) / 200 for i in range(201)]
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
        with mp.workdps(75):
            return +f(mp.mpf(x))
    return g


EPS = mp.mpf("1e-18")


def at(x):
    return mp.mpf(x) if abs(x) > EPS else EPS


SHAPES = {}
# Those that `f32` alone has.
SINGLE = {}


def shape(name, doc, f, a, b, terms32, terms64, weight=None):
    (SHAPES if terms64 else SINGLE)[name] = (doc, high(lambda x: f(at(x))), mp.mpf(a), mp.mpf(b), {F32: terms32, F64: terms64},
                                                weight and (lambda x: weight(at(x))))


half_ln2 = mp.log(2) / 2 + mp.mpf("1e-6")
shape("exp_tail", "(e^r - 1 - r) / r² on |r| <= ln(2)/2", lambda r: (mp.exp(r) - 1 - r) / r**2, -half_ln2, half_ln2, 6, 12,
      lambda r: r**2 / mp.exp(r) + mp.mpf("1e-30"))
z_ln = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
shape("atanh_tail", "(atanh(s)/s - 1 - z/3) / z² with z = s², on |s| <= (√2-1)/(√2+1)",
      lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, 0, z_ln, 4, 8)
below, above = mp.mpf("-.25"), mp.mpf(".5")
shape("ln_tail", "(ln(1 + f) - f + f²/2) / f³ on 3/4 <= 1 + f <= 3/2", lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, below, above, 9, None,
      lambda f: f**2 + mp.mpf("1e-30"))
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


shape("erf_near", "erf(x)/x - 1 with z = x², on |x| <= 1.05", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 0, mp.mpf("1.1025"), 8, None,
      lambda z: 1)
shape("erfc_exponent", "log2(erfc(x)) / x on 1.05 <= x <= 4", lambda x: mp.log(mp.erfc(x), 2) / x, mp.mpf("1.05"), 4, 7, None,
      lambda x: x * mp.erfc(x) * mp.log(2))
shape("exp2_head", "(2^r - 1) / r on |r| <= 1/2", lambda r: (2**r - 1) / r, mp.mpf("-.5"), mp.mpf(".5"), 6, None, abs)
shape("exp_head", "(e^r - 1) / r on |r| <= ln(2)/2", lambda r: (mp.exp(r) - 1) / r, -half_ln2, half_ln2, 7, None, abs)
r_10 = mp.log(2, 10) / 2 + mp.mpf("1e-6")
shape("exp10_head", "(10^r - 1) / r on |r| <= log10(2)/2", lambda r: (10**r - 1) / r, -r_10, r_10, 7, None, abs)


def log_tail(base):
    """What is left of log(1 + f) / f without the f32 nearest to log(e)."""
    first = rounded(1 / mp.log(base), F32)
    return lambda f: mp.log1p(f) / mp.log(base) / f - first


half_power, power = mp.sqrt(mp.mpf(1) / 2) - 1 - mp.mpf("1e-7"), mp.sqrt(2) - 1 + mp.mpf("1e-7")
shape("log2_tail", "log2(1 + f) / f - log2(e) as an f32, on √½ <= 1 + f <= √2", log_tail(2), half_power, power, 10, None, lambda f: mp.log(2))
shape("log10_tail", "log10(1 + f) / f - log10(e) as an f32, on √½ <= 1 + f <= √2", log_tail(10), half_power, power, 10, None, lambda f: mp.log(10))
shape("atan_whole", "(atan(x)/x - 1) / z with z = x², on |x| <= 1", lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0, mp.mpf("1.0001"), 9, None,
      lambda z: z)
shape("sin_pi_tail", "(sin(πx)/(πx) - 1) / z with z = x², on |x| <= 1/2", lambda z: (mp.sinc(mp.pi * mp.sqrt(z)) - 1) / z, 0, mp.mpf("0.2501"), 5, None,
      lambda z: z * mp.pi / 2)


def scaled_erfc(t):
    x = 4 * (1 + t) / (1 - t)
    if x > 50:
        tail, term = mp.mpf(1), mp.mpf(1)
        for k in range(1, 30):
            term *= -(2 * k - 1) / (2 * x * x)
            tail += term
        return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * tail - 1
    return (1 + 2 * x) * mp.erfc(x) * mp.exp(x * x) - 1


def one(x):
    return mp.mpf(1)


def scaled_erfc_near(t):
    """`scaled_erfc` with its middle at 5/2."""
    x = mp.mpf("2.5") * (1 + t) / (1 - t)
    return scaled_erfc((x - 4) / (x + 4))


shape("erfcx_scaled", "(1 + 2x)·e^(x²)·erfc(x) - 1 with x = 5/2·(1 + t) / (1 - t), on x >= 0", scaled_erfc_near,
      -1, mp.mpf(1) - mp.mpf("1e-30"), 12, None, lambda t: 1 / (1 + scaled_erfc_near(t)))


def special(name, doc, f, a, b, terms, weight=one):
    shape(name, doc, f, a, b, None, terms, weight)


special("erfcx_scaled", "(1 + 2x)·e^(x²)·erfc(x) - 1 with x = 4 (1 + t) / (1 - t), on x >= 1/2", scaled_erfc,
        mp.mpf(-7) / 9, mp.mpf(1) - mp.mpf("1e-30"), 25)


def erfinv_of(w):
    u = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(u) / u


def erfcinv_tail(v):
    # v = 1/s with s = sqrt(-ln(y (2 - y))): x / s
    w = 1 / v**2
    y = -mp.expm1(mp.log1p(-mp.exp(-w)) / 2)   # y (2 - y) = e^-w
    x = mp.sqrt(w) - mp.log(mp.sqrt(w)) / (2 * mp.sqrt(w))
    for _ in range(12):
        e = mp.erfc(x)
        u = -(e - y) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x -= u / (1 + u * x)
    return x * v


# A middle whose coefficients lie near floats.
middle_inv = mp.mpf(33) / 16
shape("erf_inv_near", "erfinv(u)/u with t = -ln(1 - u²) - 33/16, on -33/16 <= t <= 5 - 33/16",
      lambda t: erfinv_of(t + middle_inv) if t + middle_inv > EPS else mp.sqrt(mp.pi) / 2, -middle_inv, 5 - middle_inv, 10, None)
shape("erf_inv_far", "erfcinv(y)/s with v = 1/s, s² = -ln(y·(2 - y)), on 5 <= s² <= 104", erfcinv_tail, mp.mpf("0.0975"), mp.mpf("0.4473"), 10, None)
special("erf_inv_middle", "erfinv(u)/u with w = -ln(1 - u²), on 0 <= w <= 5", lambda w: erfinv_of(w), 0, 5, 9)
special("erf_inv_tail", "erfcinv(y)/s with v = 1/s, s² = -ln(y·(2 - y)), on 5 <= s² <= 750", erfcinv_tail, mp.mpf("0.0365"), mp.mpf("0.4473"), 11)


def stirling(v):
    y = 1 / mp.sqrt(v)
    return (mp.loggamma(y) - (y - mp.mpf(1) / 2) * mp.log(y) + y - mp.log(2 * mp.pi) / 2) * y


special("stirling", "y·(ln Γ(y) - (y - ½)·ln y + y - ln(2π)/2) with v = 1/y², on y >= 12", stirling, mp.mpf("1e-12"), mp.mpf(1) / 144, 6)
shape("stirling_near", "y·(ln Γ(y) - (y - ½)·ln y + y - ln(2π)/2) with v = 1/y², on y >= 3", stirling, mp.mpf("1e-12"), mp.mpf(1) / 9, 4, None, mp.sqrt)
shape("ln_gamma_at_1", "ln Γ(1 + d) / d on |d| <= 1/2", lambda d: mp.loggamma(1 + d) / d, mp.mpf("-.5"), mp.mpf(".5"), 13, None)
shape("ln_gamma_at_2", "ln Γ(2 + d) / d on -1/2 <= d <= 1", lambda d: mp.loggamma(2 + d) / d, mp.mpf("-.5"), 1, 11, None)
shape("gamma_head", "Γ(3/2 + d) on |d| <= 1/2", lambda d: mp.gamma(mp.mpf("1.5") + d), mp.mpf("-.5"), mp.mpf(".5"), 11, None)
shape("i0_small", "(I0(x) - 1) / t with t = x² / 4, on x <= 8", lambda t: (mp.besseli(0, 2 * mp.sqrt(t)) - 1) / t, mp.mpf("1e-12"), 16, 10, None,
      lambda t: t / mp.besseli(0, 2 * mp.sqrt(t)))
shape("i1_small", "(2·I1(x)/x - 1) / t with t = x² / 4, on x <= 8", lambda t: (mp.besseli(1, 2 * mp.sqrt(t)) / mp.sqrt(t) - 1) / t, mp.mpf("1e-12"), 16, 10, None,
      lambda t: t**1.5 / mp.besseli(1, 2 * mp.sqrt(t)))
for order in (0, 1):
    shape(f"i{order}_large", f"I{order}(x)·e^-x·√x with v = 1/x, on x >= 8", lambda v, order=order: mp.besseli(order, 1 / v) * mp.exp(-1 / v) * mp.sqrt(1 / v),
          mp.mpf("0.005"), mp.mpf(1) / 8, 6, None)
special("ln_gamma_at_1", "ln Γ(1 + d) / d on |d| <= 1/4", lambda d: mp.loggamma(1 + d) / d, -mp.mpf("0.2501"), mp.mpf("0.2501"), 19)
special("ln_gamma_at_2", "ln Γ(2 + d) / d on |d| <= 1/4", lambda d: mp.loggamma(2 + d) / d, -mp.mpf("0.2501"), mp.mpf("0.2501"), 14)

ZEROS_J0 = [mp.besseljzero(0, k) for k in (1, 2, 3)]
ZEROS_J1 = [mp.besseljzero(1, k) for k in (1, 2, 3)]


def without(zeros, f):
    def g(t):
        z = 32 + 32 * t
        x = mp.sqrt(z)
        return f(x) / mp.fprod(z - k * k for k in zeros)
    return g


special("j0_small", "J0(x) / ((z - a²)(z - b²)(z - c²)), a, b and c its first zeros, z = x², t = (z - 32) / 32, on x <= 8", without(ZEROS_J0, lambda x: mp.besselj(0, x)), -1 + mp.mpf("1e-30"), 1, 21, None)
special("j1_small", "J1(x) / (x·(z - a²)(z - b²)(z - c²)), likewise", without(ZEROS_J1, lambda x: mp.besselj(1, x) / x), -1 + mp.mpf("1e-30"), 1, 21, None)
special("y0_small", "Y0(x) - 2/π·ln(x)·J0(x) with t = (x² - 32) / 32, on x <= 8", lambda t: (lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x))(mp.sqrt(32 + 32 * t)), -1 + mp.mpf("1e-30"), 1, 22)
special("y1_small", "(Y1(x) - 2/π·(ln(x)·J1(x) - 1/x)) / x with t = (x² - 32) / 32, on x <= 8", lambda t: (lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x)(mp.sqrt(32 + 32 * t)), -1 + mp.mpf("1e-30"), 1, 21)


for order, count in ((0, 3), (1, 2)):
    for k in range(1, count + 1):
        zero = mp.besselyzero(order, k)
        special(f"y{order}_at_zero_{k}", f"Y{order}(a + d) / d for its zero a = {mp.nstr(zero, 8)}, on |d| <= 1/4",
                lambda d, zero=zero, order=order: mp.bessely(order, zero + d) / d, -mp.mpf("0.2501"), mp.mpf("0.2501"), 20 if (order, k) == (0, 1) else 15, None)


def hankel(order, part):
    def g(v):
        x = 8 / mp.sqrt(v)
        phase = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        scale = mp.sqrt(mp.pi * x / 2)
        return scale * (j * mp.cos(phase) + y * mp.sin(phase)) if part == "p" else scale * (y * mp.cos(phase) - j * mp.sin(phase)) * x
    return g


for order in (0, 1):
    special(f"hankel_p{order}", f"P of order {order} with v = (8/x)², on x >= 8", hankel(order, "p"), mp.mpf("1e-10"), 1, 13)
    special(f"hankel_q{order}", f"x·Q of order {order} with v = (8/x)², on x >= 8", hankel(order, "q"), mp.mpf("1e-10"), 1, 13)
special("i0_small", "(I0(x) - 1) / t with t = x² / 64, on x <= 8", lambda t: (mp.besseli(0, 8 * mp.sqrt(t)) - 1) / t, mp.mpf("1e-12"), 1, 20, None)
special("i1_small", "(I1(x)/x - 1/2) / t with t = x² / 64, on x <= 8", lambda t: (mp.besseli(1, 8 * mp.sqrt(t)) / (8 * mp.sqrt(t)) - mp.mpf(1) / 2) / t, mp.mpf("1e-12"), 1, 19, None)
for order in (0, 1):
    special(f"i{order}_large", f"I{order}(x)·e^-x·√x with t = 16/x - 1, on x >= 8", lambda t, order=order: (lambda x: mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x))(16 / (1 + t)), -1 + mp.mpf("1e-3"), 1, 28, None)


mp.mp.dps = 45
ELEMENTARY = ["exp_tail", "atanh_tail", "sin_tail", "cos_tail", "asin_tail", "atan_tail", "sinh_tail", "tanh_tail", "rcbrt_start"]


def rust(name, bits):
    doc, f, a, b, terms, weight = SINGLE[name] if bits == F32 and name in SINGLE else SHAPES[name]
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
                for name in ELEMENTARY + (list(SINGLE) if bits == F32 else []):
                    out.write("\n" + rust(name, bits))
    if sys.argv[1:2] == ["--special"]:
        with open(f"{sys.argv[2]}/poly.rs", "w") as out:
            out.write("//! The polynomials of the special functions, made by `tools/minimax.py`.\n\n"
                      "use crate::math::real::polynomial;\n")
            for name in SHAPES:
                if name not in ELEMENTARY:
                    out.write("\n" + rust(name, F64))
        sys.exit()
    for name in [] if sys.argv[1:2] == ["--files"] else sys.argv[1:]:
        print(rust(name, F32), rust(name, F64), sep="\n")
