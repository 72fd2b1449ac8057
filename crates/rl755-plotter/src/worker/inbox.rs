//! The thread that reads all that the trainer sends, so that its writes never wait long.

use std::io::Read;

use super::orders::Orders;
use crate::frame::{FrameError, FrameReader, Message};

/// Takes subjects and snapshots to `orders` until the input ends.
pub(super) fn read_all(
    reader: &mut FrameReader<impl Read>,
    orders: &Orders,
) -> Result<(), FrameError> {
    while let Some(message) = reader.next()? {
        match message {
            Message::Subject(subject) => orders.put_subject(subject),
            Message::Snapshot(snapshot) => orders.put_snapshot(snapshot),
            // They come once.
            Message::Settings(_) => return Err(FrameError::Kind(1)),
        }
    }
    Ok(())
}
