//! The words in which a report is told to a model.

use super::DiagnosticsReport;

/// What a model reads.
pub fn render(report: &DiagnosticsReport) -> String {
    let _ = report;
    String::new()
}
