//! The change of one file that a patch asks for, whatever the text is by then. Pure.

use std::sync::Arc;

use serde_json::json;

use crate::patch::{self, Applied, Fault, FaultKind, FilePatch, PlacedHunk};
use crate::text::{BOM, LineBreaks, Splice, Text, diff};
use crate::tools::write;
use crate::workspace::commit::Rewrite;
use crate::workspace::{Hunk, LineSpan, Refusal, RefusalKind, Rewritten};

/// The parts of a patch that are about one file, in order, each on the result of the one before.
pub(super) struct Patched {
    /// The file, for messages.
    pub(super) shown: String,
    /// The parts; one at least.
    pub(super) patches: Vec<FilePatch>,
}

/// A change that also says whether the file can be run, or nothing but that.
pub(super) struct Moded {
    /// The change of the text.
    pub(super) then: Option<Arc<dyn Rewrite>>,
    /// Whether it can.
    pub(super) executable: bool,
}

impl Rewrite for Moded {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        match (&self.then, before) {
            (Some(then), _) => then.rewrite(before),
            (None, Some(_)) => Ok(Rewritten::default()),
            (None, None) => Err(Refusal::new(RefusalKind::NotFound, "There is no such file any more.")),
        }
    }

    fn executable(&self) -> Option<bool> {
        Some(self.executable)
    }
}

/// The refusal that a fault is; with the file it is about.
pub(super) fn refused(fault: Fault, shown: Option<&str>) -> Refusal {
    let kind = match fault.kind {
        FaultKind::Unreadable | FaultKind::Identical => RefusalKind::InvalidArguments,
        FaultKind::NotFound => RefusalKind::NotFound,
        FaultKind::Ambiguous => RefusalKind::Ambiguous,
        FaultKind::Conflict => RefusalKind::Conflict,
    };
    let message = match shown {
        Some(shown) => format!("{shown}: {} Nothing was changed.", fault.message),
        None => fault.message,
    };
    let data = (!fault.lines.is_empty()).then(|| json!({ "lines": fault.lines }));
    Refusal { data, ..Refusal::new(kind, message) }
}

impl Patched {
    /// The text that the patch makes of another.
    pub(super) fn content(&self, text: &str) -> Result<String, Refusal> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        Ok(spliced(text, &self.applied(Some(text), &self.patches[0])?.splices))
    }

    fn applied(&self, text: Option<&str>, patch: &FilePatch) -> Result<Applied, Refusal> {
        patch::apply(text, patch).map_err(|fault| refused(fault, Some(&self.shown)))
    }
}

fn spliced(text: &str, splices: &[Splice]) -> String {
    Text::new(text, LineBreaks::Lf).spliced(splices).to_string()
}

fn span((start, count): (usize, usize)) -> LineSpan {
    LineSpan { start, count }
}

fn hunks(placed: &[PlacedHunk]) -> Vec<Hunk> {
    let hunk = |hunk: &PlacedHunk| Hunk {
        strategy: hunk.strategy.to_owned(),
        similarity: hunk.similarity,
        before: span(hunk.before),
        after: span(hunk.after),
    };
    placed.iter().map(hunk).collect()
}

/// So many bytes of text are gone through for one file: each part of a patch that is about it is looked for in all of it.
const MAX_WORK: usize = 1 << 30;

/// Refuses a patch that would take very long.
fn affordable(shown: &str, parts: usize, bytes: usize) -> Result<(), Refusal> {
    if parts < 2 || parts.saturating_mul(bytes) <= MAX_WORK {
        return Ok(());
    }
    let words = format!(
        "The patch has {parts} sections for {shown}, each of which is looked for in the whole file, and that would take too \
         long. Nothing was changed. Put the hunks, in the order of the file, into one section for it, or send them in \
         several calls."
    );
    Err(Refusal::new(RefusalKind::InvalidArguments, words))
}

impl Rewrite for Patched {
    fn rewrite(&self, before: Option<&Text>) -> Result<Rewritten, Refusal> {
        let whole = before.map(Text::to_string);
        let mark = whole.as_ref().map_or(0, |text| text.len() - text.strip_prefix(BOM).unwrap_or(text).len());
        let old = whole.as_ref().map(|text| &text[mark..]);
        affordable(&self.shown, self.patches.len(), old.map_or(0, str::len))?;
        let (mut splices, mut places, mut now): (Vec<Splice>, Vec<Hunk>, Option<String>) = Default::default();
        for patch in &self.patches {
            let applied = self.applied(now.as_deref().or(old), patch)?;
            let text = now.as_deref().or(old).unwrap_or_default();
            now = Some(spliced(text, &applied.splices));
            places.extend(hunks(&applied.hunks));
            splices = applied.splices;
        }
        if let [_, _, ..] = self.patches[..] {
            let (old, new) = (old.unwrap_or_default(), now.unwrap_or_default());
            splices = diff::splices(old, &new);
            // Line numbers of what came between mean nothing to anybody: all of it is told as one place.
            let least = places.iter().map(|hunk| hunk.similarity).fold(1.0, f64::min);
            let loosest = places.iter().map(|hunk| hunk.strategy.clone()).find(|strategy| strategy != "patch");
            let strategy = loosest.unwrap_or_else(|| "patch".to_owned());
            places = write::hunk(old, &new, &splices).into_iter().collect();
            for hunk in &mut places {
                (hunk.strategy, hunk.similarity) = (strategy.clone(), least);
            }
        }
        for splice in &mut splices {
            splice.range = splice.range.start + mark..splice.range.end + mark;
        }
        Ok(Rewritten { splices, hunks: places, notes: Vec::new() })
    }

    fn executable(&self) -> Option<bool> {
        self.patches.iter().rev().find_map(FilePatch::executable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sections_of_a_long_file_are_refused_and_one_never_is() {
        for (parts, bytes, fine) in
            [(1, usize::MAX, true), (2, MAX_WORK / 2, true), (2, MAX_WORK / 2 + 1, false), (25_000, 1 << 20, false)]
        {
            assert_eq!(affordable("a.txt", parts, bytes).is_ok(), fine, "{parts} {bytes}");
        }
    }
}
