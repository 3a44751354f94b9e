//! Functions of a word against the hashes of an H100's results.

use differential::complete::{self, CHUNKS, Chunks, FUNCTIONS, Kept, SAMPLE};
use gpu_model::chips::H100;
use virtual_gpu::{Gpu, Options};

const RECORDED: &str = include_str!("../recorded/complete.txt");

#[test]
fn samples_have_the_hashes_of_an_h100() {
    let mut gpu = Gpu::with_options(&H100, Options::default());
    for function in FUNCTIONS {
        let kept = Kept::read(RECORDED, function).unwrap();
        let chunks = Chunks { stride: SAMPLE, count: kept.sample.len() as u32 };
        let got = complete::hashes(&mut gpu, function, chunks).unwrap();
        let wrong: Vec<_> =
            (0..got.len()).filter(|&at| got[at] != kept.sample[at]).map(|at| at as u32 * SAMPLE).collect();
        assert!(wrong.is_empty(), "{function}: inputs {wrong:x?}0000 and on have other results");
    }
}

#[test]
#[ignore = "all 2^32 inputs of 25 functions take half an hour in a release build"]
fn all_inputs_have_the_hashes_of_an_h100() {
    let mut gpu = Gpu::with_options(&H100, Options::default());
    for function in FUNCTIONS {
        let all = Chunks { stride: 1, count: CHUNKS };
        let got = Kept::of(&complete::hashes(&mut gpu, function, all).unwrap(), SAMPLE);
        assert_eq!(got, Kept::read(RECORDED, function).unwrap(), "{function}");
    }
}
