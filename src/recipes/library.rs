//! Finds recipes: the shipped ones first, a user's own beside them.

use super::{Recipe, SettingError, StageRule, retry};
use crate::model::{Stage, limits};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The recipe used when a submission names none.
pub const DEFAULT_RECIPE: &str = "preview";
/// The recipe of scenes, used when a submission of one names none.
pub const SCENE_RECIPE: &str = "render";

const SHIPPED: &[(&str, &str)] = &[
    ("preview.toml", include_str!("../../assets/recipes/preview.toml")),
    ("quick.toml", include_str!("../../assets/recipes/quick.toml")),
    ("render.toml", include_str!("../../assets/recipes/render.toml")),
];

/// A recipe file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The folder or a file in it cannot be read.
    #[error("a recipe cannot be read: {source}. Check the rights on {path}")]
    Read {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML, or a key that no recipe has. The source names the line.
    #[error("a recipe is wrong: {source}\nin {path}")]
    Parse {
        /// Where.
        path: PathBuf,
        /// Why, with line and column.
        source: Box<toml::de::Error>,
    },
    /// The stages are not a subsequence of the seven.
    #[error(
        "a recipe's stages are out of order or incomplete: start with ingest and inspect, end with publish and cleanup, each stage once. In {path}"
    )]
    StageOrder {
        /// Where.
        path: PathBuf,
    },
    /// A stage names more limits than are kept.
    #[error(
        "a recipe's stage {stage} names too many semaphores, rates or programs: at most {max} of each. In {path}",
        max = limits::NEEDS_PER_STAGE
    )]
    TooManyLimits {
        /// Where.
        path: PathBuf,
        /// Which.
        stage: Stage,
    },
    /// A setting is out of bounds.
    #[error("a recipe's {source}. In {path}")]
    Setting {
        /// Where.
        path: PathBuf,
        /// Which.
        source: SettingError,
    },
}

/// All recipes by name.
#[derive(Debug, Clone)]
pub struct Library {
    recipes: BTreeMap<String, Recipe>,
}

impl Library {
    /// The shipped recipes, then those of `folder` (which may be absent); an own one replaces a
    /// shipped one of its name.
    pub fn load(folder: Option<&Path>) -> Result<Self, LibraryError> {
        let mut recipes = BTreeMap::new();
        for (name, text) in SHIPPED {
            let recipe = parse(text, Path::new(name))?;
            recipes.insert(recipe.name.clone(), recipe);
        }
        for path in folder.map(own_files).transpose()?.unwrap_or_default() {
            let text = std::fs::read_to_string(&path)
                .map_err(|source| LibraryError::Read { path: path.clone(), source })?;
            let recipe = parse(&text, &path)?;
            recipes.insert(recipe.name.clone(), recipe);
        }
        Ok(Self { recipes })
    }

    /// The recipe with this name.
    pub fn get(&self, name: &str) -> Option<&Recipe> {
        self.recipes.get(name)
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.recipes.keys().map(String::as_str)
    }
}

