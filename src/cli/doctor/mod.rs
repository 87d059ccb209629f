//! `sawah doctor`: is this machine fit, and what is it told?

mod coordinator;
mod folders;
mod programs;

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::parts;
use serde::Serialize;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// As it should be.
    Ok,
    /// Works, but less well.
    Warn,
    /// Must be mended.
    Fail,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    area: &'static str,
    name: String,
    verdict: Verdict,
    found: String,
    /// What to do; empty where there is nothing to do.
    advice: String,
}

impl Check {
    fn ok(area: &'static str, name: impl Into<String>, found: impl Into<String>) -> Self {
        let (name, found) = (name.into(), found.into());
        Self { area, name, verdict: Verdict::Ok, found, advice: String::new() }
    }

    fn warn(self, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warn, advice: advice.into(), ..self }
    }

    fn fail(self, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, advice: advice.into(), ..self }
    }
}

pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    let runtime = Context::runtime()?;
    let mut checks = vec![
        Check::ok("sawah", "version", env!("CARGO_PKG_VERSION")),
        Check::ok("sawah", "sqlite", parts::sqlite_version()),
    ];
    checks.extend(graphics(&runtime.block_on(parts::adapters())));
    checks.extend(runtime.block_on(programs::check()));
    checks.extend(folders::check(context));
    checks.extend(runtime.block_on(coordinator::check(context)));
    checks.extend(settings(context));
    let exit = exit_of(&checks);
    if context.json {
        let ok = exit == Exit::Done;
        output::json(&serde_json::json!({"ok": ok, "checks": checks}))?;
    } else {
        output::raw(table(&checks).render(0).as_bytes())?;
    }
    Ok(exit)
}

fn exit_of(checks: &[Check]) -> Exit {
    let fails = checks.iter().any(|check| check.verdict == Verdict::Fail);
    if fails { Exit::Failed } else { Exit::Done }
}

fn table(checks: &[Check]) -> Table {
    let mut table = Table::new(&["", "AREA", "WHAT", "FOUND", "WHAT TO DO"]);
    for check in checks {
        table.row([
            check.verdict.as_str().to_owned(),
            check.area.to_owned(),
            check.name.clone(),
            check.found.clone(),
            check.advice.clone(),
        ]);
    }
    table
}

fn graphics(adapters: &[String]) -> Vec<Check> {
    if adapters.is_empty() {
        let advice = "pictures are drawn by the processor; a graphics card with its driver draws them sooner";
        return vec![Check::ok("graphics", "adapter", "none").warn(advice)];
    }
    adapters.iter().map(|adapter| Check::ok("graphics", "adapter", adapter)).collect()
}

fn settings(context: &Context) -> Vec<Check> {
    let file = context.folders.settings_file();
    let there = if file.exists() { "read" } else { "absent: everything is by default" };
    let mut checks = vec![Check::ok("settings", "file", format!("{} ({there})", file.display()))];
    for (key, value, origin) in context.settings.table() {
        checks.push(Check::ok("settings", key, format!("{value} ({origin})")));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_fails_the_whole_and_warnings_do_not() {
        let good = Check::ok("a", "b", "c");
        let warned = good.clone().warn("look");
        assert_eq!(exit_of(&[good.clone(), warned]), Exit::Done);
        let failed = good.clone().fail("mend it");
        assert_eq!(exit_of(&[good, failed.clone()]), Exit::Failed);
        assert!(table(&[failed]).render(0).contains("FAIL  a     b     c      mend it"));
    }

    #[test]
    fn a_machine_without_graphics_is_warned() {
        assert_eq!(graphics(&[])[0].verdict, Verdict::Warn);
        assert_eq!(graphics(&["llvmpipe".to_owned()])[0].verdict, Verdict::Ok);
    }
}
