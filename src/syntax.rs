//! The embedded check: does a text parse worse than before? Pure; bounded in time, size and depth.
