use virtual_gpu::Launch;

use crate::device::{Device, Plain};
use crate::numbers;

fn device() -> Device {
    crate::device(include_bytes!("float.ptx.gz"))
}

#[test]
fn mandelbrot() {
    let device = device();
    let (width, limit) = (64, 200);
    let counts = device.zeros::<u32>(64 * 32);
    device.launch("mandelbrot", Launch::new(16, 128), &[counts.arg(), width.bytes(), limit.bytes()]);
    for (i, got) in device.download::<u32>(counts).into_iter().enumerate() {
        let i = i as i32;
        let cx = 3.0 * (i % width) as f64 / width as f64 - 2.25;
        let cy = 2.5 * (i / width) as f64 / width as f64 - 1.25;
        let (mut x, mut y, mut n) = (0f64, 0f64, 0);
        while n < limit && x.mul_add(x, y * y) < 4.0 {
            (x, y) = (x.mul_add(x, -(y * y)) + cx, (x + x).mul_add(y, cy));
            n += 1;
        }
        assert_eq!(got, n as u32, "point {i}");
    }
}

/// The next lower neighbours of an exactly known value: `f64` holds sums and products of these inputs.
fn down(exact: f64) -> f32 {
    let near = exact as f32;
    if near as f64 > exact { near.next_down() } else { near }
}

fn up(exact: f64) -> f32 {
    let near = exact as f32;
    if (near as f64) < exact { near.next_up() } else { near }
}

#[test]
fn directed_rounding_and_conversions() {
    let device = device();
    let draw = |seed| numbers(seed).take(64).map(|n| (n as i32 as f32) * 2f32.powi(-((n >> 40) as i32 & 31)));
    let (a, b): (Vec<f32>, Vec<f32>) =
        (draw(1).collect(), draw(2).map(|b| if b == 0.0 { 1.0 } else { b }).collect());
    let out = device.zeros::<u32>(64 * 16);
    device.launch(
        "rounding",
        Launch::new(1, 64),
        &[device.upload(&a).arg(), device.upload(&b).arg(), out.arg()],
    );
    let got = device.download::<u32>(out);
    for t in 0..64 {
        let (x, y) = (a[t], b[t]);
        let (wx, wy) = (x as f64, y as f64);
        let quotient = wx / wy;
        let integer = x.to_bits() as i32 as f64;
        let toward_zero = |v: f64| if v > 0.0 { down(v) } else { up(v) };
        let want = [
            down(wx + wy).to_bits(),
            up(wx * wy).to_bits(),
            toward_zero(quotient).to_bits(),
            // The product has 48 bits, and x lies within 2^53 of it or far away from a tie.
            down(wx.mul_add(wy, wx)).to_bits(),
            up(wx.abs().sqrt()).to_bits(),
            down(1.0 / wy).to_bits(),
            x.floor() as i32 as u32,
            y.ceil() as u32,
            x.round_ties_even().to_bits(),
            toward_zero(integer).to_bits(),
            x.min(y).to_bits(),
            y.trunc().to_bits(),
            up(wx * wy).to_bits(),
            x.clamp(0.0, 1.0).to_bits() & 0x7fff_ffff,
            x as i64 as u32,
            x.copysign(y).to_bits() ^ y.is_sign_negative() as u32,
        ];
        assert_eq!(got[t * 16..][..16], want, "{x:e} {y:e}");
    }
}

#[test]
fn library_functions() {
    let device = device();
    let n = 32;
    let inputs: Vec<f64> =
        numbers(3).take(64).map(|n| (n >> 11) as f64 / (1u64 << 49) as f64 - 8.0).collect();
    let out = device.zeros::<f64>(64 * n);
    let args = [device.upload(&inputs).arg(), out.arg(), (n as i32).bytes()];
    device.launch("functions", Launch::new(1, 64), &args);
    let got = device.download::<f64>(out);
    for (t, &x) in inputs.iter().enumerate() {
        let f = x as f32;
        let (w, magnitude) = (f as f64, x.abs());
        let double = [
            x.sin(),
            x.cos(),
            x.tan(),
            x.exp(),
            magnitude.ln(),
            magnitude.powf(1.7),
            magnitude.sqrt(),
            x.cbrt(),
            x.atan2(2.0),
            x.tanh(),
            libm::erf(x),
            libm::tgamma(magnitude + 0.5),
            x % 0.7,
            x.hypot(3.0),
            (x / 40.0).asin(),
            magnitude.ln_1p(),
        ];
        let single = [
            w.sin(),
            w.cos(),
            w.tan(),
            w.exp(),
            w.abs().ln(),
            w.abs().powf(1.7f32 as f64),
            w.abs().sqrt(),
            w.cbrt(),
            w.atan2(2.0),
            w.tanh(),
            libm::erf(w),
            w / 3.0,
            1.0 / w.abs().sqrt(),
            w.exp2(),
            w.abs().log2(),
            ((f * 100_000.0) as f64).sin(),
        ];
        // CUDA's table of errors: at most 10 units in double, 4 in single precision for these.
        for (i, (want, epsilon)) in double
            .iter()
            .map(|d| (d, 16.0 * f64::EPSILON))
            .chain(single.iter().map(|s| (s, 6.0 * f32::EPSILON as f64)))
            .enumerate()
        {
            let got = got[t * n + i];
            // Near their zeros the reference's own argument error shows, so an absolute part is allowed.
            let allowed = epsilon * (want.abs() + 1e-3);
            assert!((got - want).abs() <= allowed, "function {i} of {x}: {got:e}, expected {want:e}");
        }
    }
}
