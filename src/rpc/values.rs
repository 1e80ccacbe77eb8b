//! How many values a text of JSON holds, before anything is made of it: a short text can become a large tree.

/// Whether a text of JSON may hold more values than `most`: numbers, texts, lists and objects, names of fields among them.
/// Of what is no JSON the answer is as good as any.
pub fn more_values_than(json: &[u8], most: usize) -> bool {
    // Each has a byte of its own and, but for the first, one before it.
    if json.len() / 2 < most {
        return false;
    }
    let (mut found, mut in_text, mut escaped) = (1_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b':' | b'[' | b'{' if !in_text => found += 1,
            _ => {}
        }
        if found > most {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_texts_are_one_each() {
        let list = |item: &str, times: usize| format!("[{}]", vec![item; times].join(","));
        for (json, most, more) in [
            ("1".to_owned(), 1, false),
            (list("1", 100), 101, false),
            (list("1", 101), 101, true),
            (list("[]", 100), 150, true),
            (list("{\"a\":1}", 100), 350, false),
            (list("{\"a\":1}", 100), 250, true),
            (list(r#""a,b,[{:\",,""#, 100), 101, false),
            (list(r#""\\\\",1"#, 50), 101, false),
            (list(r#""\\\\",1"#, 51), 101, true),
            (format!("\"{}\"", ",".repeat(1000)), 10, false),
        ] {
            assert_eq!(more_values_than(json.as_bytes(), most), more, "{most} {json}");
        }
    }
}
