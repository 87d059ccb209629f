//! The binary: arguments to [`sawah::cli`].

fn main() {}
