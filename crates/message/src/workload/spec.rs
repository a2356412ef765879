//! The choice of a workload, as written in studies and in the subject contract.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The workload that a server serves and a client calls. Part of the subject contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadSpec {
    /// `several.SeveralService/GetSeveralData`: the response is the request.
    Echo {
        /// The number of strings in the message's list.
        n: u32,
    },
    /// `hello.Hello/SayHello`: a name, and a greeting with it.
    // The braces make serde reject unknown keys.
    Hello {},
    /// `ExampleService/ExampleResponse1List`: a short request, and a response with `n` items.
    List {
        /// The number of items in the response.
        n: u32,
    },
    /// `ItemService`: a short request, and one item of `List`, in a unary call or in streams.
    Items {},
    /// Rows of the bird strikes data file.
    Records {
        /// The number of rows in the response: the first `n` of the file.
        n: u32,
    },
    /// `GetMemberProfileService/GetMemberProfileCall`: an id, and a member's profile.
    Profile {},
    /// `GetFollowerService/GetFollowerCall`: an id, and `n` ids.
    Followers {
        /// The number of ids in the response.
        n: u32,
    },
    /// A user's own method, with a sample request and the response to send.
    Own(Box<OwnWorkload>),
}

/// Which of a workload's two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    /// The message that a client sends.
    Request,
    /// The message that a server sends back.
    Response,
}

/// A user's own method, with everything needed to serve and call it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnWorkload {
    /// A compiled `google.protobuf.FileDescriptorSet` with all imports, in base64.
    pub descriptor_set: String,
    /// `package.Service/Method`.
    pub method: String,
    /// The request, in the proto3 JSON mapping.
    pub request: Value,
    /// The response, in the proto3 JSON mapping.
    pub response: Value,
}
