//! The binary: arguments to [`sawah::cli`].

fn main() -> std::process::ExitCode {
    sawah::cli::main(std::env::args_os())
}
