//! Every child process: its group, its environment, its end.
