//! The bridge as clients of MCP meet it: alone over a pipe in memory, joined to the sidecar of a fake editor by its socket,
//! and both as real processes.

mod agent;
mod alone;
mod joined;
mod processes;
