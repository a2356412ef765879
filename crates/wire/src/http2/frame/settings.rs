//! SETTINGS (RFC 9113 §6.5).

use super::{ACK, kind, write_header};
use crate::http2::error::Http2Violation;
use crate::http2::hpack::DEFAULT_TABLE_SIZE;
use crate::limits::Limits;

/// Initial values, in effect until SETTINGS change them (RFC 9113 §6.5.2).
pub(in crate::http2) const DEFAULT_WINDOW: u32 = 65_535;
pub(in crate::http2) const DEFAULT_FRAME_SIZE: u32 = 16_384;

/// Upper bounds of values in SETTINGS.
pub(in crate::http2) const MAX_WINDOW: u32 = (1 << 31) - 1;
pub(in crate::http2) const FRAME_SIZE_LIMIT: u32 = (1 << 24) - 1;

const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// One setting with a valid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http2) enum Setting {
    HeaderTableSize(u32),
    MaxConcurrentStreams(u32),
    InitialWindowSize(u32),
    MaxFrameSize(u32),
    MaxHeaderListSize(u32),
    /// Unknown, or irrelevant to a client.
    Ignored,
}

/// Parses the settings of a payload, in order.
pub(in crate::http2) fn read(
    payload: &[u8],
) -> Result<impl Iterator<Item = Result<Setting, Http2Violation>> + '_, Http2Violation> {
    let (settings, rest) = payload.as_chunks::<6>();
    if !rest.is_empty() {
        return Err(Http2Violation::FrameLength("SETTINGS"));
    }
    Ok(settings.iter().map(|[i0, i1, value @ ..]| {
        check(u16::from_be_bytes([*i0, *i1]), u32::from_be_bytes(*value))
    }))
}

fn check(id: u16, value: u32) -> Result<Setting, Http2Violation> {
    Ok(match id {
        HEADER_TABLE_SIZE => Setting::HeaderTableSize(value),
        // Only a client may enable push (RFC 9113 §6.5.2).
        ENABLE_PUSH if value != 0 => return Err(Http2Violation::SettingValue),
        MAX_CONCURRENT_STREAMS => Setting::MaxConcurrentStreams(value),
        INITIAL_WINDOW_SIZE if value > MAX_WINDOW => return Err(Http2Violation::WindowOverflow),
        INITIAL_WINDOW_SIZE => Setting::InitialWindowSize(value),
        MAX_FRAME_SIZE if !(DEFAULT_FRAME_SIZE..=FRAME_SIZE_LIMIT).contains(&value) => {
            return Err(Http2Violation::SettingValue);
        }
        MAX_FRAME_SIZE => Setting::MaxFrameSize(value),
        MAX_HEADER_LIST_SIZE => Setting::MaxHeaderListSize(value),
        _ => Setting::Ignored,
    })
}

/// Writes the client's SETTINGS, omitting values that are the protocol's defaults.
pub(in crate::http2) fn write(out: &mut Vec<u8>, limits: &Limits) {
    let all = [
        (ENABLE_PUSH, 0, 1),
        (
            HEADER_TABLE_SIZE,
            limits.header_table_size,
            DEFAULT_TABLE_SIZE,
        ),
        (INITIAL_WINDOW_SIZE, limits.stream_window, DEFAULT_WINDOW),
        (MAX_FRAME_SIZE, limits.max_frame_size, DEFAULT_FRAME_SIZE),
        (MAX_HEADER_LIST_SIZE, limits.max_header_list_bytes, u32::MAX),
    ];
    let sent = all.iter().filter(|(_, value, default)| value != default);
    write_header(out, 6 * sent.clone().count(), kind::SETTINGS, 0, 0);
    for (id, value, _) in sent {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub(in crate::http2) fn write_ack(out: &mut Vec<u8>) {
    write_header(out, 0, kind::SETTINGS, ACK, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: u16, value: u32) -> Result<Setting, Http2Violation> {
        let payload = [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        read(&payload).unwrap().next().unwrap()
    }

    #[test]
    fn values_are_checked() {
        assert_eq!(one(1, 0), Ok(Setting::HeaderTableSize(0)));
        assert_eq!(one(2, 0), Ok(Setting::Ignored));
        assert_eq!(one(2, 1), Err(Http2Violation::SettingValue));
        assert_eq!(
            one(4, MAX_WINDOW),
            Ok(Setting::InitialWindowSize(MAX_WINDOW))
        );
        assert_eq!(one(4, MAX_WINDOW + 1), Err(Http2Violation::WindowOverflow));
        assert_eq!(one(5, 16_383), Err(Http2Violation::SettingValue));
        assert_eq!(
            one(5, FRAME_SIZE_LIMIT + 1),
            Err(Http2Violation::SettingValue)
        );
        assert_eq!(one(0x99, 7), Ok(Setting::Ignored));
        let length = read(&[0; 7]).map(|_| ()).unwrap_err();
        assert_eq!(length, Http2Violation::FrameLength("SETTINGS"));
    }
}
