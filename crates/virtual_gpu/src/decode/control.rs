//! Control flow and fences.

use ptx::{Operand, ScalarType};

use super::Refusal;
use super::function::{Decoder, Symbol};
use super::hint;
use super::modifiers::Form;
use crate::form::op::OpKind;
use crate::observer::{Order, Scope};

/// Decodes one.
pub(super) fn decode(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    f.modifiers.take("uni");
    Ok(match f.name {
        "bra" => {
            let [Operand::Name(label)] = f.operands()? else { return Err(Refusal::new("it takes a label")) };
            OpKind::Branch { target: d.label(label) }
        }
        "brx" => {
            f.modifiers.take("idx");
            let [index, Operand::Name(list)] = f.operands()? else {
                return Err(Refusal::new("it takes an index and a list of targets"));
            };
            let Some(Symbol::Targets(targets)) = d.symbol(list).cloned() else {
                return Err(Refusal(format!("`{list}` is no list of branch targets")));
            };
            OpKind::BranchIndexed { index: d.number(index, ScalarType::U32)?, targets }
        }
        "ret" | "exit" | "trap" | "brkpt" => {
            f.operands::<0>()?;
            match f.name {
                "ret" => OpKind::Return,
                "exit" => OpKind::Exit,
                "trap" => OpKind::Trap,
                _ => OpKind::Breakpoint,
            }
        }
        "nanosleep" => {
            f.modifiers.take("u32");
            let [time] = f.operands()?;
            d.number(time, ScalarType::U32)?;
            OpKind::Yield
        }
        "membar" | "fence" => fence(d, f)?,
        _ => return hint::decode(d, f),
    })
}

fn fence(d: &mut Decoder<'_>, f: &mut Form<'_>) -> Result<OpKind, Refusal> {
    let m = &mut f.modifiers;
    if m.take_map(|w| (w.starts_with("proxy") || w == "mbarrier_init").then_some(())).is_some() {
        // Between proxies: memory here is one. The order that it also gives is that of the rest of its name.
        let proxies = m.take_map(|w| w.starts_with("async").then_some(())).is_some();
        let order = m.order().unwrap_or(Order::AcquireRelease);
        let scope = m.scope().unwrap_or(Scope::Block);
        let acquires_map = order == Order::Acquire && m.has(|w| w.starts_with("tensormap"));
        m.take_all();
        match f.operands {
            [Operand::Address(map), bytes] if acquires_map => {
                d.address(map)?;
                hint::whole_line(bytes)?;
            }
            [] if !acquires_map => {}
            _ => {
                return Err(Refusal::new(
                    "it takes the address of a map and 128 where it acquires one, else nothing",
                ));
            }
        }
        return Ok(OpKind::Fence { order, scope, proxies });
    }
    let order = m.order().unwrap_or(if f.name == "fence" {
        Order::AcquireRelease
    } else {
        Order::SequentiallyConsistent
    });
    let level = m.take_any(&[("gl", Scope::Device)]);
    let scope = level.or_else(|| m.scope()).ok_or_else(|| Refusal::new("it names no scope"))?;
    // `.sync_restrict::…` narrows what is ordered; ordering more is within the rules.
    m.take_map(|w| w.starts_with("sync_restrict").then_some(()));
    f.operands::<0>()?;
    Ok(OpKind::Fence { order, scope, proxies: false })
}
