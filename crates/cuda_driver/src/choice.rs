//! Which device handles the calls: the real driver's, or the virtual one.
//!
//! This is decided once per process, at the first driver call or by [`choose`]. The preference comes from [`choose`], else
//! from `WARPSMITH_DEVICE`; `auto` uses a GPU if the real driver has a usable one, and says on stderr which device it
//! uses.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock, PoisonError};

use gpu_model::Chip;
use gpu_model::chips;
use virtual_gpu::memory::MOST_DEVICES;

use crate::abi::CUresult;
use crate::check;
use crate::execution::Execution;
use crate::real::{Missing, RealDriver};
use crate::stand_in;

/// How many virtual GPUs to provide.
const DEVICES: &str = "WARPSMITH_DEVICES";

/// The user's preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DevicePreference {
    /// A GPU if there is one, else the virtual GPU. As a stand-in for `libcuda.so.1`: the virtual GPU.
    #[default]
    Auto,
    /// A real GPU, or an error.
    Gpu,
    /// The virtual GPU.
    Virtual,
}

impl FromStr for DevicePreference {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        match text.to_ascii_lowercase().as_str() {
            "" | "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu),
            "virtual" => Ok(Self::Virtual),
            _ => Err(ChoiceError::UnknownDevice { given: text.to_owned() }),
        }
    }
}

/// Why no device could be used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields hold")]
pub enum ChoiceError {
    /// `WARPSMITH_DEVICE` does not name a device.
    #[error("WARPSMITH_DEVICE={given}: the devices are auto, gpu and virtual")]
    UnknownDevice { given: String },
    /// `WARPSMITH_MODEL` does not name a chip.
    #[error("WARPSMITH_MODEL={given}: the models are {}", keys())]
    UnknownModel { given: String },
    /// The number of models differs from the number of devices.
    #[error(
        "WARPSMITH_DEVICES={devices}, and {models} models are named: name one for all, or one for each device"
    )]
    OtherNumber { devices: usize, models: usize },
    /// `WARPSMITH_CHECK` does not name a check.
    #[error("WARPSMITH_CHECK: {0}")]
    UnknownCheck(#[from] sanitizer::UnknownCheck),
    /// `WARPSMITH_EXECUTION` has an unknown value.
    #[error("WARPSMITH_EXECUTION={given}: programs are run compiled or interpreted")]
    UnknownExecution {
        /// The word.
        given: String,
    },
    /// `WARPSMITH_EXECUTION=compiled`, which is not possible here.
    #[error("WARPSMITH_EXECUTION=compiled: {why}")]
    NotCompiled {
        /// Why not.
        why: String,
    },
    /// An environment variable that must be a number.
    #[error("{name}={given}: a whole number from {least} to {most} is expected")]
    NotANumber { name: &'static str, given: String, least: u64, most: u64 },
    /// A GPU was requested, but there is none.
    #[error("a real GPU was asked for, but {0}")]
    NoGpu(NoGpu),
    /// The device was requested after the first driver call had chosen it.
    #[error("the device is chosen already: {taken}; choose before the first CUDA call")]
    TooLate { taken: String },
}

/// As displayed: `main` and `unwrap` print this form.
impl fmt::Debug for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn keys() -> String {
    chips::ALL.iter().map(|chip| chip.key).collect::<Vec<_>>().join(", ")
}

/// Why the real driver provides no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields hold")]
pub enum NoGpu {
    /// There is no driver.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The driver refuses.
    #[error("the NVIDIA driver ({path}) answers {call} with {code}: {}", text(*.code))]
    Refused { path: String, call: &'static str, code: CUresult },
    /// The driver works but reports no device.
    #[error("the NVIDIA driver ({path}) counts no device")]
    NoDevice { path: String },
}

fn text(code: CUresult) -> &'static str {
    match code {
        CUresult::SYSTEM_DRIVER_MISMATCH => {
            "the driver's library and its kernel module are of different versions"
        }
        CUresult::NOT_FOUND => "the library has no such entry point; it is not a CUDA driver",
        _ => code.text().and_then(|text| text.to_str().ok()).unwrap_or("unknown error"),
    }
}

/// The device that handles the calls.
#[derive(Clone, Copy)]
pub enum Taken {
    /// Calls go to the real driver.
    Gpu(&'static RealDriver),
    /// Virtual GPUs handle calls; these are the chips they model, at least one.
    Virtual(&'static [&'static Chip]),
}

impl Taken {
    /// Whether it is the virtual GPU.
    pub fn is_virtual(&self) -> bool {
        match self {
            Self::Gpu(driver) => driver.is_stand_in(),
            Self::Virtual(_) => true,
        }
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu(driver) => write!(f, "the GPU, through {}", driver.path().display()),
            Self::Virtual([chip]) => write!(f, "the virtual GPU, modelling {}", chip.name),
            Self::Virtual(chips) => {
                let mut names: Vec<&str> = chips.iter().map(|chip| chip.name).collect();
                let count = names.len();
                names.dedup();
                write!(f, "{count} virtual GPUs, modelling {}", names.join(", "))
            }
        }
    }
}

