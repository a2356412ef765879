//! HPACK: decodes arbitrary blocks and our encoder's blocks, both with our decoder and with another library.

use loona_hpack::decoder::{DecoderError as TheirError, IntegerDecodingError};
use rpcgauge_wire::http2::hpack::{DecodedFields, Decoder, Encoder, FieldList, HpackError};

use crate::meter;
use crate::script::{Args, Script};

/// The kinds of steps. Higher numbers wrap around.
pub mod step {
    /// For [`super::hpack_decode`], a field block in the payload. For [`super::hpack_encode`], the end of a
    /// block with the fields so far.
    pub const BLOCK: u8 = 0;
    /// Changes the allowed table size. Arguments: the size in two bytes.
    pub const ALLOW: u8 = 1;
    /// A field of a block, for [`super::hpack_encode`]. Arguments: the length of its name, its name, and its
    /// value.
    pub const FIELD: u8 = 2;
    /// The number of kinds.
    pub const COUNT: u8 = 3;
}

/// The maximum size of a list of decoded fields, in bytes.
const MAX_LIST: u32 = 4000;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Decodes the blocks of one connection. Checks that another library reads the same fields from blocks that we
/// accept and refuses blocks that we refuse, except where only one of the two enforces a rule. Also checks that
/// lists and tables stay within their limits.
pub fn hpack_decode(input: &[u8]) {
    let script = Script::read(input);
    meter::reset();
    let mut ours = Decoder::new();
    let mut theirs = loona_hpack::Decoder::new();
    theirs.set_max_allowed_table_size(4096);
    let mut fields = DecodedFields::new(MAX_LIST);
    for step in &script.steps {
        if step.kind % step::COUNT == step::ALLOW {
            let size = Args(&step.payload).u16();
            ours.set_allowed_size(size.into());
            theirs.set_max_allowed_table_size(size.into());
            continue;
        }
        let block = &step.payload[..];
        let result = meter::metered(|| ours.decode(block, &mut fields));
        match (result, theirs.decode(block)) {
            (Ok(()), Ok(list)) => check_same(&fields, &list),
            // The other library does not accept six-byte integers, or blocks that only change the table size.
            (Ok(()), Err(TheirError::SizeUpdateAtEnd)) => return,
            (
                Ok(()),
                Err(TheirError::IntegerDecodingError(IntegerDecodingError::TooManyOctets)),
            ) => {
                return;
            }
            (Ok(()), Err(error)) => panic!("it refuses what we accept: {error}"),
            // The other library accepts table size changes anywhere, and blocks that lack a required change.
            (Err(HpackError::TableSize | HpackError::TableSizePosition), Ok(_)) => return,
            (Err(error), Ok(_)) => panic!("it accepts what we refuse: {error}"),
            (Err(_), Err(_)) => break,
        }
    }
    check_memory(input.len());
}

/// Checks the peak memory. A block's decoded text is at most 8/5 of its size (the shortest Huffman code has
/// five bits) plus the list. A field in the list needs 16 bytes but counts as 32. The table's text is in a
/// buffer of up to twice its size. All of these grow by doubling.
fn check_memory(longest: usize) {
    const MAX_TABLE: usize = 1 << 16;
    let most = 2 * (2 * longest + 2 * MAX_LIST as usize) + 2 * (3 * MAX_TABLE + longest);
    let peak = meter::peak();
    assert!(peak <= most as u64, "{peak} bytes held, {most} expected");
}

fn check_same(fields: &DecodedFields, theirs: &Pairs) {
    let ours: Pairs = fields
        .fields()
        .iter()
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect();
    if fields.is_over_limit() {
        assert!(theirs.starts_with(&ours), "what fits is kept");
        let size: usize = theirs.iter().map(|(n, v)| n.len() + v.len() + 32).sum();
        assert!(size > MAX_LIST as usize, "the list is over its limit");
    } else {
        assert_eq!(ours, *theirs);
    }
}

/// Encodes lists of fields with our encoder while the table size changes. Checks that our decoder and another
/// library read the same fields. Setup: the encoder's preferred table size, two bytes.
pub fn hpack_encode(input: &[u8]) {
    let script = Script::read(input);
    let mut encoder = Encoder::new(Args(&script.setup).u16().into());
    let mut ours = Decoder::new();
    let mut theirs = loona_hpack::Decoder::new();
    theirs.set_max_allowed_table_size(4096);
    let mut list = FieldList::default();
    for step in &script.steps {
        let mut args = Args(&step.payload);
        match step.kind % step::COUNT {
            step::ALLOW => {
                let size = u32::from(args.u16());
                encoder.set_allowed_size(size);
                ours.set_allowed_size(size);
                theirs.set_max_allowed_table_size(size as usize);
            }
            step::BLOCK => {
                let list = std::mem::take(&mut list);
                // Skip empty lists, because every request has a field.
                if list.iter().next().is_some() {
                    check_block(&list, &mut encoder, &mut ours, &mut theirs);
                }
            }
            _ => {
                let length = usize::from(args.u8()).min(args.rest().len());
                let (name, value) = args.rest().split_at(length);
                list.push(name, value);
            }
        }
    }
}

fn check_block(
    list: &FieldList,
    encoder: &mut Encoder,
    ours: &mut Decoder,
    theirs: &mut loona_hpack::Decoder<'_>,
) {
    let mut block = Vec::new();
    encoder.encode(list.iter(), &mut block);
    let expected: Pairs = list
        .iter()
        .map(|(name, value)| (name.to_vec(), value.to_vec()))
        .collect();
    let mut fields = DecodedFields::new(u32::MAX);
    ours.decode(&block, &mut fields).expect("we read it");
    check_same(&fields, &expected);
    assert_eq!(
        theirs.decode(&block),
        Ok(expected),
        "the other library reads it"
    );
}
