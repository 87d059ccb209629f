//! Starts a program, with one thread that reads what it writes and one that waits for its end.

use super::bounds::{CHUNK_BYTES, CHUNKS};
use super::program::{Program, ProgramError};
use super::{mark, surroundings};
use std::io::{self, PipeReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// What happens to a run.
#[derive(Debug)]
pub(super) enum Event {
    Output(Vec<u8>),
    /// Nobody can write any more.
    OutputEnd,
    /// The main process has ended.
    Exited(io::Result<ExitStatus>),
    /// The end signal was given.
    Told,
}

/// The queue of a run. Its sender lives as long as the run, so that the queue never closes.
pub(super) struct Events {
    pub(super) sender: Arc<SyncSender<Event>>,
    pub(super) receiver: Receiver<Event>,
}

impl Events {
    pub(super) fn new() -> Self {
        let (sender, receiver) = sync_channel(CHUNKS);
        Self { sender: Arc::new(sender), receiver }
    }
}

/// Starts the program, which reads `input`; its process id. Its output and its end come as events.
pub(super) fn start(program: &Program, input: Stdio, events: &Events) -> Result<u32, ProgramError> {
    let failed = |error| ProgramError::Start { error, program: program.program.clone() };
    let (reader, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new(&program.program);
    command.args(&program.arguments).current_dir(&program.folder).stdin(input);
    command.envs(surroundings::get());
    for name in program.remove.iter().filter(|name| *name != mark::VARIABLE) {
        command.env_remove(name);
    }
    // Some programs believe this and not the system: a shell would set it as well.
    #[cfg(unix)]
    command.env("PWD", &program.folder);
    command.envs(&program.set);
    command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    let mut child = command.spawn().map_err(|error| ProgramError::from_start(error, program))?;
    // It holds our writing ends: the pipe must end with the program's.
    drop(command);
    let pid = child.id();
    let (output, end) = (SyncSender::clone(&events.sender), SyncSender::clone(&events.sender));
    let listens = thread::Builder::new()
        .name("program-output".to_owned())
        .spawn(move || read(reader, &output));
    if let Err(error) = listens {
        abandon(&mut child);
        return Err(failed(error));
    }
    let (hand, handed) = sync_channel(1);
    // Handed over only to a thread that runs: a refused one would drop the child.
    let waits = thread::Builder::new().name("program-wait".to_owned()).spawn(move || {
        if let Ok(child) = handed.recv() {
            wait(child, &end);
        }
    });
    if let Err(error) = waits {
        abandon(&mut child);
        return Err(failed(error));
    }
    let _ = hand.send(child);
    Ok(pid)
}

fn abandon(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn wait(mut child: Child, events: &SyncSender<Event>) {
    let _ = events.send(Event::Exited(child.wait()));
}

fn read(mut pipe: PipeReader, events: &SyncSender<Event>) {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let event = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => Event::Output(buffer.get(..length).unwrap_or_default().to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if events.send(event).is_err() {
            return;
        }
    }
    let _ = events.send(Event::OutputEnd);
}
