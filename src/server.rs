//! The front: assembles everything and runs it over a pair of pipes.
