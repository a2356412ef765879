//! The workloads of made-up data.

use std::collections::BTreeMap;

use buffa::MessageField;

use super::{AnswerError, Calls, MOST_ITEMS, WorkloadError, check_items, not_generated};
use crate::generated::workloads::hello::{HelloReply, HelloRequest};
use crate::generated::workloads::several::SeveralData;
use crate::generated::workloads::{
    ExampleCommonMessage, ExampleEnum, ExampleMessage, ExampleRequest, ExampleResponse1,
    ExampleResponse1Array, GetFollowerRequest, GetFollowerResponse, GetMemberProfileInfo,
    GetMemberProfileRequest, GetMemberProfileResponse,
};
use crate::message::{Message, MessageType};
use crate::random::SplitMix64;

/// The types and names that a workload's calls have.
struct Names {
    method_path: &'static str,
    rest_path: &'static str,
    request_type: MessageType,
    response_type: MessageType,
}

macro_rules! names {
    ($names:ident, varies = $varies:literal) => {
        fn method_path(&self) -> &str {
            self.$names.method_path
        }
        fn rest_path(&self) -> &str {
            self.$names.rest_path
        }
        fn request_type(&self) -> &MessageType {
            &self.$names.request_type
        }
        fn response_type(&self) -> &MessageType {
            &self.$names.response_type
        }
        fn request_varies(&self) -> bool {
            $varies
        }
    };
}

/// `echo`: the answer is the request.
pub(super) struct Echo {
    names: Names,
    sample: Message,
}

/// Seed of the strings in `echo`'s list.
const ECHO_SEED: u64 = 2018;

/// Characters of each of these strings.
const ECHO_STRING_LEN: usize = 20;

impl Echo {
    pub(super) fn new(n: u32) -> Result<Self, WorkloadError> {
        check_items("echo", n, MOST_ITEMS)?;
        let mut random = SplitMix64(ECHO_SEED);
        #[allow(clippy::approx_constant, reason = "the study's own number")]
        let sample = SeveralData {
            floatData: 1.23,
            doubleData: 3.14,
            intData: 2,
            longData: 2_222_222_222_222,
            boolData: true,
            stringData: "applibot@test".to_owned(),
            list: (0..n).map(|_| random.hex(ECHO_STRING_LEN)).collect(),
            ..SeveralData::default()
        };
        Ok(Self {
            names: Names {
                method_path: "/several.SeveralService/GetSeveralData",
                rest_path: "/several/data",
                request_type: MessageType::generated::<SeveralData>(),
                response_type: MessageType::generated::<SeveralData>(),
            },
            sample: Message::generated(sample),
        })
    }
}

impl Calls for Echo {
    names!(names, varies = false);

    fn request(&self, _call: u64) -> Message {
        self.sample.clone()
    }

    fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        Ok(request.clone())
    }
}

/// `hello`: a name that differs from call to call, and a greeting of it.
pub(super) struct Hello {
    names: Names,
}

impl Hello {
    pub(super) fn new() -> Self {
        Self {
            names: Names {
                method_path: "/hello.Hello/SayHello",
                rest_path: "/hello",
                request_type: MessageType::generated::<HelloRequest>(),
                response_type: MessageType::generated::<HelloReply>(),
            },
        }
    }
}

impl Calls for Hello {
    names!(names, varies = true);

    fn request(&self, call: u64) -> Message {
        let name = format!("name_{call}");
        Message::generated(HelloRequest {
            name,
            ..HelloRequest::default()
        })
    }

    fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        let request: &HelloRequest = request.downcast().ok_or_else(|| not_generated(request))?;
        let message = format!("Hello, {}.", request.name);
        Ok(Message::generated(HelloReply {
            message,
            ..HelloReply::default()
        }))
    }
}

/// `list`: a short request, an answer of as many items as it asks for.
pub(super) struct List {
    names: Names,
    n: i32,
    request: Message,
    answer: Message,
}

impl List {
    pub(super) fn new(n: u32) -> Result<Self, WorkloadError> {
        check_items("list", n, MOST_ITEMS)?;
        let n = n as i32;
        let request = ExampleRequest {
            id: n,
            common: common(n),
            ..ExampleRequest::default()
        };
        Ok(Self {
            names: Names {
                method_path: "/ExampleService/ExampleResponse1List",
                rest_path: "/example/list",
                request_type: MessageType::generated::<ExampleRequest>(),
                response_type: MessageType::generated::<ExampleResponse1Array>(),
            },
            n,
            request: Message::generated(request),
            answer: items(n),
        })
    }
}

