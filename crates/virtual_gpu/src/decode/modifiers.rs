//! An instruction under way. Its modifiers are taken one by one: what is left over at the end is not supported.

use ptx::{Opcode, Operand, ScalarType};

use super::Refusal;
use crate::alu::Round;
use crate::form::arithmetic::{self, Arithmetic};
use crate::form::op::OpKind;
use crate::form::qualifiers::Qualifiers;
use crate::form::registers::Slot;
use crate::observer::{Order, Scope};

/// An instruction that is being decoded: its operands, and the modifiers that are left.
pub(super) struct Form<'a> {
    pub name: &'a str,
    pub modifiers: Modifiers<'a>,
    pub operands: &'a [Operand],
}

impl<'a> Form<'a> {
    /// Exactly this many operands.
    pub fn operands<const N: usize>(&self) -> Result<&'a [Operand; N], Refusal> {
        self.operands
            .try_into()
            .map_err(|_| Refusal(format!("it takes {N} operands, not {}", self.operands.len())))
    }

    /// The arithmetic operation of this name.
    pub fn arithmetic(
        &self,
        qualifiers: Qualifiers,
        targets: &[Slot],
        sources: &[Slot],
    ) -> Result<OpKind, Refusal> {
        let opcode = arithmetic::Opcode::of(self.name)
            .ok_or_else(|| Refusal::new("the virtual GPU does not know this instruction"))?;
        let (targets, sources) = (targets.into(), sources.into());
        Ok(OpKind::Alu(Box::new(Arithmetic { opcode, qualifiers, targets, sources })))
    }

    /// Refuses modifiers that were not taken.
    pub fn done(self) -> Result<(), Refusal> {
        self.modifiers.finish()
    }
}

/// The modifiers that are left.
pub(super) struct Modifiers<'a> {
    words: Vec<Option<&'a str>>,
}

impl<'a> Modifiers<'a> {
    pub fn new(opcode: &'a Opcode) -> Self {
        Modifiers { words: opcode.modifiers.iter().map(|m| Some(m.as_str())).collect() }
    }

    /// Takes a word if it is there.
    pub fn take(&mut self, word: &str) -> bool {
        match self.words.iter_mut().find(|w| **w == Some(word)) {
            Some(found) => {
                *found = None;
                true
            }
            None => false,
        }
    }

    /// Whether one of the words that are left is such.
    pub fn has(&self, such: impl Fn(&str) -> bool) -> bool {
        self.words.iter().flatten().any(|word| such(word))
    }

    /// Takes all that is left, in order.
    pub fn take_all(&mut self) -> Vec<&'a str> {
        self.words.iter_mut().filter_map(Option::take).collect()
    }

    /// Takes the first of some words that is there.
    pub fn take_any<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        words.iter().find(|(word, _)| self.take(word)).map(|&(_, value)| value)
    }

    /// Takes the first word for which `f` has an answer.
    pub fn take_map<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        for word in &mut self.words {
            if let Some(value) = word.and_then(&f) {
                *word = None;
                return Some(value);
            }
        }
        None
    }

    /// Takes the first type.
    pub fn ty(&mut self) -> Result<ScalarType, Refusal> {
        self.maybe_ty().ok_or_else(|| Refusal::new("it names no type"))
    }

    /// Takes the first type, if there is one.
    pub fn maybe_ty(&mut self) -> Option<ScalarType> {
        self.take_map(ScalarType::from_word)
    }

    /// Takes a rounding.
    pub fn round(&mut self) -> Option<Round> {
        self.take_any(&[
            ("rn", Round::Nearest),
            ("rz", Round::Zero),
            ("rm", Round::Down),
            ("rp", Round::Up),
            ("rna", Round::Away),
        ])
    }

    /// Takes a scope.
    pub fn scope(&mut self) -> Option<Scope> {
        self.take_any(&[
            ("cta", Scope::Block),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Device),
            ("sys", Scope::System),
        ])
    }

    /// Takes a memory order.
    pub fn order(&mut self) -> Option<Order> {
        // `.mmio.relaxed` is one.
        if self.take("mmio") {
            self.take("relaxed");
            return Some(Order::Mmio);
        }
        self.take_any(&[
            ("weak", Order::Weak),
            ("volatile", Order::Volatile),
            ("relaxed", Order::Relaxed),
            ("acquire", Order::Acquire),
            ("release", Order::Release),
            ("acq_rel", Order::AcquireRelease),
            ("sc", Order::SequentiallyConsistent),
        ])
    }

    /// Takes what only hints at caches. True if one of the hints comes with an operand of its own.
    pub fn cache_hints(&mut self) -> bool {
        let mut operand = false;
        for word in &mut self.words {
            let Some(text) = *word else { continue };
            let hint = text.starts_with("L1::") || text.starts_with("L2::") || text.starts_with("level::");
            if hint || matches!(text, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt") {
                operand |= text == "L2::cache_hint";
                *word = None;
            }
        }
        operand
    }

    /// Refuses what was not taken.
    pub fn finish(self) -> Result<(), Refusal> {
        match self.words.into_iter().flatten().next() {
            Some(word) => Err(Refusal(format!("the modifier `.{word}` is not supported here"))),
            None => Ok(()),
        }
    }
}
