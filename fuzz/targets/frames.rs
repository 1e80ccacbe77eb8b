//! Frames: bytes cut into messages, however they arrive.

use ropewalk::rpc::{Decoder, FrameError, encode};
use ropewalk::server::open::Stream;

/// The first byte says how the rest is cut into reads.
pub fn frames(data: &[u8]) {
    let Some((&first, stream)) = data.split_first() else { return };
    let piece = usize::from(first % 16) + 1;
    let (mut whole, mut cut) = (Stream::default(), Stream::default());
    let at_once = whole.push(stream);
    let bit_by_bit: Vec<_> = stream.chunks(piece).flat_map(|bytes| cut.push(bytes)).collect();
    // What was thrown away of an endless header is told as it comes, so that its length differs.
    if stream.len() <= 8 << 10 {
        assert_eq!(at_once, bit_by_bit, "reads of {piece} bytes");
    }
    assert_eq!(decoded(stream, stream.len().max(1)), decoded(stream, piece), "reads of {piece} bytes");
    // What we write is read again, and so is what follows.
    let mut ours = encode(stream);
    ours.extend(encode(b"{}"));
    assert_eq!(decoded(&ours, piece), (vec![stream.to_vec(), b"{}".to_vec()], None));
    assert_eq!(Stream::default().push(&ours).len(), 2);
}

/// The bodies of a stream that comes in pieces, and why it cannot be read on.
fn decoded(stream: &[u8], piece: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut decoder = Decoder::new();
    let mut bodies = Vec::new();
    for bytes in stream.chunks(piece) {
        decoder.push(bytes);
        loop {
            match decoder.next_frame() {
                Ok(Some(body)) => bodies.push(body),
                Ok(None) => break,
                Err(error) => return (bodies, Some(error)),
            }
        }
    }
    (bodies, None)
}
