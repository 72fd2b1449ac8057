//! What a panic said.

/// The message of a panic, from what [`std::thread::JoinHandle::join`] or
/// [`std::panic::catch_unwind`] gave.
pub fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
