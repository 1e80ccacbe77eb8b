//! Files that are not open.
