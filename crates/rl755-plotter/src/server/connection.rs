//! Connections: how many, for how long, and what a request is answered.

use std::{convert::Infallible, net::TcpListener, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode, Version,
    body::{Bytes, Incoming},
    header::{self, HeaderMap, HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::Semaphore, time};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{
    access::{Access, is_same_origin},
    files,
    hub::Hub,
    socket,
};

/// Browsers at one time. Each has one socket.
const SOCKETS: usize = 32;
/// Connections at one time that are not sockets; others wait until one of these ends.
const CONNECTIONS: usize = 64;
/// For how long a browser may take to say what it wants.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// For how long a request may take with its answer: three.js through a slow tunnel.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a request may be, without a body; hyper's least is 8,192.
const REQUEST_BYTES: usize = 16 * 1024;
/// After which time a system without free files is asked again.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// What the page may load, and from where: only from here.
pub(super) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// What all connections share.
struct Shared {
    hub: Arc<Hub>,
    access: Access,
    sockets: Arc<Semaphore>,
}

/// Answers whoever connects, for ever.
pub(super) async fn accept(listener: TcpListener, hub: Arc<Hub>, access: Access) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let shared = Arc::new(Shared { hub, access, sockets: Arc::new(Semaphore::new(SOCKETS)) });
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = Arc::clone(&connections).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // Poses are small and should come when they are sent.
            let _ = stream.set_nodelay(true);
            // Whatever went wrong, it is the browser's: it may ask again.
            let _ = time::timeout(REQUEST_TIMEOUT, serve(stream, shared)).await;
            drop(permit);
        });
    }
}

/// Answers one request.
async fn serve(stream: TcpStream, shared: Arc<Shared>) -> hyper::Result<()> {
    let service = service_fn(move |request| {
        let answer = answer(&shared, request);
        async move { Ok::<_, Infallible>(answer) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(REQUEST_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
}

fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let mut response = route(shared, request).unwrap_or_else(|(status, why)| {
        let mut response = Response::new(Full::new(Bytes::from_static(why.as_bytes())));
        *response.status_mut() = status;
        set(&mut response, header::CONTENT_TYPE, "text/plain; charset=utf-8");
        if status == StatusCode::METHOD_NOT_ALLOWED {
            set(&mut response, header::ALLOW, "GET, HEAD");
        }
        response
    });
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        // One request for each connection: so its limits are those of a request.
        set(&mut response, header::CONNECTION, "close");
    }
    set(&mut response, header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    // The address may have the token in it.
    set(&mut response, header::REFERRER_POLICY, "no-referrer");
    set(&mut response, header::CACHE_CONTROL, "no-cache");
    set(&mut response, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    response
}

fn set(response: &mut Response<Full<Bytes>>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

type Refusal = (StatusCode, &'static str);

fn route(
    shared: &Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let hosts = request.headers().get_all(header::HOST);
    let host = only(hosts.iter()).unwrap_or_default().to_owned();
    if !shared.access.knows_host(&host) {
        return Err((
            StatusCode::FORBIDDEN,
            "This page is only served under the names of the machine it runs on. Open the \
             address that the program printed, or localhost with the port that you forward.\n",
        ));
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "Only GET is answered here.\n"));
    }
    let path = request.uri().path();
    let private = path == "/" || path == "/socket";
    if private && !shared.access.admits(request.uri().query()) {
        return Err((
            StatusCode::FORBIDDEN,
            "Open the address that the program printed, with the token in it.\n",
        ));
    }
    if path == "/socket" {
        return upgrade(shared, request, &host);
    }
    let file = files::find(path).ok_or((StatusCode::NOT_FOUND, "There is no such page.\n"))?;
    let mut response = Response::new(Full::new(Bytes::from_static(file.bytes)));
    set(&mut response, header::CONTENT_TYPE, file.media_type);
    Ok(response)
}

/// Turns the connection into a web socket, if it is our page that asks.
fn upgrade(
    shared: &Arc<Shared>,
    mut request: Request<Incoming>,
    host: &str,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let headers = request.headers();
    let asks = request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && lists(headers, header::CONNECTION, "upgrade")
        && lists(headers, header::UPGRADE, "websocket")
        && lists(headers, header::SEC_WEBSOCKET_VERSION, "13");
    let key = only(headers.get_all(header::SEC_WEBSOCKET_KEY).iter()).filter(|key| key.len() == 24);
    let (true, Some(key)) = (asks, key) else {
        return Err((StatusCode::BAD_REQUEST, "A web socket was expected.\n"));
    };
    if !only(headers.get_all(header::ORIGIN).iter()).is_some_and(|o| is_same_origin(o, host)) {
        return Err((StatusCode::FORBIDDEN, "Only the page that is served here may connect.\n"));
    }
    let accepted = derive_accept_key(key.as_bytes());
    let Ok(permit) = Arc::clone(&shared.sockets).try_acquire_owned() else {
        return Err((StatusCode::SERVICE_UNAVAILABLE, "Too many browsers are connected.\n"));
    };
    let hub = Arc::clone(&shared.hub);
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            socket::serve(TokioIo::new(upgraded), &hub).await;
        }
        drop(permit);
    });
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    set(&mut response, header::CONNECTION, "upgrade");
    set(&mut response, header::UPGRADE, "websocket");
    if let Ok(accepted) = HeaderValue::from_str(&accepted) {
        response.headers_mut().insert(header::SEC_WEBSOCKET_ACCEPT, accepted);
    }
    Ok(response)
}

/// The value of a header that is given once.
fn only<'a>(mut values: impl Iterator<Item = &'a HeaderValue>) -> Option<&'a str> {
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether one of the comma-separated values of a header is `wanted`.
fn lists(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|v| v.split(',')).any(|value| value.trim().eq_ignore_ascii_case(wanted))
}
