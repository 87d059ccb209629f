//! Which recipe a file goes through: what was ordered, else what the rules say of its kind, else
//! the kind's own, else what the rules say of all.

use crate::intake::{FileKind, Plan, Refusal};
use crate::model::{AssetKind, Reason};
use crate::protocol::watch::WatchRules;
use crate::recipes::library::DEFAULT_RECIPE;
use crate::recipes::{Library, Recipe};
use std::collections::BTreeMap;

/// What a plan is, for the rules.
pub(super) fn asset_kind(kind: Option<FileKind>, plan: &Plan) -> AssetKind {
    match kind {
        _ if plan.sequence => AssetKind::Sequence,
        Some(FileKind::Scene) => AssetKind::Scene,
        Some(FileKind::Mesh) => AssetKind::Mesh,
        Some(FileKind::Image | FileKind::Side) | None => AssetKind::Image,
    }
}

/// The recipe with its settings, and the settings that were changed. A recipe for all kinds is not
/// used for scenes, which have one of their own.
pub(super) fn choose(
    recipes: &Library,
    rules: &WatchRules,
    kind: AssetKind,
    plan: &Plan,
    ordered: Option<&str>,
) -> Result<(Recipe, BTreeMap<String, String>), Refusal> {
    let by_kind = rules.recipes.get(&kind).map(String::as_str);
    let (own, of_all) = (plan.recipe.as_deref(), rules.recipe.as_deref());
    let name = ordered.or(by_kind).or(own).or(of_all).unwrap_or(DEFAULT_RECIPE);
    let refusal = |message: String| Refusal { reason: Reason::SettingInvalid, message };
    let recipe = recipes.get(name).ok_or_else(|| {
        refusal(format!("no recipe is called '{name}': change the watch folder's rules"))
    })?;
    let mut settings = plan.settings.clone();
    settings.extend(rules.settings.clone());
    let changed = recipe.settings.with_changes(&settings);
    let changed = changed.map_err(|error| refusal(format!("the recipe '{name}': {error}")))?;
    Ok((Recipe { settings: changed, ..recipe.clone() }, settings))
}
