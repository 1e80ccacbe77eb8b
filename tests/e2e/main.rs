//! Real editors and real language servers.

mod servers;
