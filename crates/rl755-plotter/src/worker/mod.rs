//! What plays policies and serves the page, in a process of its own.
