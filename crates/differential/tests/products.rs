//! Products on tensor cores against the hashes of an H100's results.

use differential::complete::{Chunks, Kept};
use differential::products::{self, BLOCKS, SAMPLE};
use gpu_model::chips::H100;
use virtual_gpu::{Gpu, Options};

const RECORDED: &str = include_str!("../recorded/products.txt");

/// Compares what both keep of these blocks.
fn compare(chunks: Chunks, recorded: fn(&Kept) -> Vec<u32>, got: fn(&[u32]) -> Vec<u32>) {
    let mut gpu = Gpu::with_options(&H100, Options::default());
    let mut wrong = Vec::new();
    for (name, instruction, operands) in products::all() {
        let kept = Kept::read(RECORDED, &name).unwrap();
        let hashes = products::hashes(&mut gpu, &instruction, operands, chunks).unwrap();
        if got(&hashes) != recorded(&kept) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "results differ: {wrong:#?}");
}

#[test]
fn samples_have_the_hashes_of_an_h100() {
    compare(Chunks { stride: SAMPLE, count: 2 }, |kept| kept.sample.clone(), <[u32]>::to_vec);
}

#[test]
#[ignore = "10,485,760 results of 98 records take minutes"]
fn all_results_have_the_hashes_of_an_h100() {
    let all = Chunks { stride: 1, count: BLOCKS };
    compare(all, |kept| vec![kept.all], |hashes| vec![Kept::of(hashes, SAMPLE).all]);
}
