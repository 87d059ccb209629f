//! The HTTP interface: a token on every call, every route in the document, refusals with words.

use crate::farm::{Farm, answer, problem};
use crate::inputs::picture;
use reqwest::{Method, StatusCode};
use sawah::model::{Checksum, Reason};
use sawah::protocol::problem::ProblemCode;
use sawah::protocol::submit::{Order, SourceFile, Submission};
use sawah::recipes::Recipe;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Every route, its parameters as `{}`.
const ROUTES: [(&str, &str); 51] = [
    ("POST", "/v1/sessions"),
    ("DELETE", "/v1/sessions/{}"),
    ("POST", "/v1/sessions/{}/heartbeat"),
    ("POST", "/v1/sessions/{}/claim"),
    ("POST", "/v1/sessions/{}/reports"),
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/{}"),
    ("GET", "/v1/jobs/{}/log"),
    ("POST", "/v1/jobs/{}/start"),
    ("POST", "/v1/jobs/{}/complete"),
    ("POST", "/v1/jobs/{}/fail"),
    ("POST", "/v1/jobs/{}/release"),
    ("POST", "/v1/jobs/{}/keep"),
    ("POST", "/v1/jobs/{}/log"),
    ("PUT", "/v1/artifacts/{}"),
    ("HEAD", "/v1/artifacts/{}"),
    ("GET", "/v1/artifacts/{}"),
    ("POST", "/v1/pipelines"),
    ("POST", "/v1/pipelines/batch"),
    ("GET", "/v1/pipelines"),
    ("GET", "/v1/pipelines/{}"),
    ("POST", "/v1/pipelines/{}/cancel"),
    ("GET", "/v1/dead-letters"),
    ("GET", "/v1/dead-letters/{}"),
    ("POST", "/v1/dead-letters/replay"),
    ("POST", "/v1/dead-letters/dismiss"),
    ("POST", "/v1/workers/{}/forgive"),
    ("POST", "/v1/dead-letters/{}/replay"),
    ("POST", "/v1/dead-letters/{}/dismiss"),
    ("GET", "/v1/controls"),
    ("PUT", "/v1/controls"),
    ("GET", "/v1/limits"),
    ("PUT", "/v1/limits"),
    ("GET", "/v1/jobs/{}/why"),
    ("GET", "/v1/workers"),
    ("GET", "/v1/snapshot"),
    ("GET", "/v1/status"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/watch"),
    ("POST", "/v1/watch"),
    ("GET", "/v1/watch/{}"),
    ("PUT", "/v1/watch/{}"),
    ("DELETE", "/v1/watch/{}"),
    ("POST", "/v1/watch/{}/orders"),
    ("GET", "/v1/watch/{}/files"),
    ("GET", "/v1/watch/{}/files/{}"),
    ("GET", "/v1/recipes"),
    ("GET", "/v1/events"),
    ("GET", "/v1/openapi.json"),
    ("GET", "/v1/nothing"),
    ("GET", "/"),
];

/// Routes at the end of [`ROUTES`] that do not exist; they tell a stranger nothing either.
const ABSENT: usize = 2;

/// A path whose parameters name nothing that exists.
fn filled(route: &str) -> String {
    let parameter = if route.contains("/sessions/") {
        "0".repeat(32)
    } else if route.contains("/artifacts/") {
        "0".repeat(64)
    } else {
        "999999".to_owned()
    };
    route.replace("{}", &parameter)
}

fn method(name: &str) -> Method {
    name.parse().expect("it is a method")
}

#[tokio::test]
async fn the_document_lists_exactly_the_routes() {
    let mut farm = Farm::new("openapi");
    let _serve = farm.serve().await;
    let document: Value = farm.get("/v1/openapi.json").await;
    let paths = document["paths"].as_object().expect("the document has paths");
    let listed: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
            let path = parts.collect::<Vec<_>>().join("/");
            let methods = item.as_object().expect("a path has methods").keys();
            let methods = methods.filter(|key| key.parse::<Method>().is_ok() && key.len() <= 6);
            methods.map(move |key| (key.to_uppercase(), path.clone())).collect::<Vec<_>>()
        })
        .collect();
    let expected: BTreeSet<(String, String)> = ROUTES[..ROUTES.len() - ABSENT]
        .iter()
        .filter(|(_, path)| *path != "/v1/openapi.json")
        .map(|(method, path)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    let listed: BTreeSet<_> =
        listed.into_iter().filter(|(_, path)| path != "/v1/openapi.json").collect();
    assert_eq!(listed, expected);
    let schemas = document["components"]["schemas"].as_object().expect("it has schemas");
    for name in ["Assignment", "Event", "PipelineDetail", "Problem", "Submission"] {
        assert!(schemas.contains_key(name), "no schema of {name}");
    }
}