fn own_files(folder: &Path) -> Result<Vec<PathBuf>, LibraryError> {
    let read_error = |source| LibraryError::Read { path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(read_error(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(read_error)?.path();
        if path.extension().is_some_and(|suffix| suffix == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn parse(text: &str, path: &Path) -> Result<Recipe, LibraryError> {
    let recipe: Recipe = toml::from_str(text).map_err(|source| LibraryError::Parse {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    let stages: Vec<Stage> = recipe.stages.iter().map(|rule| rule.stage).collect();
    let ordered = stages.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    let framed = stages.starts_with(&[Stage::Ingest, Stage::Inspect])
        && stages.ends_with(&[Stage::Publish, Stage::Cleanup]);
    if !(ordered && framed) {
        return Err(LibraryError::StageOrder { path: path.to_owned() });
    }
    let most = limits::NEEDS_PER_STAGE;
    let crowded = |rule: &&StageRule| {
        rule.semaphores.len() > most || rule.rates.len() > most || !rule.requires.is_bounded()
    };
    if let Some(rule) = recipe.stages.iter().find(crowded) {
        return Err(LibraryError::TooManyLimits { path: path.to_owned(), stage: rule.stage });
    }
    recipe
        .settings
        .check()
        .and_then(|()| {
            recipe
                .stages
                .iter()
                .filter_map(|rule| rule.retry.as_ref())
                .try_for_each(retry::RetryRules::check)
        })
        .map_err(|source| LibraryError::Setting { path: path.to_owned(), source })?;
    Ok(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_recipes_load_and_the_default_is_one_of_them() {
        let library = Library::load(None).map_err(|error| error.to_string());
        assert!(library.is_ok_and(|library| library.get(DEFAULT_RECIPE).is_some()));
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let text = "name = 'x'\ndescription = 'x'\ncolour = 1\nstages = []\n";
        let error = parse(text, Path::new("x.toml")).map_err(|error| error.to_string());
        assert!(
            error.as_ref().is_err_and(|text| text.contains("line 3") && text.contains("colour")),
            "{error:?}"
        );
    }

    const WHOLE: &str = "name='x'\ndescription='x'\n[[stages]]\nstage='ingest'\n\
        [[stages]]\nstage='inspect'\n[[stages]]\nstage='publish'\n[[stages]]\nstage='cleanup'\n";

    #[test]
    fn a_stage_names_its_limits_and_without_any_the_profile_stays() {
        let plain = parse(WHOLE, Path::new("x")).unwrap();
        let text = serde_json::to_string(&plain).unwrap();
        assert!(!text.contains("semaphores") && !text.contains("rates"), "{text}");
        let with = format!("{WHOLE}semaphores = ['licence.ffmpeg']\nrates = ['storage']\n");
        let with = parse(&with, Path::new("x")).unwrap();
        let rule = with.rule(Stage::Cleanup).unwrap();
        assert!(rule.semaphores.contains(&"licence.ffmpeg".parse().unwrap()));
        assert_eq!(rule.rates.len(), 1);
        let names: Vec<_> = (0..=limits::NEEDS_PER_STAGE).map(|n| format!("'s{n}'")).collect();
        let many = format!("{WHOLE}semaphores = [{}]\n", names.join(", "));
        assert!(matches!(
            parse(&many, Path::new("x")),
            Err(LibraryError::TooManyLimits { stage: Stage::Cleanup, .. })
        ));
    }

    #[test]
    fn retries_of_a_stage_are_read_and_checked_and_shipped_recipes_have_none() {
        let shipped = SHIPPED.iter().find(|(name, _)| *name == "quick.toml");
        let text = shipped.map(|(_, text)| *text).unwrap_or_default();
        let render = |attempts: u32| {
            let table =
                format!("stage = \"render\"\n[stages.retry.unknown]\nattempts = {attempts}\n");
            parse(&text.replace("stage = \"render\"\ntimeout_s = 600", &table), Path::new("x"))
        };
        let changed = render(5).unwrap();
        let rule = changed.rule(Stage::Render).and_then(|rule| rule.retry.clone());
        assert_eq!(rule.and_then(|rules| rules.unknown).and_then(|one| one.attempts), Some(5));
        assert!(matches!(render(51), Err(LibraryError::Setting { .. })));
        let library = Library::load(None).unwrap();
        let written = serde_json::to_string(library.get("quick").unwrap()).unwrap();
        assert!(!written.contains("retry"), "the profile of a shipped recipe must not change");
    }

    #[test]
    fn stages_out_of_order_are_refused() {
        let text =
            "name='x'\ndescription='x'\n[[stages]]\nstage='inspect'\n[[stages]]\nstage='ingest'\n";
        assert!(matches!(parse(text, Path::new("x")), Err(LibraryError::StageOrder { .. })));
    }
}
