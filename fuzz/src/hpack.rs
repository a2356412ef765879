//! HPACK: any blocks, and what our encoder makes, read by us and by another library.

use loona_hpack::decoder::{DecoderError as TheirError, IntegerDecodingError};
use rpcgauge_wire::http2::hpack::{DecodedFields, Decoder, Encoder, FieldList, HpackError};

use crate::meter;
use crate::script::{Args, Script};

/// What a step does, by its number; higher numbers wrap around.
pub mod step {
    /// A field block: the payload to [`super::hpack_decode`], the end of the fields so far to
    /// [`super::hpack_encode`].
    pub const BLOCK: u8 = 0;
    /// Another table size is allowed. Two bytes.
    pub const ALLOW: u8 = 1;
    /// A field of a block, for [`super::hpack_encode`]. Length of its name, name, value.
    pub const FIELD: u8 = 2;
    /// How many kinds there are.
    pub const COUNT: u8 = 3;
}

/// The most that a list of decoded fields may take, in bytes.
const MAX_LIST: u32 = 4000;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Blocks of one connection. What we accept, another library reads as the same fields, and what we
/// refuse, it refuses too, but for the rules that only one of us has. Lists and tables stay within
/// their bounds.
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
            // It takes no integer of six bytes, and no block that only changes the table.
            (Ok(()), Err(TheirError::SizeUpdateAtEnd)) => return,
            (
                Ok(()),
                Err(TheirError::IntegerDecodingError(IntegerDecodingError::TooManyOctets)),
            ) => {
                return;
            }
            (Ok(()), Err(error)) => panic!("it refuses what we accept: {error}"),
            // It takes changes of the table anywhere, and blocks without one that is due.
            (Err(HpackError::TableSize | HpackError::TableSizePosition), Ok(_)) => return,
            (Err(error), Ok(_)) => panic!("it accepts what we refuse: {error}"),
            (Err(_), Err(_)) => break,
        }
    }
    check_memory(input.len());
}

/// The text of a block is at most 8/5 of it (the shortest Huffman code has five bits) and the list.
/// A field of the list takes 16 bytes and counts 32. The table's text lies in a buffer of up to
/// twice its size. All of these grow by doubling.
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

/// Lists of fields through our encoder, with tables whose size changes, are read as they were by us
/// and by another library. Setup: the table size that the encoder prefers, two bytes.
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
                // No request is without a field.
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
    assert_eq!(theirs.decode(&block), Ok(expected), "the other reads it");
}
