//! What the window remembers of watch folders: which is shown, and the dialog as it is typed.

use super::screen::Kept;
use crate::client::live::WatchList;
use crate::model::{Name, PipelineId, WatchFileId, WatchFolderId, limits};
use crate::protocol::watch::{Results, WatchFileState, WatchFileView, WatchFolderView, WatchRules};
use std::collections::HashMap;

/// The part of the window's memory that is about watch folders.
#[derive(Debug, Default)]
pub struct Watching {
    /// All folders.
    pub folders: Kept<(), Vec<WatchFolderView>>,
    /// The folder that was chosen; none means the one that was added last.
    pub chosen: Option<WatchFolderId>,
    /// Files of one state only.
    pub state: Option<WatchFileState>,
    /// The files of the folder that is shown.
    pub files: Kept<WatchList, Vec<WatchFileView>>,
    /// Where each of them stands.
    pub places: HashMap<WatchFileId, usize>,
    /// The file that is selected.
    pub selected: Option<WatchFileId>,
    /// The dialog.
    pub form: WatchForm,
    /// With which recipe all files are taken again; none means what the rules say.
    pub again: Option<String>,
}

impl Watching {
    /// The folder that is shown.
    pub fn folder(&self) -> Option<&WatchFolderView> {
        let folders = self.folders.value.as_deref()?;
        let chosen = folders.iter().find(|folder| Some(folder.id) == self.chosen);
        chosen.or_else(|| folders.iter().max_by_key(|folder| folder.id))
    }

    /// The list that is to be fetched.
    pub fn list(&self) -> Option<WatchList> {
        self.folder().map(|folder| WatchList { folder: folder.id, state: self.state })
    }

    /// A file of the list.
    pub fn file(&self, id: WatchFileId) -> Option<&WatchFileView> {
        self.files.value.as_deref()?.get(*self.places.get(&id)?)
    }

    /// The pipeline of the selected file.
    pub fn pipeline(&self) -> Option<PipelineId> {
        let file = self.file(self.selected?)?;
        file.drop.as_ref().map(|drop| drop.pipeline)
    }
}

/// Where results go, as chosen; the folder is typed beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultsTo {
    /// The farm's own folder alone.
    #[default]
    Farm,
    /// Beside the source.
    Beside,
    /// A folder.
    Folder,
    /// A folder with one for each project.
    Project,
}

/// A folder that is added or changed, as typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchForm {
    /// The folder that is changed; none where one is added.
    pub folder: Option<WatchFolderId>,
    /// What is not typed.
    pub rules: WatchRules,
    /// The folder's path.
    pub path: String,
    /// The project.
    pub project: String,
    /// The priority.
    pub priority: String,
    /// The settle time in seconds.
    pub settle: String,
    /// Where results go.
    pub results: ResultsTo,
    /// The folder of the results.
    pub results_path: String,
    /// What is wrong.
    pub problem: Option<String>,
    /// It was sent, and its answer has not come.
    pub is_sent: bool,
}

impl WatchForm {
    /// With what a folder has.
    pub fn of(folder: &WatchFolderView) -> Self {
        let rules = folder.rules.clone();
        let (results, results_path) = match &rules.results {
            Results::Farm => (ResultsTo::Farm, String::new()),
            Results::Beside => (ResultsTo::Beside, String::new()),
            Results::Folder { path } => (ResultsTo::Folder, path.clone()),
            Results::Project { path } => (ResultsTo::Project, path.clone()),
        };
        Self {
            folder: Some(folder.id),
            path: folder.path.clone(),
            project: rules.project.as_ref().map_or_else(String::new, ToString::to_string),
            priority: rules.priority.map_or_else(String::new, |number| number.to_string()),
            settle: rules.settle_ms.map_or_else(String::new, seconds),
            results,
            results_path,
            rules,
            problem: None,
            is_sent: false,
        }
    }

