//! Results of an H100, bit for bit, on numbers that nothing rounds away: each file of `goldens` is one. `WARPSMITH_BLESS=1` writes
//! those of a GPU of this capability anew.

use std::path::PathBuf;

use blockwise_kernels::attention::safe_attention;
use cust::memory::DeviceCopy;
use host::data::Random;
use host::verify::TensorOutput;
use warpsmith_kernels::gemm::{Gemm, Input, InputElement, Layout, Output, OutputElement, Problem};
use warpsmith_kernels::rows::{Element, Norm, softmax};
use warpsmith_launch::{Bf16, Device, F16, Shape};

use crate::{Case, Needs, blocks, blockwise};

/// The cases.
pub fn cases() -> Vec<Case> {
    type Run = fn(&Device) -> anyhow::Result<Vec<u8>>;
    let all: [(&str, Run); 14] = [
        ("softmax_f32", of_rows::<f32>),
        ("softmax_bf16", of_rows::<Bf16>),
        ("layer_norm_f32", |device| normalised::<f32>(device, Norm::layer(1e-5))),
        ("layer_norm_f16", |device| normalised::<F16>(device, Norm::layer(1e-5))),
        ("rms_norm_bf16", |device| normalised::<Bf16>(device, Norm::rms(1e-6))),
        ("gelu", gelu),
        ("attention_f32", attention),
        ("product_f32", |device| product::<f32, f32>(device, Input::F32, Output::F32)),
        ("product_tf32", |device| product::<f32, f32>(device, Input::Tf32, Output::F32)),
        ("product_f16", |device| product::<F16, F16>(device, Input::F16, Output::F16)),
        ("product_bf16", |device| product::<Bf16, f32>(device, Input::Bf16, Output::F32)),
        ("product_bf16_bf16", |device| product::<Bf16, Bf16>(device, Input::Bf16, Output::Bf16)),
        ("product_e4m3", |device| product_of_bytes(device, "e4m3")),
        ("product_e5m2", |device| product_of_bytes(device, "e5m2")),
    ];
    let case = |(name, run): (&'static str, Run)| {
        Case::new(format!("goldens::{name}"), move |device| compare(device, name, &run(device)?))
            .needs(Needs::Exactly((9, 0)))
    };
    all.map(case).into()
}