impl fmt::Debug for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

static TAKEN: OnceLock<Result<Taken, ChoiceError>> = OnceLock::new();
static PREFERRED: Mutex<(Option<DevicePreference>, Option<Chips>)> = Mutex::new((None, None));

/// Chooses a device now, as requested on the program's command line; the environment provides values that are `None`.
/// For several virtual GPUs pass a list as `model`, or set `WARPSMITH_DEVICES`.
///
/// The first driver call chooses if nothing else did before; requesting a different device later is an error.
///
/// ```
/// use warpsmith_cuda::{DevicePreference, choose};
///
/// let taken = choose(Some(DevicePreference::Virtual), Some("t4")).unwrap();
/// assert!(taken.is_virtual());
/// assert!(choose(Some(DevicePreference::Virtual), Some("h100")).is_err());
/// ```
pub fn choose(preference: Option<DevicePreference>, model: Option<&str>) -> Result<Taken, ChoiceError> {
    let asked = model.map(listed).transpose()?;
    *PREFERRED.lock().unwrap_or_else(PoisonError::into_inner) = (preference, asked.clone());
    let taken = taken()?;
    let met = match taken {
        Taken::Gpu(_) => preference != Some(DevicePreference::Virtual),
        Taken::Virtual(are) => {
            let differs = |asked: Chips| !same(&spread(asked, are.len()).unwrap_or_default(), are);
            preference != Some(DevicePreference::Gpu) && !asked.is_some_and(differs)
        }
    };
    if met { Ok(taken) } else { Err(ChoiceError::TooLate { taken: taken.to_string() }) }
}

/// Takes the driver that other code of the process has loaded under the driver's name, so that both share contexts and memory.
/// That may be the stand-in, which `warpsmith run` and `check` lead to.
pub fn choose_loaded() -> Result<Taken, ChoiceError> {
    let open = || RealDriver::loaded().map(Taken::Gpu).map_err(|missing| ChoiceError::NoGpu(missing.into()));
    let taken = TAKEN.get_or_init(open).clone()?;
    match taken {
        Taken::Gpu(_) => Ok(taken),
        Taken::Virtual(_) => Err(ChoiceError::TooLate { taken: taken.to_string() }),
    }
}

/// The device that handles the calls, chosen now if it was not before.
pub fn taken() -> Result<Taken, ChoiceError> {
    TAKEN
        .get_or_init(|| {
            let (preference, chips) = PREFERRED.lock().unwrap_or_else(PoisonError::into_inner).clone();
            decide(preference, chips)
        })
        .clone()
}

/// Like [`taken`] for a driver call, where an error can only be a code: its message goes to stderr, once.
pub(crate) fn taken_or_code() -> Result<Taken, CUresult> {
    static TOLD: OnceLock<()> = OnceLock::new();
    match TAKEN.get() {
        Some(Ok(taken)) => Ok(*taken),
        _ => taken().map_err(|error| {
            TOLD.get_or_init(|| eprintln!("warpsmith: {error}"));
            CUresult::NO_DEVICE
        }),
    }
}

/// A variable of the environment, empty if it is not set. Bytes that are no text are replaced, and then refused as any other
/// unknown word.
pub(crate) fn setting(name: &str) -> String {
    std::env::var_os(name).unwrap_or_default().to_string_lossy().into_owned()
}

fn decide(preference: Option<DevicePreference>, chips: Option<Chips>) -> Result<Taken, ChoiceError> {
    let preference = match preference {
        Some(preference) => preference,
        None => setting("WARPSMITH_DEVICE").parse()?,
    };
    match preference {
        DevicePreference::Virtual => Ok(Taken::Virtual(modelled(chips)?)),
        DevicePreference::Gpu => gpu().map(Taken::Gpu).map_err(ChoiceError::NoGpu),
        DevicePreference::Auto if stand_in::is_stand_in() => {
            let taken = Taken::Virtual(modelled(chips)?);
            eprintln!("warpsmith: running on {taken}");
            Ok(taken)
        }
        DevicePreference::Auto => match gpu() {
            Ok(driver) => {
                let taken = Taken::Gpu(driver);
                eprintln!("warpsmith: running on {taken}");
                Ok(taken)
            }
            Err(reason) => {
                let taken = Taken::Virtual(modelled(chips)?);
                eprintln!("warpsmith: running on {taken} ({reason})");
                Ok(taken)
            }
        },
    }
}

