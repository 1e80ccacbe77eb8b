//! How alike two lines are: the measure behind every "nearly", bounded in time and memory.

/// 1 − Levenshtein distance over characters / length of the longer, white space collapsed first; 1 for two empty lines.
pub fn similarity(a: &str, b: &str) -> f64 {
    let _ = (a, b);
    todo!()
}
