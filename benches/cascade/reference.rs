//! What the reference algorithms cost: the nine replacers as their description has them, with the work they do and
//! without their services. Windows are joined, split and normalised anew at each line, exact searches overlap, and a
//! similarity fills the whole matrix. It is a yardstick: nothing of it is in the product.

/// Where a replacer would edit: the text it matched and where that begins (bytes).
struct Candidate {
    start: usize,
    text: String,
}

/// The first edit that a replacer makes, or `None` for a miss.
pub(super) fn edit(content: &str, old: &str, new: &str) -> Option<String> {
    let replacers: [fn(&str, &str) -> Vec<Candidate>; 9] = [
        simple,
        line_trimmed,
        block_anchor,
        whitespace_normalized,
        indentation_flexible,
        escape_normalized,
        trimmed_boundary,
        context_aware,
        multi_occurrence,
    ];
    for replacer in replacers {
        for candidate in replacer(content, old) {
            if content.rfind(&candidate.text) == Some(candidate.start) {
                let end = candidate.start + candidate.text.len();
                return Some([&content[..candidate.start], new, &content[end..]].concat());
            }
        }
    }
    None
}

/// The Levenshtein distance over UTF-16 code units by the whole matrix of (n + 1) × (m + 1) cells.
fn levenshtein(a: &str, b: &str) -> usize {
    let (a, b): (Vec<u16>, Vec<u16>) = (a.encode_utf16().collect(), b.encode_utf16().collect());
    if a.is_empty() || b.is_empty() {
        return a.len().max(b.len());
    }
    let mut matrix = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in matrix.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in matrix[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = matrix[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            matrix[i][j] = changed.min(matrix[i - 1][j] + 1).min(matrix[i][j - 1] + 1);
        }
    }
    matrix[a.len()][b.len()]
}

fn lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

/// The lines without an empty last one.
fn closed(text: &str) -> Vec<&str> {
    let mut lines = lines(text);
    if lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

/// The candidate of some lines, the last one's end left out. Where they begin is counted from the beginning.
fn block(lines: &[&str], from: usize, to: usize) -> Candidate {
    Candidate { start: lines[..from].iter().map(|line| line.len() + 1).sum(), text: lines[from..to].join("\n") }
}

/// The windows of `count` lines that a test accepts, given the lines of each joined.
fn windows(content: &str, count: usize, accepts: impl Fn(&str) -> bool) -> Vec<Candidate> {
    let lines = lines(content);
    let last = (lines.len() + 1).saturating_sub(count);
    (0..last).filter(|&at| accepts(&lines[at..at + count].join("\n"))).map(|at| block(&lines, at, at + count)).collect()
}

fn simple(content: &str, old: &str) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = content[from..].find(old) {
        found.push(Candidate { start: from + at, text: old.to_owned() });
        from += at + 1;
        while !content.is_char_boundary(from) {
            from += 1;
        }
    }
    found
}

fn line_trimmed(content: &str, old: &str) -> Vec<Candidate> {
    let (lines, old) = (lines(content), closed(old));
    let last = (lines.len() + 1).saturating_sub(old.len());
    (0..last)
        .filter(|&at| old.iter().zip(&lines[at..]).all(|(a, b)| a.trim() == b.trim()))
        .map(|at| block(&lines, at, at + old.len()))
        .collect()
}

/// The pairs of lines that equal the first and the last line of old once trimmed.
fn anchored(lines: &[&str], old: &[&str]) -> Vec<(usize, usize)> {
    let (first, last) = (old[0].trim(), old[old.len() - 1].trim());
    let mut found = Vec::new();
    for start in 0..lines.len() {
        if lines[start].trim() != first {
            continue;
        }
        if let Some(end) = (start + 2..lines.len()).find(|&end| lines[end].trim() == last) {
            found.push((start, end));
        }
    }
    found
}

