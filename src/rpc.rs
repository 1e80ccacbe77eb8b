//! A JSON-RPC peer over a pair of pipes: framing, the pending map, deadlines, cancel.
