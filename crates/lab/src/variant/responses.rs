//! The responses that a server must send.

use rpcgauge_contract::Stream;
use rpcgauge_message::{Message, Workload};
use rpcgauge_trial::StreamForm;

/// The responses to calls that cycle through a number of requests.
#[derive(Debug, Clone)]
pub(crate) struct Responses {
    workload: Workload,
    requests: u64,
    stream: Option<Stream>,
}

impl Responses {
    pub(crate) fn new(workload: Workload, requests: u64, stream: Option<Stream>) -> Self {
        Self {
            workload,
            requests,
            stream,
        }
    }

    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }

    pub(crate) fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// The number of responses per call.
    pub(crate) fn per_call(&self) -> u64 {
        self.stream.map_or(1, |stream| stream.responses().into())
    }

    /// The number of requests per call.
    pub(crate) fn requests_per_call(&self) -> u64 {
        self.stream.map_or(1, |stream| stream.requests().into())
    }

    /// Response number `message`, from 0, of the call whose first request has the number `first`.
    pub(crate) fn message(&self, first: u64, message: u64) -> Message {
        let (request, number) = match self.stream.map(|stream| stream.form()) {
            None => (first, 0),
            Some(StreamForm::Client) => (first + self.requests_per_call() - 1, 0),
            Some(StreamForm::Bidirectional) => (first + message, 0),
            Some(StreamForm::Server | StreamForm::Ndjson | StreamForm::Sse) => (first, message),
        };
        let request = self.workload.request(request % self.requests);
        self.workload
            .respond_nth(&request, number)
            .expect("a workload answers its own requests")
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_message::{Encoding, WorkloadSpec};

    use super::*;

    /// The ids of the first responses of the call whose first request has the number `first`, of 5 different ones.
    fn ids(form: StreamForm, first: u64) -> Vec<String> {
        let workload = Workload::new(&WorkloadSpec::Items {}).unwrap();
        let stream = Stream::new(form, 3, false).unwrap();
        let responses = Responses::new(workload, 5, Some(stream));
        let text = |number| {
            let json = responses.message(first, number).to_bytes(Encoding::Json);
            let json: serde_json::Value = serde_json::from_slice(&json.unwrap()).unwrap();
            json["id"].to_string()
        };
        (0..responses.per_call()).map(text).collect()
    }

    #[test]
    fn each_form_has_its_responses() {
        // Requests 3, 4 and, around again, 0 have the ids 4, 5 and 1.
        assert_eq!(ids(StreamForm::Client, 3), ["1"]);
        assert_eq!(ids(StreamForm::Bidirectional, 3), ["4", "5", "1"]);
        assert_eq!(ids(StreamForm::Server, 3), ["4", "5", "6"]);
        assert_eq!(ids(StreamForm::Sse, 8), ["4", "5", "6"]);
    }
}
