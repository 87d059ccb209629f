use super::*;
use std::collections::BTreeMap;

fn load(file: &str, variables: &[(&str, &str)], flags: Flags) -> Result<Settings, SettingsError> {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folders = Folders { config: folder.path().to_owned(), data: PathBuf::from("/data") };
    std::fs::write(folders.settings_file(), file).expect("settings file");
    let variables: BTreeMap<String, OsString> =
        variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let defaults = Defaults { host: "paddy".to_owned(), cores: 8 };
    Settings::load(&folders, &|name| variables.get(name).cloned(), flags, &defaults)
}

fn refusal(file: &str, variables: &[(&str, &str)]) -> String {
    load(file, variables, Flags::default()).expect_err("refused").to_string()
}

#[test]
fn without_a_file_everything_is_by_default() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let folders = Folders { config: folder.path().join("none"), data: folder.path().to_owned() };
    let defaults = Defaults { host: "paddy".to_owned(), cores: 1 };
    let settings =
        Settings::load(&folders, &|_| None, Flags::default(), &defaults).expect("defaults");
    assert!(settings.table().iter().all(|(_, _, origin)| **origin == Origin::Default));
    assert_eq!(settings.worker_slots.value, 1);
    assert_eq!(settings.farm.value, folder.path().join("farm"));
}

#[test]
fn flags_win_over_environment_over_file() {
    let file = "# a studio\nlisten = '0.0.0.0:7000'\n[worker]\nslots = 3\nname = 'gold'\n";
    let flags = Flags { slots: Some(5), ..Flags::default() };
    let settings = load(
        file,
        &[("SAWAH_WORKER_SLOTS", "4"), ("SAWAH_WORKER_NAME", "silver"), ("SAWAH_FARM", "")],
        flags,
    )
    .expect("good settings");
    assert_eq!(settings.worker_slots, Setting { value: 5, origin: Origin::Flag("--slots") });
    assert_eq!(settings.worker_name.value, "silver");
    assert_eq!(settings.worker_name.origin, Origin::Environment("SAWAH_WORKER_NAME"));
    assert_eq!(settings.listen.value.port(), 7000);
    assert!(matches!(settings.listen.origin, Origin::File { line: 2, .. }));
    assert_eq!(settings.farm.origin, Origin::Default, "an empty variable is unset");
}

#[test]
fn an_unknown_key_is_refused_with_file_line_and_the_known_keys() {
    let text = refusal("[worker]\n\nslot = 3\n", &[]);
    for part in ["settings.toml", "line 3", "slots", "work_dir"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn values_out_of_bounds_are_refused_with_their_origin() {
    for (file, variable, part) in [
        ("lease_ms = 5", None, "1000 to 600000"),
        ("heartbeat_ms = 20000", None, "at least 3 heartbeats"),
        ("[worker]\nslots = 0", None, "line 2"),
        ("[worker]\nname = ' '", None, "worker.name"),
        ("[log]\nlevel = 'loud'", None, "loud"),
        ("", Some(("SAWAH_LISTEN", "nowhere")), "environment SAWAH_LISTEN"),
        ("", Some(("SAWAH_LEASE_MS", "-1")), "lease_ms"),
        ("", Some(("SAWAH_LOG_FORMAT", "xml")), "text or json"),
    ] {
        let text = refusal(file, variable.as_slice());
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_relative_farm_in_the_file_is_relative_to_the_file() {
    let settings = load("farm = 'here'", &[], Flags::default()).expect("good settings");
    assert!(settings.farm.value.is_absolute());
    assert!(settings.farm.value.ends_with("here"));
}

#[test]
fn webhooks_have_plain_addresses_and_none_by_default() {
    let none = load("", &[], Flags::default()).expect("defaults");
    assert!(none.webhooks().is_empty());
    let file = "[webhooks]\ndead_letter = 'http://chat:8080/sawah'\n";
    let one = load(file, &[], Flags::default()).expect("good settings");
    assert_eq!(one.webhooks().len(), 1);
    for bad in ["https://chat/x", "chat:8080", "http://", "http://a b"] {
        let refused = refusal("", &[("SAWAH_WEBHOOK_PUBLISHED", bad)]);
        assert!(refused.contains("webhooks.published"), "{bad}: {refused}");
    }
}