#[tokio::test]
async fn every_call_needs_the_token() {
    let mut farm = Farm::new("token");
    let _serve = farm.serve().await;
    for (verb, route) in ROUTES {
        let call = || farm.bare_request(method(verb), &filled(route));
        let wrong = "f".repeat(64);
        let calls = [
            ("without a token", call()),
            ("with a wrong token", call().bearer_auth(&wrong)),
            ("with an empty token", call().header("authorization", "Bearer ")),
            ("with another scheme", call().basic_auth("sawah", Some(&wrong))),
        ];
        for (how, call) in calls {
            let (status, body) = answer(call).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{verb} {route} {how}: {body}");
            // An answer to HEAD has no body.
            assert_eq!(body.contains("unauthorized"), verb != "HEAD", "{verb} {route}: {body}");
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let token = std::fs::metadata(farm.folder().join("token")).expect("there is a token");
        assert_eq!(token.permissions().mode() & 0o077, 0, "only its owner reads the token");
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_with_404() {
    let mut farm = Farm::new("unknown-ids");
    let _serve = farm.serve().await;
    let order = Order { actor: "operator test".to_owned(), reason: "test".to_owned() };
    for (verb, route) in [
        ("GET", "/v1/jobs/{}"),
        ("GET", "/v1/jobs/{}/log"),
        ("GET", "/v1/jobs/{}/why"),
        ("GET", "/v1/pipelines/{}"),
        ("POST", "/v1/pipelines/{}/cancel"),
        ("POST", "/v1/dead-letters/{}/replay"),
        ("POST", "/v1/dead-letters/{}/dismiss"),
        ("GET", "/v1/artifacts/{}"),
        ("GET", "/v1/nothing"),
        ("POST", "/v1/status/nothing"),
    ] {
        let mut request = farm.request(method(verb), &filled(route));
        if verb == "POST" {
            request = request.json(&order);
        }
        let (status, problem) = problem(request).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{verb} {route}: {problem:?}");
        assert_eq!(problem.code, ProblemCode::NotFound, "{verb} {route}: {problem:?}");
    }
    for (verb, path) in [
        ("GET", "/v1/jobs/seven"),
        ("GET", "/v1/jobs?state=asleep"),
        ("GET", "/v1/artifacts/..%2f..%2ftoken"),
        ("GET", "/v1/artifacts/00"),
    ] {
        let (status, problem) = problem(farm.request(method(verb), path)).await;
        assert!(status.is_client_error(), "{verb} {path}: {status} {problem:?}");
    }
    let (status, problem) = problem(
        farm.request(Method::POST, "/v1/pipelines")
            .body("{")
            .header("content-type", "application/json"),
    )
    .await;
    assert!(status.is_client_error(), "{status} {problem:?}");
    assert_eq!(problem.code, ProblemCode::Invalid);
}

#[tokio::test]
async fn bytes_are_kept_by_their_checksum_and_read_in_parts() {
    let mut farm = Farm::new("artifacts");
    let _serve = farm.serve().await;
    let bytes = b"0123456789";
    let path = format!("/v1/artifacts/{}", Checksum::of(bytes));
    let put = |path: &str, bytes: &'static [u8]| farm.request(Method::PUT, path).body(bytes);
    assert_eq!(answer(put(&path, bytes)).await.0, StatusCode::CREATED);
    assert_eq!(answer(put(&path, bytes)).await.0, StatusCode::OK, "known already");

    let wrong = format!("/v1/artifacts/{}", Checksum::of(b"something else"));
    let (status, refusal) = problem(put(&wrong, bytes)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refusal:?}");
    let (status, _) = answer(farm.request(Method::HEAD, &wrong)).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "refused bytes are not kept");
    assert_eq!(
        crate::farm::files_under(&farm.folder().join("incoming")),
        Vec::<std::path::PathBuf>::new()
    );

    let response = farm.request(Method::HEAD, &path).send().await.expect("an answer");
    assert_eq!(response.status(), StatusCode::OK);
    let length = response.headers().get("content-length").and_then(|value| value.to_str().ok());
    assert_eq!(length, Some("10"));

    for (range, part, content_range) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
    ] {
        let request = farm.request(Method::GET, &path).header("range", range);
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT, "{range}");
        let told = response.headers().get("content-range").and_then(|value| value.to_str().ok());
        assert_eq!(told, Some(content_range), "{range}");
        assert_eq!(response.text().await.expect("a body"), part, "{range}");
    }
    let (status, _) = answer(farm.request(Method::GET, &path).header("range", "bytes=10-")).await;
    assert_eq!(status, StatusCode::RANGE_NOT_SATISFIABLE);
    let (status, body) = answer(farm.request(Method::GET, &path)).await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "0123456789"));
}

