//! The handler marks in a response (contract/README.md, "Marks").

use http::{HeaderMap, HeaderName, HeaderValue};
use rpcgauge_contract::{HANDLER_END, HANDLER_START};

use crate::clock::monotonic_ns;

/// The handler's start and end, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    start_ns: u64,
    end_ns: u64,
}

impl Marks {
    /// Runs the handler between two clock readings.
    pub(crate) fn around<T>(handler: impl FnOnce() -> T) -> (T, Marks) {
        let start_ns = monotonic_ns();
        let result = handler();
        let end_ns = monotonic_ns();
        (result, Marks { start_ns, end_ns })
    }

    /// Adds the marks to a response's initial headers.
    pub(crate) fn insert(self, headers: &mut HeaderMap) {
        for (name, ns) in [(HANDLER_START, self.start_ns), (HANDLER_END, self.end_ns)] {
            let mut value = HeaderValue::from(ns);
            // Never indexed in HTTP/2: the values differ in each response, and would evict the response's
            // other fields from HPACK's dynamic table.
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_in_order_and_never_indexed() {
        let (result, marks) = Marks::around(|| 7);
        let mut headers = HeaderMap::new();
        marks.insert(&mut headers);
        assert_eq!(result, 7);
        let read = |name: &str| -> u64 { headers[name].to_str().unwrap().parse().unwrap() };
        assert!(0 < read(HANDLER_START) && read(HANDLER_START) <= read(HANDLER_END));
        assert!(headers.values().all(HeaderValue::is_sensitive));
    }
}
