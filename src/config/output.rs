//! What a project may say of how much is kept of outputs.

use super::OutputSettings;

impl OutputSettings {
    /// These settings where nobody can tell the user's from a project's: no limit is higher than the user's.
    #[must_use]
    pub fn within(&self, user: &OutputSettings) -> OutputSettings {
        OutputSettings {
            max_bytes: self.max_bytes.min(user.max_bytes),
            head_bytes: self.head_bytes.min(user.head_bytes),
            tail_bytes: self.tail_bytes.min(user.tail_bytes),
            display_bytes: self.display_bytes.min(user.display_bytes),
            kept_bytes: self.kept_bytes.min(user.kept_bytes),
            spill_bytes: self.spill_bytes.min(user.spill_bytes),
            disk_bytes: self.disk_bytes.min(user.disk_bytes),
            compress: self.compress,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_takes_no_more_room() {
        let output = |kept_bytes, spill_bytes, disk_bytes, max_bytes| OutputSettings {
            max_bytes,
            kept_bytes,
            spill_bytes,
            disk_bytes,
            ..OutputSettings::default()
        };
        assert_eq!(output(9, 9, 9, 9).within(&output(5, 6, 7, 8)), output(5, 6, 7, 8));
        assert_eq!(output(1, 2, 3, 4).within(&output(5, 6, 7, 8)), output(1, 2, 3, 4));
    }
}
