//! Which workload is called, as studies name it too.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a server serves and a client calls. Part of the subject contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadSpec {
    /// `several.SeveralService/GetSeveralData`: the response is the request.
    Echo {
        /// Strings in the message's list.
        n: u32,
    },
    /// `hello.Hello/SayHello`: a name, and a greeting of it.
    // Its braces let serde refuse unknown keys.
    Hello {},
    /// `ExampleService/ExampleResponse1List`: a short request, a response of `n` items.
    List {
        /// Items in the response.
        n: u32,
    },
    /// Rows of the bird strikes data file.
    Records {
        /// Rows in the response: the first `n` of the file.
        n: u32,
    },
    /// `GetMemberProfileService/GetMemberProfileCall`: an id, and a member's profile.
    Profile {},
    /// `GetFollowerService/GetFollowerCall`: an id, and `n` ids.
    Followers {
        /// Ids in the response.
        n: u32,
    },
    /// A user's own method with a request sample and the response to give.
    Own(Box<OwnWorkload>),
}

/// Which of a workload's two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    /// What a client sends.
    Request,
    /// What a server sends back.
    Response,
}

/// A user's own method and its samples, complete in itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnWorkload {
    /// A compiled `google.protobuf.FileDescriptorSet`, with its imports, as base64.
    pub descriptor_set: String,
    /// `package.Service/Method`.
    pub method: String,
    /// The request, in the proto3 JSON mapping.
    pub request: Value,
    /// The response, in the proto3 JSON mapping.
    pub response: Value,
}
