//! Field blocks of requests, encoded once and reused while the dynamic table stays the same.

use super::hpack::Encoder;
use crate::request::{Decimal, Head};

/// Number of heads whose block is kept per connection. Blocks of other heads are encoded again for
/// each call, which only costs time.
const KEPT: usize = 16;

/// Encodes heads for one connection.
#[derive(Debug)]
pub(super) struct HeadBlocks {
    encoder: Encoder,
    kept: Vec<KeptBlock>,
    /// The slot to replace next, once all are in use.
    next_place: usize,
    scratch: Vec<u8>,
}

/// A head's block on this connection.
#[derive(Debug, Default)]
struct KeptBlock {
    head: u64,
    /// The content-length of the head's first call, the only one that is added to the table. If
    /// lengths vary, adding each would evict everything else.
    length: Option<u64>,
    /// The encoder generation in which `block` is valid; `None` if there is no block yet.
    generation: Option<u64>,
    block: Vec<u8>,
    /// Length of `block` without `content-length`.
    without_length: usize,
    /// Whether `block` includes `content-length`.
    is_whole: bool,
}

impl HeadBlocks {
    pub(super) fn new(table_size: u32) -> HeadBlocks {
        HeadBlocks {
            encoder: Encoder::new(table_size),
            kept: Vec::new(),
            next_place: 0,
            scratch: Vec::new(),
        }
    }

    /// The server's SETTINGS_HEADER_TABLE_SIZE.
    pub(super) fn set_allowed_size(&mut self, size: u32) {
        self.encoder.set_allowed_size(size);
    }

    /// The block for a call. It must be sent, and sent before any later block.
    #[inline]
    pub(super) fn block(&mut self, head: &Head, length: Option<u64>) -> &[u8] {
        let at = match self.kept.iter().position(|kept| kept.head == head.id) {
            Some(at) => at,
            None => self.add(head, length),
        };
        let kept = &self.kept[at];
        let valid = kept.generation == Some(self.encoder.generation());
        if valid && kept.length == length && kept.is_whole {
            &self.kept[at].block
        } else {
            self.encode(head, length, at)
        }
    }

    /// Encodes a call's block. Reuses the part of the kept block that is still valid.
    fn encode(&mut self, head: &Head, length: Option<u64>, at: usize) -> &[u8] {
        let kept = &mut self.kept[at];
        let same_length = kept.length == length;
        let valid = kept.generation == Some(self.encoder.generation());
        self.scratch.clear();
        if valid {
            self.scratch
                .extend_from_slice(&kept.block[..kept.without_length]);
        } else {
            let before = self.encoder.generation();
            self.encoder.encode(head.http2.iter(), &mut self.scratch);
            // Nothing was added to the table, so the block stays valid until something is.
            if before == self.encoder.generation() {
                kept.generation = Some(before);
                kept.block.clone_from(&self.scratch);
                kept.without_length = kept.block.len();
                kept.is_whole = false;
            }
        }
        if same_length {
            let digits = length.map(Decimal::new);
            let field = digits
                .iter()
                .map(|digits| (&b"content-length"[..], digits.as_bytes()));
            self.encoder.encode(field, &mut self.scratch);
            if kept.generation == Some(self.encoder.generation()) {
                kept.block.clone_from(&self.scratch);
                kept.is_whole = true;
            }
        } else if let Some(length) = length {
            Encoder::encode_content_length(Decimal::new(length).as_bytes(), &mut self.scratch);
        }
        &self.scratch
    }

    fn add(&mut self, head: &Head, length: Option<u64>) -> usize {
        let new = KeptBlock {
            head: head.id,
            length,
            ..KeptBlock::default()
        };
        if self.kept.len() < KEPT {
            self.kept.push(new);
            return self.kept.len() - 1;
        }
        let at = self.next_place;
        self.next_place = (at + 1) % KEPT;
        self.kept[at] = new;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::{DecodedFields, Decoder};
    use super::*;

    fn head(path: &str) -> Head {
        Head::builder("POST", path, "localhost")
            .field("x-a", "some value")
            .build()
            .unwrap()
    }

    fn decode(decoder: &mut Decoder, block: &[u8]) -> Vec<String> {
        let mut fields = DecodedFields::new(10_000);
        decoder.decode(block, &mut fields).unwrap();
        let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
        fields
            .fields()
            .iter()
            .map(|(n, v)| format!("{}={}", text(n), text(v)))
            .collect()
    }

    fn expected(path: &str, length: Option<u64>) -> Vec<String> {
        let mut all = vec![
            ":method=POST".to_owned(),
            ":scheme=http".to_owned(),
            ":authority=localhost".to_owned(),
            format!(":path={path}"),
            "x-a=some value".to_owned(),
        ];
        all.extend(length.map(|n| format!("content-length={n}")));
        all
    }

    #[test]
    fn the_same_call_becomes_one_byte_a_field() {
        let (mut blocks, head) = (HeadBlocks::new(4096), head("/p"));
        assert!(blocks.block(&head, Some(5)).len() > 20);
        for _ in 0..3 {
            assert_eq!(blocks.block(&head, Some(5)).len(), 6);
        }
    }

    #[test]
    fn any_order_of_heads_lengths_and_table_sizes_decodes() {
        let paths: Vec<String> = (0..20).map(|i| format!("/path/{i}")).collect();
        let heads: Vec<Head> = paths.iter().map(|p| head(p)).collect();
        for table_size in [4096, 300, 100, 0] {
            let (mut blocks, mut decoder) = (HeadBlocks::new(4096), Decoder::new());
            for call in 0..400usize {
                if call == 100 {
                    blocks.set_allowed_size(table_size);
                    decoder.set_allowed_size(table_size);
                }
                let which = if call % 7 < 5 { 3 } else { call % heads.len() };
                let length = (call % 5 > 0).then_some(call as u64 / 3 % 4);
                let block = blocks.block(&heads[which], length).to_vec();
                assert_eq!(
                    decode(&mut decoder, &block),
                    expected(&paths[which], length)
                );
            }
        }
    }

    #[test]
    fn changing_lengths_do_not_churn_the_table() {
        let (mut blocks, head) = (HeadBlocks::new(4096), head("/p"));
        for length in 0..10 {
            blocks.block(&head, Some(length));
        }
        let generation = blocks.encoder.generation();
        for length in 0..1000 {
            // Five indices, then content-length as a literal: 2 bytes of index and at most 4 of
            // value.
            assert!(blocks.block(&head, Some(length)).len() <= 5 + 6);
        }
        assert_eq!(blocks.encoder.generation(), generation);
    }
}
