//! What cleans outputs: terminal sequences, bytes that are no text, tags that ours could be taken for, and the cut.

use ropewalk::outputs::external::{defused, overhead, wrapped};
use ropewalk::outputs::{Budget, Decoder, Plain, display, plain};

/// A line is written over in so many columns at most; no more than that is made of a short sequence, on each line.
const LINE: usize = 8 * 1024;

/// The first byte says how the output is cut into pieces, which come by one stream or by two.
pub fn terminal(data: &[u8]) {
    let Some((&how, data)) = data.split_first() else { return };
    let piece = usize::from(how % 16) + 1;
    let mut decoder = Decoder::default();
    let mut pieces: Vec<String> = data.chunks(piece).map(|bytes| decoder.push(bytes)).collect();
    pieces.push(decoder.finish().to_owned());
    let text = pieces.concat();
    assert_eq!(text, String::from_utf8_lossy(data), "pieces of {piece} bytes");
    let shown = plain(&text);
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
    assert_eq!(plain(&shown), shown, "what is plain stays as it is");
    if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        assert_eq!(shown, text, "nothing is lost of what is plain");
    }
    let lines = shown.split('\n').count();
    assert!(shown.len() <= text.len() * 3 + lines * (LINE + 64) * 4, "{} of {} bytes", shown.len(), text.len());
    streams(&pieces, &shown, how);
    for_models(&text, &shown);
}

/// In pieces it is the same; and of what two streams write with no sequences in it, nothing is lost.
fn streams(pieces: &[String], whole: &str, how: u8) {
    let (mut one, mut out) = (Plain::default(), String::new());
    for piece in pieces {
        one.push(0, piece, &mut |_, text| out.push_str(text));
        assert!(!one.open().contains('\n'), "an open line is one: {:?}", one.open());
    }
    one.finish(&mut |_, text| out.push_str(text));
    // A line is held no longer than that for what may be written over it, so that it depends on the pieces what is.
    if whole.split('\n').all(|line| line.len() < LINE) {
        assert_eq!(out, whole, "in pieces");
    }
    let (mut two, mut of) = (Plain::default(), [String::new(), String::new()]);
    let mut given = [String::new(), String::new()];
    for (at, piece) in pieces.iter().enumerate() {
        let stream = usize::from(how >> (at % 8) & 1);
        given[stream].push_str(piece);
        two.push(stream, piece, &mut |stream, text| of[stream].push_str(text));
    }
    two.finish(&mut |stream, text| of[stream].push_str(text));
    if !whole.is_empty() && pieces.concat() == whole {
        assert_eq!(of, given, "nothing changes its stream");
    }
}

fn for_models(text: &str, shown: &str) {
    let safe = defused(text);
    assert!(safe.len() <= text.len());
    assert_eq!(defused(&safe), safe, "what is safe stays as it is");
    let marked = wrapped(text, text);
    assert!(marked.len() <= text.len() + overhead(text));
    if !text.is_empty() {
        assert_eq!(marked.matches("</external_content").count(), 1, "{marked}");
        assert_eq!(marked.matches("<external_content").count(), 1, "{marked}");
    }
    for max in [0, 1, 300, 700] {
        let cut = Budget { max, tail: max / 3 }.cut(shown, "o1");
        assert!(cut.text.len() <= max.max(if cut.truncated { 0 } else { shown.len() }), "{max}: {}", cut.text.len());
        assert_eq!(cut.truncated, shown.len() > max);
        assert!(cut.truncated || cut.text == shown);
        assert!(display(shown, max).len() <= max);
    }
}
