//! The workloads with synthetic data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use buffa::MessageField;

use super::{
    BadRequest, MAX_ITEMS, Requests, Workload, WorkloadError, check_items, generated,
    generated_request,
};
use crate::generated::workloads::hello::{HelloReply, HelloRequest};
use crate::generated::workloads::several::SeveralData;
use crate::generated::workloads::{
    ExampleCommonMessage, ExampleEnum, ExampleMessage, ExampleRequest, ExampleResponse1,
    ExampleResponse1Array, GetFollowerRequest, GetFollowerResponse, GetMemberProfileInfo,
    GetMemberProfileRequest, GetMemberProfileResponse,
};
use crate::message::Message;
use crate::random::Random;
use crate::schema::MethodKind;

/// The random seed of the strings in `echo`'s list.
const ECHO_SEED: u64 = 2018;

/// The length of each string in `echo`'s list.
const ECHO_STRING_LEN: usize = 20;

/// `echo`: the response equals the request.
pub(super) fn echo(n: u32) -> Result<Workload, WorkloadError> {
    check_items("echo", n, MAX_ITEMS)?;
    let mut random = Random::new(ECHO_SEED);
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
    Ok(Workload::built_in::<SeveralData, SeveralData>(
        "/several.SeveralService/GetSeveralData",
        "/several/data",
        Requests::Same(generated(sample)),
        |request| Ok(request.clone()),
    ))
}

/// `hello`: the request is a name that differs on every call, and the response greets that name.
pub(super) fn hello() -> Workload {
    Workload::built_in::<HelloRequest, HelloReply>(
        "/hello.Hello/SayHello",
        "/hello",
        Requests::Each(|call| {
            generated(HelloRequest {
                name: format!("name_{call}"),
                ..HelloRequest::default()
            })
        }),
        |request| {
            let request: &HelloRequest = generated_request(request)?;
            Ok(generated(HelloReply {
                message: format!("Hello, {}.", request.name),
                ..HelloReply::default()
            }))
        },
    )
}

/// `list`: a short request, and a response with the requested number of items.
pub(super) fn list(n: u32) -> Result<Workload, WorkloadError> {
    check_items("list", n, MAX_ITEMS)?;
    let n = n as i32;
    let request = generated(ExampleRequest {
        id: n,
        common: common(n),
        ..ExampleRequest::default()
    });
    let response = item_list(n);
    Ok(Workload::built_in::<ExampleRequest, ExampleResponse1Array>(
        "/ExampleService/ExampleResponse1List",
        "/example/list",
        Requests::Same(request),
        move |request| match generated_request::<ExampleRequest>(request)?.id {
            id if id == n => Ok(response.clone()),
            id if (0..=MAX_ITEMS as i32).contains(&id) => Ok(item_list(id)),
            id => Err(BadRequest(format!(
                "id is {id}, but must be from 0 to {MAX_ITEMS}"
            ))),
        },
    ))
}

/// `items`: a short request, and the item with its id or, in a server's stream, that item and those after it.
pub(super) fn items() -> Workload {
    // Built here, before the first call.
    let kept: &'static [Message] = &KEPT;
    Workload::with_methods::<ExampleRequest, ExampleResponse1>(
        &[
            (MethodKind::Unary, "/ItemService/GetItem"),
            (MethodKind::ServerStreaming, "/ItemService/ListItems"),
            (MethodKind::ClientStreaming, "/ItemService/PutItems"),
            (MethodKind::Bidirectional, "/ItemService/ExchangeItems"),
        ],
        "/items",
        Requests::Each(|call| {
            let id = (call % ITEM_IDS) as i32 + 1;
            generated(ExampleRequest {
                id,
                common: common(id),
                ..ExampleRequest::default()
            })
        }),
        move |request, number| {
            let first = generated_request::<ExampleRequest>(request)?.id;
            if !(1..=MAX_ITEMS as i32).contains(&first) {
                return Err(BadRequest(format!(
                    "id is {first}, but must be from 1 to {MAX_ITEMS}"
                )));
            }
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            let id = first.saturating_add(number);
            let one = kept.get(id as usize - 1).cloned();
            Ok(one.unwrap_or_else(|| generated(item(id))))
        },
    )
}

