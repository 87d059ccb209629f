//! Scenes on shared storage are read where they lie, by workers that see them.

use super::{farm, painter, paints, pictures, submit};
use crate::farm::jobs_created;
use sawah::model::Stage;
use sawah::protocol::event::{Change, Event};
use sawah::protocol::why::{Why, WhyCode};
use std::fs;

#[tokio::test]
async fn a_scene_is_read_where_it_lies_and_by_nobody_who_does_not_see_it() {
    let (farm, _serve) = farm("in-place", &[("plain", "")]).await;
    let scene = painter(&farm);
    let folder = scene.parent().expect("it has a folder").display().to_string();
    let settings = format!("[[worker.paths]]\nfrom = 'P:\\proj'\nto = '{folder}'\n");
    fs::write(farm.new_folder("config/sawah").join("settings.toml"), settings).expect("settings");
    let _worker = farm.worker("linux");
    let mut events = farm.events(0).await;
    let options = ["--renderer", "command", "--frames", "1-2", "--recipe", "plain"];
    let options = [&options[..], &["--set", "expect=frames"]].concat();
    let said = |more: &[&'static str]| [&options[..], more].concat();

    let here = submit(&farm, &scene, &said(&["--in-place"]), &paints("plain", None)).await;
    let mapped = said(&["--name", "mapped", "--set", r"at=p:/PROJ/draw.py"]);
    let mapped = submit(&farm, &scene, &mapped, &paints("plain", None)).await;
    for ran in [here, mapped] {
        let pipeline = ran.expect_code(0).pipeline();
        events.until_succeeded(pipeline).await;
        assert_eq!(pictures(&farm.pipeline(pipeline).await).len(), 2);
    }

    let unseen = said(&["--name", "unseen", "--set", r"at=Q:\proj\draw.py"]);
    let unseen = submit(&farm, &scene, &unseen, &paints("plain", None)).await;
    let pipeline = unseen.expect_code(0).pipeline();
    let is_its = |event: &Event| {
        matches!(event.change,
            Change::JobCreated { pipeline: of, stage: Stage::Inspect, .. } if of == pipeline)
    };
    events.until("the inspect job", is_its).await;
    let created = jobs_created(&farm.history().await, pipeline, Stage::Inspect);
    let inspect = created.first().expect("it was created");
    let why: Why = farm.get(&format!("/v1/jobs/{inspect}/why")).await;
    let codes: Vec<_> =
        why.workers.iter().flat_map(|worker| &worker.reasons).map(|reason| reason.code).collect();
    assert_eq!(codes, [WhyCode::LacksFolder], "{why:?}");
}
