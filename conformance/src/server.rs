//! The server under test: the reference server with the suite's service besides its workload.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use buffa::Message;
use http::{HeaderMap, HeaderName, HeaderValue};
use rpcgauge_message::{Compression, WorkloadSpec};
use rpcgauge_reference::grpc::{Code, MethodCall, MethodResponse, Methods, Status};
use rpcgauge_reference::{Server, ServerOptions};
use rpcgauge_trial::Address;

use crate::suites::connectrpc::conformance::v1 as suite;
use crate::suites::google::{protobuf::Any, rpc};
use crate::tls::Terminator;
use crate::{codec, delimited};
use suite::__buffa::oneof::unary_response_definition::Response as Defined;
use suite::conformance_payload::RequestInfo;

/// Serves as the runner requests on standard input, and reports the address. A signal ends it.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let request = delimited::read(&mut io::stdin().lock())?
        .ok_or("standard input ends before a request for a server")?;
    let server = UnderTest::bind(&request)?;
    delimited::write(&mut io::stdout().lock(), server.place())?;
    server.serve(std::future::pending())
}

/// The reference server with the suite's service, listening. If the suite wants TLS, a terminator in front of
/// the server provides it.
pub(crate) struct UnderTest {
    server: Server,
    tls: Option<Terminator>,
    place: suite::ServerCompatResponse,
}

impl UnderTest {
    pub(crate) fn bind(request: &suite::ServerCompatRequest) -> Result<Self, Box<dyn Error>> {
        // The server's own workload is not called; responses are compressed for clients that accept gzip.
        let mut settings = ServerOptions::new(WorkloadSpec::Hello {});
        settings.response_compression = Compression::GZIP;
        if request.message_receive_limit > 0 {
            settings.limits.max_message_bytes = request.message_receive_limit as usize;
        }
        let server = Server::bind_with(&settings, &methods())?;
        let &Address::Tcp(address) = server.address() else {
            return Err("the server does not listen on TCP".into());
        };
        let (tls, address, certificate) = if request.use_tls {
            let credentials = &*request.server_creds;
            let tls = Terminator::bind(credentials, address)?;
            let address = tls.address()?;
            (Some(tls), address, credentials.cert.clone())
        } else {
            (None, address, Vec::new())
        };
        let place = suite::ServerCompatResponse {
            host: address.ip().to_string(),
            port: address.port().into(),
            pem_cert: certificate,
            ..Default::default()
        };
        Ok(Self { server, tls, place })
    }

    /// The address for clients, and the certificate if TLS is used.
    pub(crate) fn place(&self) -> &suite::ServerCompatResponse {
        &self.place
    }

    /// Serves until `shutdown` is ready.
    pub(crate) fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), Box<dyn Error>> {
        let Some(tls) = self.tls else {
            return Ok(self.server.serve(shutdown)?);
        };
        let mut broken = Ok(());
        self.server.serve(async {
            tokio::select! {
                () = shutdown => {}
                ended = tls.run() => broken = ended,
            }
        })?;
        Ok(broken?)
    }
}

/// The suite's unary methods. The reference server itself responds to `Unimplemented`.
fn methods() -> Methods {
    let mut methods = Methods::new();
    for method in ["Unary", "IdempotentUnary"] {
        let path = format!("/connectrpc.conformance.v1.ConformanceService/{method}");
        let handler = move |call| async move {
            respond(call, method)
                .await
                .unwrap_or_else(|status| MethodResponse {
                    initial_metadata: HeaderMap::new(),
                    result: Err(status),
                    trailing_metadata: HeaderMap::new(),
                })
        };
        methods.insert(path, Arc::new(handler));
    }
    methods
}

/// Responds as the request defines. The messages of both methods have the same fields.
async fn respond(mut call: MethodCall, method: &str) -> Result<MethodResponse, Status> {
    let encoding = call.encoding;
    let request_type = format!("{method}Request");
    call.message = codec::to_protobuf(&request_type, call.message, encoding)
        .map_err(|error| Status::new(Code::InvalidArgument, error.to_string()))?;
    let request = suite::UnaryRequest::decode_from_slice(&call.message)
        .map_err(|error| Status::new(Code::InvalidArgument, error.to_string()))?;
    let definition = request
        .response_definition
        .into_option()
        .unwrap_or_default();
    let delay = Duration::from_millis(definition.response_delay_ms.into());
    tokio::time::sleep(delay).await;
    let info = request_info(call, &request_type);
    let data = match definition.response {
        Some(Defined::Error(error)) => Err(status(*error, &info)?),
        Some(Defined::ResponseData(data)) => Ok(data),
        None => Ok(Vec::new()),
    };
    let encoded = |data| {
        codec::from_protobuf(&format!("{method}Response"), payload(data, info), encoding)
            .map_err(|error| Status::new(Code::Internal, error.to_string()))
    };
    Ok(MethodResponse {
        initial_metadata: metadata(&definition.response_headers)?,
        result: data.and_then(encoded),
        trailing_metadata: metadata(&definition.response_trailers)?,
    })
}

/// What the server received of the request.
fn request_info(call: MethodCall, request_type: &str) -> RequestInfo {
    let values = |name: &HeaderName| {
        let values = call.fields.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    };
    let request_headers = call
        .fields
        .keys()
        .map(|name| suite::Header {
            name: name.to_string(),
            value: values(name),
            ..Default::default()
        })
        .collect();
    let timeout_ms = call
        .timeout
        .map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    RequestInfo {
        request_headers,
        timeout_ms,
        requests: vec![any(request_type, call.message)],
        ..Default::default()
    }
}

/// Encodes the response's message.
fn payload(data: Vec<u8>, info: RequestInfo) -> Vec<u8> {
    let payload = suite::ConformancePayload {
        data,
        request_info: info.into(),
        ..Default::default()
    };
    suite::UnaryResponse {
        payload: payload.into(),
        ..Default::default()
    }
    .encode_to_vec()
}

/// The requested status; its details include what the server received.
fn status(error: suite::Error, info: &RequestInfo) -> Result<Status, Status> {
    let number = error.code.to_i32();
    let code = u16::try_from(number)
        .ok()
        .and_then(Code::from_number)
        .ok_or_else(|| {
            Status::new(
                Code::InvalidArgument,
                format!("{number} is not an error code"),
            )
        })?;
    let text = error.message.unwrap_or_default();
    let mut details = error.details;
    details.push(any("ConformancePayload.RequestInfo", info.encode_to_vec()));
    let encoded = rpc::Status {
        code: number,
        message: text.clone(),
        details,
        ..Default::default()
    };
    Ok(Status::new(code, text).with_details(encoded.encode_to_vec()))
}

/// A message of the suite, with the URL of its type.
fn any(name: &str, value: Vec<u8>) -> Any {
    Any {
        type_url: format!("type.googleapis.com/connectrpc.conformance.v1.{name}"),
        value,
        ..Default::default()
    }
}

fn metadata(headers: &[suite::Header]) -> Result<HeaderMap, Status> {
    let mut metadata = HeaderMap::new();
    for header in headers {
        let name =
            HeaderName::from_bytes(header.name.as_bytes()).map_err(|e| bad_header(header, &e))?;
        for value in &header.value {
            let value = HeaderValue::from_str(value).map_err(|e| bad_header(header, &e))?;
            metadata.append(name.clone(), value);
        }
    }
    Ok(metadata)
}

fn bad_header(header: &suite::Header, error: &impl Error) -> Status {
    Status::new(
        Code::InvalidArgument,
        format!("header {}: {error}", header.name),
    )
}