impl Calls for List {
    names!(names, varies = false);

    fn request(&self, _call: u64) -> Message {
        self.request.clone()
    }

    fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        let request: &ExampleRequest = request.downcast().ok_or_else(|| not_generated(request))?;
        match request.id {
            n if n == self.n => Ok(self.answer.clone()),
            n if (0..=MOST_ITEMS as i32).contains(&n) => Ok(items(n)),
            n => Err(AnswerError(format!(
                "id is {n}, and asks for 0 to {MOST_ITEMS} items"
            ))),
        }
    }
}

fn items(n: i32) -> Message {
    let response = (1..=n).map(item).collect();
    Message::generated(ExampleResponse1Array {
        response,
        ..ExampleResponse1Array::default()
    })
}

/// The `i`-th item, counted from 1. Its texts are as long as makes the sizes in JSON and protobuf
/// those that were published.
fn item(i: i32) -> ExampleResponse1 {
    let message = ExampleMessage {
        double: f64::from(i) + 0.5,
        float: i as f32 + 0.5,
        int: i,
        long: i64::from(i),
        boolean: true,
        string: format!("string{i}"),
        r#enum: ExampleEnum::ONE.into(),
        map: BTreeMap::from([(format!("key{i}"), i)]),
        ..ExampleMessage::default()
    };
    ExampleResponse1 {
        id: i,
        common: common(i),
        message: MessageField::some(message),
        description: format!("description{i}"),
        ..ExampleResponse1::default()
    }
}

fn common(id: i32) -> MessageField<ExampleCommonMessage, buffa::Inline<ExampleCommonMessage>> {
    MessageField::some(ExampleCommonMessage {
        id,
        ..ExampleCommonMessage::default()
    })
}

/// Members that are asked about in turn, with ids from 1.
const MEMBERS: u64 = 100;

fn member(call: u64) -> i64 {
    (call % MEMBERS) as i64 + 1
}

/// `profile`: an id, and a member's profile.
pub(super) struct Profile {
    names: Names,
}

impl Profile {
    pub(super) fn new() -> Self {
        Self {
            names: Names {
                method_path: "/GetMemberProfileService/GetMemberProfileCall",
                rest_path: "/members/profile",
                request_type: MessageType::generated::<GetMemberProfileRequest>(),
                response_type: MessageType::generated::<GetMemberProfileResponse>(),
            },
        }
    }
}

impl Calls for Profile {
    names!(names, varies = true);

    fn request(&self, call: u64) -> Message {
        Message::generated(GetMemberProfileRequest {
            userId: member(call),
            ..GetMemberProfileRequest::default()
        })
    }

    fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        let request: &GetMemberProfileRequest =
            request.downcast().ok_or_else(|| not_generated(request))?;
        let id = request.userId;
        let info = GetMemberProfileInfo {
            id,
            email: format!("m{id}@uni.edu"),
            profileImage: format!("{id}.png"),
            nickname: format!("m{id}"),
            ..GetMemberProfileInfo::default()
        };
        Ok(Message::generated(GetMemberProfileResponse {
            info: MessageField::some(info),
            ..GetMemberProfileResponse::default()
        }))
    }
}

/// `followers`: an id, and the ids of those who follow.
pub(super) struct Followers {
    names: Names,
    n: u32,
}

/// The first follower's id is the member's plus this, which makes ids of two bytes in protobuf and
/// of five digits in JSON: the sizes that were published.
const FIRST_FOLLOWER: i64 = 10_000;

impl Followers {
    pub(super) fn new(n: u32) -> Result<Self, WorkloadError> {
        check_items("followers", n, MOST_ITEMS)?;
        Ok(Self {
            names: Names {
                method_path: "/GetFollowerService/GetFollowerCall",
                rest_path: "/members/followers",
                request_type: MessageType::generated::<GetFollowerRequest>(),
                response_type: MessageType::generated::<GetFollowerResponse>(),
            },
            n,
        })
    }
}

impl Calls for Followers {
    names!(names, varies = true);

    fn request(&self, call: u64) -> Message {
        Message::generated(GetFollowerRequest {
            userId: member(call),
            ..GetFollowerRequest::default()
        })
    }

    fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        let request: &GetFollowerRequest =
            request.downcast().ok_or_else(|| not_generated(request))?;
        let first = request.userId.saturating_add(FIRST_FOLLOWER);
        let user_id = (0..i64::from(self.n))
            .map(|k| first.saturating_add(k))
            .collect();
        Ok(Message::generated(GetFollowerResponse {
            userId: user_id,
            ..GetFollowerResponse::default()
        }))
    }
}