fn block_anchor(content: &str, old: &str) -> Vec<Candidate> {
    if lines(old).len() < 3 {
        return Vec::new();
    }
    let (lines, old) = (lines(content), closed(old));
    let pairs = anchored(&lines, &old);
    let likeness = |&(start, end): &(usize, usize)| -> f64 {
        let count = old.len().saturating_sub(2).min(end - start - 2);
        if count == 0 {
            return 1.0;
        }
        let mut total = 0.0;
        for at in 1..(old.len() - 1).min(end - start - 1) {
            let (here, asked) = (lines[start + at].trim(), old[at].trim());
            let longest = here.encode_utf16().count().max(asked.encode_utf16().count());
            if longest > 0 {
                total += (1.0 - levenshtein(here, asked) as f64 / longest as f64) / count as f64;
            }
        }
        total
    };
    let rated: Vec<(f64, (usize, usize))> = pairs.iter().map(|pair| (likeness(pair), *pair)).collect();
    let floor = if rated.len() == 1 { 0.0 } else { 0.3 };
    let best = rated.iter().copied().reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|best| best.0 >= floor).map(|(_, (start, end))| block(&lines, start, end + 1)).into_iter().collect()
}

fn normalised(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn whitespace_normalized(content: &str, old: &str) -> Vec<Candidate> {
    let wanted = normalised(old);
    let mut found = windows(content, 1, |line| normalised(line) == wanted);
    let count = lines(old).len();
    if count > 1 {
        found.extend(windows(content, count, |window| normalised(window) == wanted));
    }
    found
}

fn dedented(text: &str) -> String {
    let lines = lines(text);
    let indentation = |line: &&str| line.chars().take_while(|c| c.is_whitespace()).count();
    let least = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let cut = |line: &&str| -> String {
        if line.trim().is_empty() { (*line).to_owned() } else { line.chars().skip(least).collect() }
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

fn indentation_flexible(content: &str, old: &str) -> Vec<Candidate> {
    let wanted = dedented(old);
    windows(content, lines(old).len(), |window| dedented(window) == wanted)
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        plain.extend(chars.next().map(|c| match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            c => c,
        }));
    }
    plain
}

fn escape_normalized(content: &str, old: &str) -> Vec<Candidate> {
    let wanted = unescaped(old);
    let exact = content.find(&wanted).map(|start| Candidate { start, text: wanted.clone() });
    let count = lines(&wanted).len();
    exact.into_iter().chain(windows(content, count, |window| unescaped(window) == wanted)).collect()
}

fn trimmed_boundary(content: &str, old: &str) -> Vec<Candidate> {
    let wanted = old.trim();
    if wanted == old {
        return Vec::new();
    }
    let exact = content.find(wanted).map(|start| Candidate { start, text: wanted.to_owned() });
    exact.into_iter().chain(windows(content, lines(old).len(), |window| window.trim() == wanted)).collect()
}

fn context_aware(content: &str, old: &str) -> Vec<Candidate> {
    if lines(old).len() < 3 {
        return Vec::new();
    }
    let (lines, old) = (lines(content), closed(old));
    let half_equal = |&(start, end): &(usize, usize)| {
        if end + 1 - start != old.len() {
            return false;
        }
        let inside = (1..old.len() - 1).map(|at| (lines[start + at].trim(), old[at].trim()));
        let (mut some, mut equal) = (0, 0);
        for (here, asked) in inside.filter(|(here, asked)| !here.is_empty() || !asked.is_empty()) {
            some += 1;
            equal += usize::from(here == asked);
        }
        equal * 2 >= some
    };
    let found = anchored(&lines, &old).into_iter().find(half_equal);
    found.map(|(start, end)| block(&lines, start, end + 1)).into_iter().collect()
}

fn multi_occurrence(content: &str, old: &str) -> Vec<Candidate> {
    content.match_indices(old).map(|(start, text)| Candidate { start, text: text.to_owned() }).collect()
}
