//! A farm for one test: the real program in a folder of its own, killed when the test ends.
//!
//! The folder stays when the test fails, and its path is printed with the ends of the logs.
//! Waiting is by events or by the program's own end, each bounded by [`WAIT`].

use crate::events::Events;
pub(crate) use crate::ran::Ran;
use reqwest::{Method, StatusCode};
use sawah::model::{JobId, PipelineId, Stage};
use sawah::protocol::event::{Change, Event};
use sawah::protocol::problem::Problem;
use sawah::protocol::view::{DeadLetterView, FarmStatus, JobDetail, PipelineDetail, PublishedFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// The longest wait for anything: far more than a slow machine needs, so that reaching it is a
/// failure.
pub(crate) const WAIT: Duration = Duration::from_mins(5);

/// Bytes of each log shown when a test fails.
const LOG_TAIL_BYTES: usize = 3_000;

/// Waits for `future`, but not for ever; `what` says what was waited for.
pub(crate) async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WAIT, future).await {
        Ok(value) => value,
        Err(elapsed) => panic!("{what} did not come within {} s: {elapsed}", WAIT.as_secs()),
    }
}

/// A running part of the farm; killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// Kept open: a program that writes to a closed pipe would end.
    _stdout: Option<BufReader<ChildStdout>>,
}

impl Process {
    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Ends it as `kill -9` does, and waits until it is gone.
    pub(crate) async fn kill_hard(mut self) {
        self.child.start_kill().expect("it can be killed");
        bounded("the end of a killed process", self.child.wait()).await.expect("it has ended");
    }

    /// Asks it to end, as a service manager does, and returns its exit code.
    #[cfg(unix)]
    pub(crate) async fn stop(mut self) -> Option<i32> {
        signal(self.pid(), rustix::process::Signal::TERM);
        bounded("an orderly end", self.child.wait()).await.expect("it has ended").code()
    }
}

/// Sends a signal to a process.
#[cfg(unix)]
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process id"), signal).expect("it can be signalled");
}