/// Compares a result with the H100's.
pub fn compare(device: &Device, name: &str, result: &[u8]) -> anyhow::Result<()> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "suite", "goldens", name].iter().collect();
    if !device.is_virtual() && std::env::var_os("WARPSMITH_BLESS").is_some() {
        return Ok(std::fs::write(path, result)?);
    }
    let golden = std::fs::read(&path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    anyhow::ensure!(golden.len() == result.len(), "{} bytes, an H100 gave {}", result.len(), golden.len());
    let wrong: Vec<_> =
        (0..result.len()).step_by(2).filter(|&at| result[at..][..2] != golden[at..][..2]).collect();
    if let Some(&first) = wrong.first() {
        let (at, of) = (first / 4 * 4, |bytes: &[u8]| {
            bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        anyhow::bail!(
            "{} of {} halves of words differ from an H100's, at byte {at} {} for {}",
            wrong.len(),
            result.len() / 2,
            of(&result[at..(at + 4).min(result.len())]),
            of(&golden[at..(at + 4).min(golden.len())])
        );
    }
    Ok(())
}

/// Numbers of both signs between 2⁻⁸ and 2⁴, without a pattern in their fractions.
fn numbers<T: TensorOutput>(len: usize, seed: u64) -> Vec<T> {
    let units = Random::new(seed).units(len).into_iter().zip(0..);
    units.map(|(unit, i)| T::of(f64::from(unit) * f64::from(1 << (i % 7 + 4)) / 64.0)).collect()
}

fn bytes<T: DeviceCopy>(values: &[T]) -> Vec<u8> {
    // SAFETY: the values are numbers, of which every byte is initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

const ROWS: (usize, usize) = (3, 1500);

fn of_rows<T: Element + TensorOutput>(device: &Device) -> anyhow::Result<Vec<u8>> {
    let x = device.upload(&numbers::<T>(ROWS.0 * ROWS.1, 1))?;
    let mut y = device.zeroed::<T>(ROWS.0 * ROWS.1)?;
    softmax(device, ROWS, &x, &mut y)?;
    Ok(bytes(&device.download(&y)?))
}

fn normalised<T: Element + TensorOutput>(device: &Device, norm: Norm<'_, T>) -> anyhow::Result<Vec<u8>> {
    let x = device.upload(&numbers::<T>(ROWS.0 * ROWS.1, 2))?;
    let weights = device.upload(&numbers::<T>(ROWS.1, 3))?;
    let mut y = device.zeroed::<T>(ROWS.0 * ROWS.1)?;
    norm.weight(weights.slice(..)).apply(device, ROWS, &x, &mut y)?;
    Ok(bytes(&device.download(&y)?))
}

fn gelu(device: &Device) -> anyhow::Result<Vec<u8>> {
    let x = device.upload(&numbers::<f32>(2000, 4))?;
    let y = device.zeroed::<f32>(4000)?;
    let kernel = device.kernel::<::blocks::mathematics::gelu>(&blocks::LEVELS)?;
    // SAFETY: two results for each number.
    unsafe { kernel.launch(Shape::line(2000, 128), (&x, y.as_device_ptr().cast::<[f32; 2]>()))? };
    Ok(bytes(&device.download(&y)?))
}

fn attention(device: &Device) -> anyhow::Result<Vec<u8>> {
    let kernel = device.kernel::<safe_attention>(blockwise::levels())?;
    let matrix = |rows: usize, seed| device.upload_matrix(&numbers::<f32>(rows * 64, seed), rows, 64);
    let (q, k, v, mut out) = (matrix(9, 5)?, matrix(150, 6)?, matrix(150, 7)?, matrix(9, 5)?);
    device.scope(|scope| scope.launch(&kernel, (0.125f32, &q, &k, &v, &mut out)))?;
    Ok(bytes(&device.download(&out)?))
}

fn product<I, O>(device: &Device, input: Input, output: Output) -> anyhow::Result<Vec<u8>>
where
    I: InputElement + TensorOutput + DeviceCopy,
    O: OutputElement + TensorOutput + DeviceCopy + bytemuck::Zeroable,
{
    let (m, n, k) = (40, 72, 328);
    let (a, b) = (device.upload(&numbers::<I>(m * k, 8))?, device.upload(&numbers::<I>(n * k, 9))?);
    let mut c = device.zeroed::<O>(m * n)?;
    let problem = Problem::new((m, n, k), input, output, Layout::Nt);
    Gemm::new(device).multiply(&problem, &a, &b, &mut c)?;
    Ok(bytes(&device.download(&c)?))
}

/// 64 sums of 16 × 8 products each over K = 256, by a warp: any operands but NaNs and infinities.
fn product_of_bytes(device: &Device, ty: &str) -> anyhow::Result<Vec<u8>> {
    let ptx = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n
         .visible .entry products(.param .u64 from, .param .u64 to)\n{{
         .reg .b32 %a<4>, %b<2>, %d<4>, %lane, %block, %k; .reg .b64 %from, %to; .reg .pred %more;
         ld.param.u64 %from, [from]; ld.param.u64 %to, [to];
         mov.u32 %lane, %tid.x; mov.u32 %block, %ctaid.x;
         mad.lo.u32 %lane, %block, 32, %lane;
         mad.wide.u32 %from, %lane, 192, %from; mad.wide.u32 %to, %lane, 16, %to;
         mov.b32 %d0, 0; mov.b32 %d1, 0; mov.b32 %d2, 0; mov.b32 %d3, 0; mov.u32 %k, 8;
         next:
         ld.global.v2.b32 {{%a0, %a1}}, [%from]; ld.global.v2.b32 {{%a2, %a3}}, [%from+8];
         ld.global.v2.b32 {{%b0, %b1}}, [%from+16];
         mma.sync.aligned.m16n8k32.row.col.f32.{ty}.{ty}.f32
             {{%d0, %d1, %d2, %d3}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{%d0, %d1, %d2, %d3}};
         add.u64 %from, %from, 24; sub.u32 %k, %k, 1; setp.ne.u32 %more, %k, 0;
         @%more bra next;
         st.global.v4.b32 [%to], {{%d0, %d1, %d2, %d3}}; ret; }}\n"
    );
    let mut random = Random::new(10);
    let mut finite = || (0..4).fold(0, |word, _| word << 8 | random.bits() as u32 & 0xBF);
    let from: Vec<u32> = (0..64 * 32 * 48).map(|_| finite()).collect();
    let (from, to) = (device.upload(&from)?, device.zeroed::<u32>(64 * 32 * 4)?);
    let module = cust::module::Module::from_ptx(ptx, &[])?;
    let function = module.get_function("products")?;
    let stream = device.stream();
    // SAFETY: each thread has 192 bytes of operands and 16 of results.
    unsafe {
        let (from, to) = (from.as_device_ptr(), to.as_device_ptr());
        cust::launch!(function<<<64, 32, 0, stream>>>(from, to))?;
    }
    device.synchronize()?;
    Ok(bytes(&device.download(&to)?))
}
