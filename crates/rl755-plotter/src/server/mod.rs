//! The page and its streams, over HTTP and WebSockets.