/// Requests cycle through this many ids, from 1.
const ITEM_IDS: u64 = 1_000;

/// The items from 1 that every `items` workload of this process keeps: those of streams of 1,000 messages or fewer.
static KEPT: LazyLock<Vec<Message>> =
    LazyLock::new(|| (1..=KEPT_ITEMS).map(|id| generated(item(id))).collect());

const KEPT_ITEMS: i32 = 2_000;

fn item_list(n: i32) -> Message {
    let response = (1..=n).map(item).collect();
    generated(ExampleResponse1Array {
        response,
        ..ExampleResponse1Array::default()
    })
}

/// Returns the `i`-th item, from 1. The lengths of its strings reproduce the published sizes in JSON and
/// protobuf.
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

/// Requests cycle through the ids of this many members, from 1.
const MEMBERS: u64 = 100;

fn member(call: u64) -> i64 {
    (call % MEMBERS) as i64 + 1
}

/// `profile`: the request is a member's id, and the response is the member's profile.
pub(super) fn profile() -> Workload {
    Workload::built_in::<GetMemberProfileRequest, GetMemberProfileResponse>(
        "/GetMemberProfileService/GetMemberProfileCall",
        "/members/profile",
        Requests::Each(|call| {
            generated(GetMemberProfileRequest {
                userId: member(call),
                ..GetMemberProfileRequest::default()
            })
        }),
        |request| {
            let id = generated_request::<GetMemberProfileRequest>(request)?.userId;
            let info = GetMemberProfileInfo {
                id,
                email: format!("m{id}@uni.edu"),
                profileImage: format!("{id}.png"),
                nickname: format!("m{id}"),
                ..GetMemberProfileInfo::default()
            };
            Ok(generated(GetMemberProfileResponse {
                info: MessageField::some(info),
                ..GetMemberProfileResponse::default()
            }))
        },
    )
}

/// The offset from a member's id to the id of the first follower. These ids need two bytes in protobuf and five
/// digits in JSON, which reproduces the published sizes.
const FIRST_FOLLOWER: i64 = 10_000;

/// `followers`: the request is a member's id, and the response contains the ids of the member's followers.
pub(super) fn followers(n: u32) -> Result<Workload, WorkloadError> {
    check_items("followers", n, MAX_ITEMS)?;
    let workload = Workload::built_in::<GetFollowerRequest, GetFollowerResponse>(
        "/GetFollowerService/GetFollowerCall",
        "/members/followers",
        Requests::Each(|call| {
            generated(GetFollowerRequest {
                userId: member(call),
                ..GetFollowerRequest::default()
            })
        }),
        move |request| {
            let member = generated_request::<GetFollowerRequest>(request)?.userId;
            let first = member.saturating_add(FIRST_FOLLOWER);
            let ids = (0..i64::from(n)).map(|k| first.saturating_add(k));
            Ok(generated(GetFollowerResponse {
                userId: ids.collect(),
                ..GetFollowerResponse::default()
            }))
        },
    );
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_items_keeps_the_first_ones_and_builds_the_others() {
        let workload = items();
        let request = workload.request(ITEM_IDS - 1);
        let response = |number| workload.respond_nth(&request, number).expect("an item");
        let kept = u64::from(KEPT_ITEMS.unsigned_abs());
        for (id, is_kept) in [(ITEM_IDS, true), (kept, true), (kept + 1, false)] {
            let [one, again] = [(); 2].map(|()| response(id - ITEM_IDS));
            let [one, again] = [&one, &again].map(|message| {
                let item: &ExampleResponse1 = message.downcast().expect("an item");
                item
            });
            assert_eq!(u64::try_from(one.id), Ok(id));
            assert_eq!(std::ptr::eq(one, again), is_kept, "{id}");
        }
    }
}
