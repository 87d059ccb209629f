//! Names of every kind, and names that are one on other systems.

use super::bench::{Bench, SETTLE_MS, png};
use crate::model::Reason;
use crate::protocol::watch::WatchFileState;
use std::ffi::OsString;

#[cfg(target_os = "linux")]
#[test]
pub(super) fn names_of_every_kind_are_taken_and_each_is_shown_in_its_own_way() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bench = Bench::new();
    let mut names: Vec<OsString> = [
        "with spaces .png",
        "it's \"quoted\".png",
        "\u{1f409} dragon.png",
        "two\nlines.png",
        "back\\slash.png",
        "-rf.png",
        "$(reboot).png",
        "per%cent.png",
        "tab\there.png",
        "\u{202e}gnp.png",
    ]
    .map(OsString::from)
    .into();
    names.push(OsString::from_vec(b"caf\xe9.png".to_vec()));
    names.push(OsString::from(format!("{}.png", "n".repeat(251))));
    names.push(OsString::from(format!("{}.png", "\u{9f8d}".repeat(83))));
    for (number, name) in (0..).zip(&names) {
        bench.write(name, png(number));
    }
    bench.run_ms(3 * SETTLE_MS);
    let files = bench.files();
    assert_eq!(files.len(), names.len());
    let other = files.iter().find(|file| file.state != WatchFileState::Accepted);
    assert_eq!(other, None);
    assert!(files.iter().all(|file| !file.path.contains(['\n', '\t', '\u{202e}'])));
    assert!(files.iter().any(|file| file.path == "caf\\xe9.png"), "{files:#?}");
    assert_eq!((bench.pipelines(), bench.stored().len()), (names.len(), names.len()));
    bench.restart();
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!((bench.files().len(), bench.pipelines()), (names.len(), names.len()));
}

#[test]
pub(super) fn a_note_about_the_longest_name_has_a_name_too() {
    let mut bench = Bench::new();
    let long = format!("{}.docx", "n".repeat(250));
    bench.write(&long, "words");
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state(&long), WatchFileState::Refused);
    let notes = std::fs::read_dir(bench.drop_in.path()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".sawah.txt")
    });
    assert_eq!(notes.count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
pub(super) fn of_two_names_that_are_one_elsewhere_the_second_is_refused_until_the_first_is_gone() {
    for (first, second) in
        [("Hero.png", "hero.png"), ("caf\u{e9}.png", "cafe\u{301}.png"), ("A/x.png", "a/x.png")]
    {
        let mut bench = Bench::new();
        bench.write(first, png(1));
        bench.run_ms(3 * SETTLE_MS);
        bench.write(second, png(2));
        bench.run_ms(3 * SETTLE_MS);
        let refused = bench.file(second);
        assert_eq!(refused.reason, Some(Reason::InputNameConflict), "{first} and {second}");
        assert!(refused.why.unwrap().contains("rename"), "it says what to do");
        assert_eq!(bench.state(first), WatchFileState::Accepted);
        assert!(!bench.is_stored(&png(2)));
        assert_eq!(std::fs::read(bench.path(first)).unwrap(), png(1), "nothing is overwritten");
        assert_eq!(std::fs::read(bench.path(second)).unwrap(), png(2));
        std::fs::remove_file(bench.path(first)).unwrap();
        bench.run_ms(3 * SETTLE_MS);
        assert_eq!(bench.state(second), WatchFileState::Accepted, "{first} and {second}");
        assert!(bench.is_stored(&png(2)));
    }
}

#[cfg(target_os = "linux")]
#[test]
pub(super) fn of_two_such_names_that_come_together_exactly_one_is_taken() {
    let mut bench = Bench::new();
    bench.write("Hero.png", png(1));
    bench.write("hero.png", png(2));
    bench.run_ms(4 * SETTLE_MS);
    let taken = bench.states().iter().filter(|it| it.1 == WatchFileState::Accepted).count();
    let refused = bench.states().iter().filter(|it| it.1 == WatchFileState::Refused).count();
    assert_eq!((taken, refused, bench.pipelines()), (1, 1, 1));
}