/// The farm.
pub(crate) struct Farm {
    name: &'static str,
    root: Option<TempDir>,
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
    /// What `serve` is started through, with its arguments.
    wrapper: Vec<String>,
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Farm {
    /// A folder for a farm; nothing runs yet. Pictures are drawn by the processor, which is the
    /// same everywhere.
    pub(crate) fn new(name: &'static str) -> Self {
        let root = tempfile::Builder::new().prefix(&format!("sawah-{name}-")).tempdir();
        let root = root.expect("a temporary folder can be made");
        let folder = root.path().join("farm");
        Self {
            name,
            root: Some(root),
            folder,
            environment: vec![("SAWAH_GPU", "off".to_owned()), ("SAWAH_LOG", "info".to_owned())],
            wrapper: Vec::new(),
            http: reqwest::Client::new(),
            url: String::new(),
            token: String::new(),
        }
    }

    /// Sets a variable for every process of this farm.
    pub(crate) fn with(mut self, key: &'static str, value: &str) -> Self {
        self.environment.retain(|(known, _)| *known != key);
        self.environment.push((key, value.to_owned()));
        self
    }

    /// Has `serve` started through another program, which is to run its last arguments.
    pub(crate) fn through(mut self, wrapper: &[&str]) -> Self {
        self.wrapper = wrapper.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// The folder of everything of this test.
    pub(crate) fn root(&self) -> &Path {
        self.root.as_ref().expect("it is taken only at the end").path()
    }

    /// The farm's own folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new empty folder for a test's files.
    pub(crate) fn new_folder(&self, name: &str) -> PathBuf {
        let folder = self.root().join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    }

    /// The program with nothing of the machine's own settings.
    pub(crate) fn command(&self) -> Command {
        self.command_of(&[])
    }

    fn command_of(&self, wrapper: &[String]) -> Command {
        let words = wrapper.iter().map(String::as_str).chain([env!("CARGO_BIN_EXE_sawah")]);
        let mut words = words.collect::<Vec<_>>().into_iter();
        let mut command = Command::new(words.next().expect("there is one word at least"));
        command.args(words);
        let foreign = std::env::vars_os().map(|(key, _)| key);
        for key in foreign.filter(|key| key.to_string_lossy().starts_with("SAWAH_")) {
            command.env_remove(key);
        }
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        for (key, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(key, self.root().join(folder));
        }
        command.env("SAWAH_FARM", &self.folder);
        command.envs(self.environment.iter().map(|(key, value)| (*key, value)));
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// Runs a client command to its end.
    pub(crate) async fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        let mut command = self.command();
        command.args(args);
        let what = format!("the end of {:?}", command.as_std());
        let output = bounded(&what, command.output()).await.expect("the program can be started");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn log_file(&self, name: &str) -> Stdio {
        let path = self.new_folder("output").join(format!("{name}.log"));
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        file.expect("a log can be opened").into()
    }

    /// Starts `sawah serve` on any free port.
    pub(crate) async fn serve(&mut self) -> Process {
        self.serve_on(0).await
    }

    /// Starts `sawah serve` again on the port it had.
    pub(crate) async fn serve_again(&mut self) -> Process {
        let port = self.url.rsplit(':').next().and_then(|port| port.parse().ok());
        self.serve_on(port.expect("the URL ends in a port")).await
    }

    async fn serve_on(&mut self, port: u16) -> Process {
        let mut command = self.command_of(&self.wrapper);
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
        command.stdout(Stdio::piped()).stderr(self.log_file("serve"));
        let mut child = command.spawn().expect("serve can be started");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut line = String::new();
        bounded("the address of serve", stdout.read_line(&mut line)).await.expect("serve writes");
        let url = line.trim().strip_prefix("Listening on ");
        let url = url.unwrap_or_else(|| panic!("serve says '{}'", line.trim()));
        url.clone_into(&mut self.url);
        let token = fs::read_to_string(self.folder.join("token"));
        token.expect("serve has made a token").trim().clone_into(&mut self.token);
        Process { child, _stdout: Some(stdout) }
    }

    /// The work folder of a worker.
    pub(crate) fn work_folder(&self, worker: &str) -> PathBuf {
        self.new_folder(&format!("work-{worker}"))
    }

    /// Starts `sawah worker` with its own work folder. It is given the coordinator's address and
    /// token, as on another machine.
    pub(crate) fn worker(&self, name: &str) -> Process {
        self.worker_in(name, &self.work_folder(name))
    }

    /// Starts `sawah worker` on a given work folder.
    pub(crate) fn worker_in(&self, name: &str, work: &Path) -> Process {
        self.start_worker(name, work, &self.url)
    }

    /// Starts `sawah worker` that reaches the coordinator at another address.
    pub(crate) fn worker_at(&self, name: &str, url: &str) -> Process {
        self.start_worker(name, &self.work_folder(name), url)
    }

    fn start_worker(&self, name: &str, work: &Path, url: &str) -> Process {
        let mut command = self.command();
        command.env_remove("SAWAH_FARM").args(["worker", "--name", name, "--slots", "2"]);
        command.args(["--coordinator", url, "--token", &self.token]);
        command.arg("--work").arg(work);
        command.stdout(self.log_file(name)).stderr(self.log_file(name));
        Process { child: command.spawn().expect("worker can be started"), _stdout: None }
    }

    /// Starts `sawah worker` that finds its coordinator through the farm's folder.
    pub(crate) fn worker_of_folder(&self, name: &str) -> Process {
        let mut command = self.command();
        command.args(["worker", "--name", name]).arg("--work").arg(self.work_folder(name));
        command.stdout(self.log_file(name)).stderr(self.log_file(name));
        Process { child: command.spawn().expect("worker can be started"), _stdout: None }
    }

    /// Submits files without waiting for the work.
    pub(crate) async fn submit<A: AsRef<OsStr>>(
        &self,
        paths: impl IntoIterator<Item = A>,
        more: &[&str],
    ) -> PipelineId {
        self.try_submit(paths, more).await.expect_code(0).pipeline()
    }

    /// Runs `submit --json` and returns what it did.
    pub(crate) async fn try_submit<A: AsRef<OsStr>>(
        &self,
        paths: impl IntoIterator<Item = A>,
        more: &[&str],
    ) -> Ran {
        let mut args = vec![OsStr::new("submit").to_owned(), OsStr::new("--json").to_owned()];
        args.extend(more.iter().map(|arg| OsStr::new(arg).to_owned()));
        args.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self.run(args).await
    }
}

/// The farm over HTTP.
impl Farm {
    /// The coordinator's address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The farm's token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// A call with the farm's token.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// A call without a token.
    pub(crate) fn bare_request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Reads JSON; anything but success ends the test.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        let (status, body) = answer(self.request(Method::GET, path)).await;
        assert!(status.is_success(), "GET {path}: {status}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("GET {path}: {error}: {body}"))
    }

    /// Posts JSON and reads the answer; anything but success ends the test.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> T {
        let (status, body) = answer(self.request(Method::POST, path).json(body)).await;
        assert!(status.is_success(), "POST {path}: {status}: {body}");
        // 204 has no body, which reads as `null` for `()`.
        let body = if body.is_empty() { "null" } else { &body };
        serde_json::from_str(body).unwrap_or_else(|error| panic!("POST {path}: {error}: {body}"))
    }

    /// Posts JSON that must be refused.
    pub(crate) async fn refused(&self, path: &str, body: &impl Serialize) -> (StatusCode, Problem) {
        problem(self.request(Method::POST, path).json(body)).await
    }

    /// The events after `seq`, from now on live.
    pub(crate) async fn events(&self, seq: u64) -> Events {
        let request = self.request(Method::GET, &format!("/v1/events?after={seq}"));
        let response = bounded("the event stream", request.send()).await;
        Events::new(response.expect("the event stream opens"))
    }

    /// Every event up to now, without a gap.
    pub(crate) async fn history(&self) -> Vec<Event> {
        let last = self.get::<FarmStatus>("/v1/status").await.seq;
        let mut events = self.events(0).await;
        let mut history = Vec::new();
        while history.len() < usize::try_from(last).expect("few events") {
            let event = events.next_event("an event of the past").await;
            assert_eq!(event.seq, history.len() as u64 + 1, "a gap in the events");
            history.push(event);
        }
        history
    }

    /// A pipeline in full.
    pub(crate) async fn pipeline(&self, pipeline: PipelineId) -> PipelineDetail {
        self.get(&format!("/v1/pipelines/{pipeline}")).await
    }

    /// A job in full.
    pub(crate) async fn job(&self, job: JobId) -> JobDetail {
        self.get(&format!("/v1/jobs/{job}")).await
    }

    /// Every dead letter of a pipeline.
    pub(crate) async fn dead_letters(&self, pipeline: PipelineId) -> Vec<DeadLetterView> {
        let mut letters: Vec<DeadLetterView> = self.get("/v1/dead-letters?all=true").await;
        letters.retain(|letter| letter.pipeline == pipeline);
        letters
    }
}

/// Sends a call and reads its text.
pub(crate) async fn answer(request: reqwest::RequestBuilder) -> (StatusCode, String) {
    let response = bounded("an answer", request.send()).await.expect("the coordinator answers");
    let status = response.status();
    (status, bounded("a body", response.text()).await.expect("the body can be read"))
}

/// Sends a call whose answer must be a [`Problem`].
pub(crate) async fn problem(request: reqwest::RequestBuilder) -> (StatusCode, Problem) {
    let (status, body) = answer(request).await;
    match serde_json::from_str::<Problem>(&body) {
        Ok(problem) => {
            assert!(!problem.message.is_empty() && !problem.remedy.is_empty(), "{body}");
            (status, problem)
        }
        Err(error) => panic!("{status} without a problem ({error}): {body}"),
    }
}

impl Drop for Farm {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let Some(root) = self.root.take().map(TempDir::keep) else { return };
        eprintln!("{}: the farm is kept in {}", self.name, root.display());
        for entry in fs::read_dir(root.join("output")).into_iter().flatten().flatten() {
            let text = fs::read(entry.path()).unwrap_or_default();
            let tail = text.get(text.len().saturating_sub(LOG_TAIL_BYTES)..).unwrap_or_default();
            let name = entry.file_name();
            eprintln!("--- end of {}\n{}", name.display(), String::from_utf8_lossy(tail));
        }
    }
}

/// Files under a folder, as paths relative to it; none where there is no folder.
pub(crate) fn files_under(folder: &Path) -> Vec<PathBuf> {
    fn walk(folder: &Path, root: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                walk(&path, root, files);
            } else {
                files.push(path.strip_prefix(root).expect("it lies inside").to_owned());
            }
        }
    }
    let mut files = Vec::new();
    walk(folder, folder, &mut files);
    files.sort();
    files
}