#[tokio::test]
async fn a_submission_that_cannot_be_done_is_refused_whole() {
    let mut farm = Farm::new("submission");
    let _serve = farm.serve().await;
    let path = picture(&farm.new_folder("source").join("leaf.png"), 16, 16);
    let bytes = std::fs::read(path).expect("it can be read");
    let checksum = Checksum::of(&bytes);
    let good = Submission {
        asset: "leaf".parse().expect("it is a name"),
        source_ref: "leaf.png".to_owned(),
        main_file: "leaf.png".to_owned(),
        sequence: false,
        files: vec![SourceFile {
            name: "leaf.png".to_owned(),
            checksum,
            size_bytes: bytes.len() as u64,
        }],
        missing: Vec::new(),
        recipe: None,
        settings: BTreeMap::new(),
        actor: "operator test".to_owned(),
        project: None,
        priority: None,
    };
    let (status, refusal) = farm.refused("/v1/pipelines", &good).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "the bytes are not there: {refusal:?}");

    let put = farm.request(Method::PUT, &format!("/v1/artifacts/{checksum}")).body(bytes);
    assert_eq!(answer(put).await.0, StatusCode::CREATED);
    let change = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    let file = |name: &str| vec![SourceFile { name: name.to_owned(), ..good.files[0].clone() }];
    let bad = [
        ("recipe", Submission { recipe: Some("no-such".to_owned()), ..good.clone() }),
        ("setting", Submission { settings: change("still_pxx", "64"), ..good.clone() }),
        ("value", Submission { settings: change("still_px", "-1"), ..good.clone() }),
        ("main file", Submission { main_file: "other.png".to_owned(), ..good.clone() }),
        ("no files", Submission { files: Vec::new(), ..good.clone() }),
        (
            "two of one name",
            Submission { files: [file("leaf.png"), file("leaf.png")].concat(), ..good.clone() },
        ),
        (
            "a name that leaves the folder",
            Submission {
                main_file: "../leaf.png".to_owned(),
                files: file("../leaf.png"),
                ..good.clone()
            },
        ),
        (
            "a full path",
            Submission {
                main_file: "/leaf.png".to_owned(),
                files: file("/leaf.png"),
                ..good.clone()
            },
        ),
    ];
    for (what, submission) in bad {
        let (status, refusal) = farm.refused("/v1/pipelines", &submission).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{what}: {refusal:?}");
        if matches!(what, "setting" | "value") {
            assert_eq!(refusal.reason, Some(Reason::SettingInvalid), "{what}: {refusal:?}");
        }
    }
    assert!(farm.history().await.is_empty(), "nothing was begun");
    let recipes: Vec<Recipe> = farm.get("/v1/recipes").await;
    let names: Vec<_> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    assert_eq!(names, ["preview", "quick", "render"]);
}
