//! One HTTP/1 connection as a state machine (being filled in).

use std::io::IoSlice;

use bytes::Bytes;

use crate::client::Token;
use crate::error::StartError;
use crate::event::Event;
use crate::limits::Limits;
use crate::output::Output;
use crate::request::Head;
use crate::traffic::Traffic;

#[derive(Debug)]
pub(crate) struct Connection {
    output: Output,
    traffic: Traffic,
}

impl Connection {
    pub(crate) fn new(_limits: Limits) -> Self {
        Connection {
            output: Output::default(),
            traffic: Traffic::default(),
        }
    }
    pub(crate) fn start(
        &mut self,
        _head: &Head,
        _body: &Bytes,
        _token: Token,
    ) -> Result<(), StartError> {
        Err(StartError::Closing)
    }
    pub(crate) fn capacity(&self) -> usize {
        0
    }
    pub(crate) fn in_flight(&self) -> usize {
        0
    }
    pub(crate) fn output(&self) -> &[u8] {
        self.output.first()
    }
    pub(crate) fn output_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.output.slices(slices)
    }
    pub(crate) fn consume_output(&mut self, n: usize) {
        self.output.consume(n);
    }
    pub(crate) fn is_all_sent(&self) -> bool {
        self.output.len() == 0
    }
    pub(crate) fn input<F: FnMut(Event<'_>)>(&mut self, _bytes: &[u8], _sink: &mut F) {}
    pub(crate) fn end_of_input<F: FnMut(Event<'_>)>(&mut self, _orderly: bool, _sink: &mut F) {}
    pub(crate) fn cancel(&mut self, _token: Token) -> bool {
        false
    }
    pub(crate) fn shut_down(&mut self) {}
    pub(crate) fn is_closed(&self) -> bool {
        true
    }
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    pub(crate) fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }
    pub(crate) fn release_buffers(&mut self) {
        self.output.release();
    }
}