/// Files that attempts have left under a work folder.
pub(crate) fn staged_files(work: &Path) -> Vec<PathBuf> {
    let mut files = files_under(work);
    files.retain(|path| {
        path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("attempt-"))
    });
    files
}

/// Checks that a pipeline's published files are in the export folder, whole, and nothing else is.
pub(crate) fn check_published(detail: &PipelineDetail) {
    assert!(!detail.published.is_empty(), "nothing was published: {:#?}", detail.pipeline);
    let folder = detail.export_folder.as_ref().expect("the export folder is known");
    let mut expected: Vec<PathBuf> = Vec::new();
    for PublishedFile { output, checksum, size_bytes, path } in &detail.published {
        let path = path.as_ref().expect("it was exported");
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(bytes.len() as u64, *size_bytes, "{path}");
        assert_eq!(sawah::model::Checksum::of(&bytes), *checksum, "{path}");
        assert!(Path::new(path).ends_with(output), "{path} is {output}");
        expected.push(PathBuf::from(output));
    }
    expected.sort();
    assert_eq!(files_under(Path::new(folder)), expected, "the export folder {folder}");
}

/// Jobs of a stage that were created for a pipeline, by its events.
pub(crate) fn jobs_created(history: &[Event], pipeline: PipelineId, stage: Stage) -> Vec<JobId> {
    let created = |event: &Event| match event.change {
        Change::JobCreated { job, pipeline: of, stage: at, .. }
            if of == pipeline && at == stage =>
        {
            Some(job)
        }
        _ => None,
    };
    history.iter().filter_map(created).collect()
}

/// How often a pipeline published and exported, by its events.
pub(crate) fn publishes(history: &[Event], pipeline: PipelineId) -> (usize, usize) {
    let count = |is_it: &dyn Fn(&Change) -> bool| {
        history.iter().filter(|event| is_it(&event.change)).count()
    };
    let published = count(
        &|change| matches!(change, Change::Published { pipeline: of, .. } if *of == pipeline),
    );
    let exported =
        count(&|change| matches!(change, Change::Exported { pipeline: of, .. } if *of == pipeline));
    (published, exported)
}