    /// The rules that are meant; else what is wrong, for people.
    pub fn rules(&self) -> Result<WatchRules, String> {
        if self.path.trim().is_empty() {
            return Err("Which folder? Choose one, or type its path".to_owned());
        }
        let typed_path = || {
            let path = self.results_path.trim();
            if path.is_empty() {
                return Err("Into which folder shall the results go? Type its path".to_owned());
            }
            Ok(path.to_owned())
        };
        Ok(WatchRules {
            project: match self.project.trim() {
                "" => None,
                name => Some(name.parse::<Name>().map_err(|bad| format!("Project: {bad}"))?),
            },
            priority: priority(self.priority.trim())?,
            settle_ms: settle_ms(self.settle.trim())?,
            results: match self.results {
                ResultsTo::Farm => Results::Farm,
                ResultsTo::Beside => Results::Beside,
                ResultsTo::Folder => Results::Folder { path: typed_path()? },
                ResultsTo::Project => Results::Project { path: typed_path()? },
            },
            ..self.rules.clone()
        })
    }
}

fn priority(typed: &str) -> Result<Option<u8>, String> {
    if typed.is_empty() {
        return Ok(None);
    }
    let highest = limits::HIGHEST_PRIORITY;
    let number = typed.parse().ok().filter(|number| *number <= highest);
    number.map(Some).ok_or_else(|| format!("Priority: a number from 0 to {highest}"))
}

fn settle_ms(typed: &str) -> Result<Option<u64>, String> {
    if typed.is_empty() {
        return Ok(None);
    }
    let typed = typed.trim_end_matches(['s', ' ']).replace(',', ".");
    let seconds = typed.parse::<f64>().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    let seconds = seconds.ok_or("Settle time: seconds, such as 5 or 0.5")?;
    Ok(Some(std::time::Duration::from_secs_f64(seconds).as_millis() as u64))
}

fn seconds(ms: u64) -> String {
    if ms.is_multiple_of(1_000) {
        (ms / 1_000).to_string()
    } else {
        format!("{}", ms as f64 / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_becomes_rules_or_a_reason() {
        let form = WatchForm {
            path: "/drop".to_owned(),
            priority: "7".to_owned(),
            settle: "1,5 s".to_owned(),
            results: ResultsTo::Folder,
            results_path: " /out ".to_owned(),
            ..WatchForm::default()
        };
        let rules = form.rules().expect("good");
        assert_eq!((rules.priority, rules.settle_ms), (Some(7), Some(1_500)));
        assert_eq!(rules.results, Results::Folder { path: "/out".to_owned() });
        for (form, part) in [
            (WatchForm { path: " ".to_owned(), ..form.clone() }, "folder"),
            (WatchForm { priority: "10".to_owned(), ..form.clone() }, "0 to 9"),
            (WatchForm { settle: "soon".to_owned(), ..form.clone() }, "seconds"),
            (WatchForm { settle: "NaN".to_owned(), ..form.clone() }, "seconds"),
            (WatchForm { results_path: String::new(), ..form.clone() }, "results"),
            (WatchForm { project: "a b\n".to_owned(), ..form }, "Project"),
        ] {
            let why = form.rules().expect_err(part);
            assert!(why.contains(part), "{part} in {why}");
        }
    }

    #[test]
    fn a_folder_that_is_changed_keeps_what_nobody_typed() {
        let rules = WatchRules {
            settle_ms: Some(2_500),
            priority: Some(3),
            results: Results::Project { path: "/p".to_owned() },
            separate: true,
            side_wait_ms: 7,
            ..WatchRules::default()
        };
        let folder = WatchFolderView {
            id: WatchFolderId(4),
            path: "/drop".to_owned(),
            rules: rules.clone(),
            paused: false,
            health: crate::protocol::watch::WatchHealth::default(),
            counts: crate::protocol::watch::WatchCounts::default(),
            added_at_ms: 0,
        };
        assert_eq!(WatchForm::of(&folder).rules(), Ok(rules));
    }
}