fn chip(key: &str) -> Result<&'static Chip, ChoiceError> {
    chips::by_key(key).ok_or_else(|| ChoiceError::UnknownModel { given: key.to_owned() })
}

/// The chips, in device order.
type Chips = Vec<&'static Chip>;

/// `h200`, or `h200,h200,a100`.
fn listed(keys: &str) -> Result<Chips, ChoiceError> {
    keys.split(',').map(|key| chip(key.trim())).collect()
}

/// One chip applies to all devices.
fn spread(chips: Chips, devices: usize) -> Result<Chips, ChoiceError> {
    match chips.as_slice() {
        [chip] => Ok(vec![*chip; devices]),
        _ if chips.len() == devices => Ok(chips),
        _ => Err(ChoiceError::OtherNumber { devices, models: chips.len() }),
    }
}

fn same(some: &[&Chip], others: &[&Chip]) -> bool {
    some.iter().map(|chip| chip.key).eq(others.iter().map(|chip| chip.key))
}

fn modelled(given: Option<Chips>) -> Result<&'static [&'static Chip], ChoiceError> {
    check::start()?;
    if !setting("WARPSMITH_EXECUTION").trim().is_empty() {
        Execution::of_environment()?;
    }
    let numbers = [
        (DEVICES, 1..=MOST_DEVICES.into()),
        ("WARPSMITH_THREADS", 1..=1024),
        ("WARPSMITH_SEED", 0..=u64::MAX),
        ("WARPSMITH_WATCHDOG", 1..=u64::MAX),
    ];
    for (name, range) in numbers {
        let given = setting(name);
        if !given.trim().is_empty() && !given.trim().parse().is_ok_and(|number| range.contains(&number)) {
            return Err(ChoiceError::NotANumber { name, given, least: *range.start(), most: *range.end() });
        }
    }
    let chips = match (given, setting("WARPSMITH_MODEL")) {
        (Some(chips), _) => chips,
        (None, keys) if !keys.is_empty() => listed(&keys)?,
        _ => vec![&chips::H200],
    };
    let devices = setting(DEVICES).trim().parse().ok();
    let devices = devices.unwrap_or(chips.len());
    // Decided once in a process.
    Ok(spread(chips, devices)?.leak())
}

/// The real driver, if it has a device that this process can use.
fn gpu() -> Result<&'static RealDriver, NoGpu> {
    let driver = RealDriver::get()?;
    let path = || driver.path().display().to_string();
    match driver.devices() {
        Ok(0) => Err(NoGpu::NoDevice { path: path() }),
        Ok(_) => driver
            .check_usable()
            .map_err(|(call, code)| NoGpu::Refused { path: path(), call, code })
            .map(|()| driver),
        Err((call, code)) => Err(NoGpu::Refused { path: path(), call, code }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_environment_are_checked() {
        assert_eq!("GPU".parse(), Ok(DevicePreference::Gpu));
        assert_eq!("".parse(), Ok(DevicePreference::Auto));
        let error = "cpu".parse::<DevicePreference>().unwrap_err().to_string();
        assert!(error.contains("cpu") && error.contains("auto, gpu and virtual"), "{error}");
        let error = listed("h200, gtx480").unwrap_err().to_string();
        assert!(error.contains("gtx480") && error.contains("rtx4090"), "{error}");
    }

    #[test]
    fn one_model_is_every_devices_and_a_list_is_one_for_each() {
        let keys = |chips: Chips| chips.iter().map(|chip| chip.key).collect::<Vec<_>>();
        assert_eq!(keys(spread(listed("t4").unwrap(), 3).unwrap()), ["t4"; 3]);
        assert_eq!(keys(spread(listed("h200,a100").unwrap(), 2).unwrap()), ["h200", "a100"]);
        let error = spread(listed("h200,a100").unwrap(), 3).unwrap_err().to_string();
        assert!(error.contains("WARPSMITH_DEVICES=3") && error.contains("2 models"), "{error}");
    }

    #[test]
    fn a_refusal_carries_the_drivers_own_reason() {
        let refusal = NoGpu::Refused {
            path: "/x/libcuda.so.1".into(),
            call: "cuInit",
            code: CUresult::SYSTEM_DRIVER_MISMATCH,
        };
        let text = ChoiceError::NoGpu(refusal).to_string();
        for part in ["/x/libcuda.so.1", "cuInit", "803", "different versions"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
