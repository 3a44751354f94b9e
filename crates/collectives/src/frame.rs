//! The messages between ranks in separate processes: short, with a header of fixed size.

use std::io::{self, Read, Write};

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Purpose {
    /// Bytes from one rank to another, in the call with this number.
    Data = 1,
    /// The call that a rank has reached; also a sign of life.
    At = 2,
    /// A rank ends normally, after this many calls.
    Bye = 3,
    /// All ranks are here.
    AllHere = 4,
    /// These are not here yet.
    Missing = 5,
    /// A rank ended in any other way.
    Gone = 6,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub purpose: Purpose,
    pub from: u32,
    pub to: u32,
    /// The number of the call.
    pub number: u64,
    pub content: Vec<u8>,
}

const HEAD: usize = 1 + 4 + 4 + 8 + 8;

impl Frame {
    pub fn new(purpose: Purpose, from: usize, to: usize, number: u64, content: Vec<u8>) -> Self {
        // NCCL counts ranks in 32 bits, too.
        Self { purpose, from: from as u32, to: to as u32, number, content }
    }

    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = [0; HEAD];
        head[0] = self.purpose as u8;
        head[1..5].copy_from_slice(&self.from.to_le_bytes());
        head[5..9].copy_from_slice(&self.to.to_le_bytes());
        head[9..17].copy_from_slice(&self.number.to_le_bytes());
        head[17..25].copy_from_slice(&(self.content.len() as u64).to_le_bytes());
        to.write_all(&head)?;
        to.write_all(&self.content)?;
        to.flush()
    }

    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head)?;
        let four = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        let purpose = match head[0] {
            1 => Purpose::Data,
            2 => Purpose::At,
            3 => Purpose::Bye,
            4 => Purpose::AllHere,
            5 => Purpose::Missing,
            6 => Purpose::Gone,
            other => {
                let text = format!("a message of kind {other}, which no rank sends");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        };
        let mut content = Vec::new();
        // Grows with what arrives, not with what the header claims.
        from.take(eight(17)).read_to_end(&mut content)?;
        if content.len() as u64 != eight(17) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self { purpose, from: four(1), to: four(5), number: eight(9), content })
    }
}

/// A line without its terminator, of at most 256 bytes.
pub(crate) fn read_line(from: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < 256 {
        from.read_exact(&mut byte)?;
        if byte[0] == b'\n' {
            return Ok(String::from_utf8_lossy(&line).into_owned());
        }
        line.push(byte[0]);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a line without an end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let frame = Frame::new(Purpose::Data, 3, 1, 1 << 40, vec![1, 2, 3]);
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        assert_eq!(Frame::read(&mut &bytes[..]).unwrap(), frame);
        assert!(Frame::read(&mut &bytes[..bytes.len() - 1]).is_err());
        bytes[0] = 9;
        assert!(Frame::read(&mut &bytes[..]).is_err());
    }
}
