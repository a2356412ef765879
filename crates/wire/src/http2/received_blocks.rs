//! Received field blocks, with a cache of the last two.
//!
//! Most responses of a service have the same head and the same trailers. Once the dynamic table is
//! filled, their blocks are identical bytes. So the last two blocks are kept, and a repeated block
//! is neither decoded nor checked again.

use super::error::Http2Violation;
use super::hpack::{DecodedFields, Decoder, HpackError};
use super::response::{ResponseHead, check_head, check_trailers};

/// Blocks with more bytes than this are not kept, so that an idle connection uses little memory.
const MAX_KEPT_BYTES: usize = 1024;

/// The last two blocks of a connection.
#[derive(Debug)]
pub(super) struct ReceivedBlocks {
    blocks: [ReceivedBlock; 2],
    /// Index of the older block.
    older: usize,
}

/// A decoded block.
#[derive(Debug)]
pub(super) struct ReceivedBlock {
    bytes: Vec<u8>,
    /// The value of [`Decoder::changes`] before and after the block; `None` if the block must not
    /// be reused.
    changes: Option<u64>,
    fields: DecodedFields,
    /// The block parsed as a head; `None` if it was not parsed as one. `is_trailers` is set once
    /// the block is checked to be valid trailers.
    head: Option<ResponseHead>,
    is_trailers: bool,
}

impl ReceivedBlocks {
    /// Accepts field lists of up to `max_list_size` bytes.
    pub(super) fn new(max_list_size: u32) -> Self {
        let block = || ReceivedBlock {
            bytes: Vec::new(),
            changes: None,
            fields: DecodedFields::new(max_list_size),
            head: None,
            is_trailers: false,
        };
        Self {
            blocks: [block(), block()],
            older: 0,
        }
    }

    /// Decodes a complete block.
    #[inline]
    pub(super) fn decode(
        &mut self,
        decoder: &mut Decoder,
        bytes: &[u8],
    ) -> Result<&mut ReceivedBlock, HpackError> {
        let changes = decoder.changes();
        let is_same =
            |block: &ReceivedBlock| block.changes == Some(changes) && block.bytes == bytes;
        let at = match self.blocks.iter().position(is_same) {
            Some(at) => at,
            None => self.decode_anew(decoder, bytes)?,
        };
        self.older = 1 - at;
        Ok(&mut self.blocks[at])
    }

    /// Decodes a block in place of the older one. Returns its index.
    fn decode_anew(&mut self, decoder: &mut Decoder, bytes: &[u8]) -> Result<usize, HpackError> {
        self.blocks[self.older].decode(decoder, bytes)?;
        Ok(self.older)
    }
}

impl ReceivedBlock {
    fn decode(&mut self, decoder: &mut Decoder, bytes: &[u8]) -> Result<(), HpackError> {
        let before = decoder.changes();
        self.changes = None;
        self.head = None;
        self.is_trailers = false;
        decoder.decode(bytes, &mut self.fields)?;
        // A block that changes the table must be decoded every time.
        if bytes.len() <= MAX_KEPT_BYTES && decoder.changes() == before {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.changes = Some(before);
        }
        Ok(())
    }

    pub(super) fn fields(&self) -> &DecodedFields {
        &self.fields
    }

    /// Parses the block as a head (RFC 9113 §8.3.2).
    #[inline]
    pub(super) fn head(&mut self) -> Result<ResponseHead, Http2Violation> {
        match self.head {
            Some(head) => Ok(head),
            None => self.check_head(),
        }
    }

    fn check_head(&mut self) -> Result<ResponseHead, Http2Violation> {
        let head = check_head(&self.fields.fields())?;
        Ok(*self.head.insert(head))
    }

    /// Checks the block as a trailer section.
    #[inline]
    pub(super) fn check_trailers(&mut self) -> Result<(), Http2Violation> {
        if self.is_trailers {
            return Ok(());
        }
        check_trailers(&self.fields.fields())?;
        self.is_trailers = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Blocks of a few kinds, so that some repeat. Some change the table.
    fn block() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop_oneof![
            // Indexed: `:status: 200`, and the newest and second newest entries of the table.
            Just(vec![0x88]),
            Just(vec![0xbe]),
            Just(vec![0xbf]),
            // Literals without and with indexing.
            Just(vec![0x00, 1, b'a', 1, b'b']),
            Just(vec![0x40, 1, b'c', 1, b'd']),
            Just(vec![0x40, 1, b'e', 0]),
            // A size update to 64 bytes, which leaves room for one entry.
            Just(vec![0x3f, 0x21]),
        ];
        prop::collection::vec(pieces, 0..3).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn what_is_kept_is_what_decoding_finds(
            steps in prop::collection::vec((block(), 0u8..10), 1..60),
        ) {
            let (mut keeping, mut plain) = (Decoder::new(), Decoder::new());
            let mut blocks = ReceivedBlocks::new(200);
            let mut fields = DecodedFields::new(200);
            for (bytes, dice) in steps {
                if dice == 0 {
                    keeping.set_allowed_size(80);
                    plain.set_allowed_size(80);
                }
                let expected = plain.decode(&bytes, &mut fields);
                let got = blocks.decode(&mut keeping, &bytes);
                prop_assert_eq!(got.as_ref().err(), expected.as_ref().err());
                let (Ok(got), Ok(())) = (got, expected) else {
                    // The connection has ended.
                    return Ok(());
                };
                let list = |fields: &DecodedFields| format!("{:?}", fields.fields());
                prop_assert_eq!(list(got.fields()), list(&fields));
                prop_assert_eq!(got.fields().is_over_limit(), fields.is_over_limit());
                prop_assert_eq!(got.head(), check_head(&fields.fields()));
                prop_assert_eq!(got.check_trailers(), check_trailers(&fields.fields()));
            }
        }
    }

    #[test]
    fn a_block_that_comes_again_is_not_decoded_again() {
        let (mut decoder, mut blocks) = (Decoder::new(), ReceivedBlocks::new(1000));
        let head = [0x88, 0x00, 1, b'a', 1, b'b'];
        let trailers = [0x00, 1, b't', 1, b'0'];
        let mut decode = |bytes: &[u8]| {
            let block = blocks.decode(&mut decoder, bytes).unwrap();
            let was_kept = block.head.is_some() || block.is_trailers;
            let _ = (block.head(), block.check_trailers());
            was_kept
        };
        assert_eq!([&head[..], &trailers].map(&mut decode), [false, false]);
        assert_eq!([&head[..], &trailers].map(&mut decode), [true, true]);
        let inserting = [0x88, 0x40, 1, b'a', 1, b'b'];
        assert_eq!(
            [&inserting[..], &inserting].map(&mut decode),
            [false, false]
        );
    }
}
