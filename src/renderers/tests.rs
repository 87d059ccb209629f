//! The parts one by one.

use super::pattern::Pattern;
use super::placeholder::Placeholder;
use super::template::{Template, TemplateError};
use super::*;
use crate::model::{Reason, limits};
use std::path::Path;
use std::sync::Arc;

const WHOLE: &str = "name = 'own'\ntitle = 'Own'\ndescription = 'x'\n\
    [program]\nnames = ['own']\n\
    [command]\nunit = 'run'\npadding = { style = 'hashes' }\n\
    arguments = ['-i', '{scene}', ['-t', '{threads}'], '-s', '{start}', '-e', '{end}']\n";

fn parsed(text: &str) -> Result<Profile, String> {
    library::parse(text, Path::new("own.toml")).map_err(|error| error.to_string())
}

fn shipped(name: &str) -> Arc<Profile> {
    Library::load(None).unwrap().get(name).unwrap()
}

fn values(frames: &str, texts: &[(Placeholder, &str)]) -> Values {
    let mut values = Values::default();
    values.set_frames(frames.parse().unwrap());
    for (place, text) in texts {
        values.set(*place, text).unwrap();
    }
    values
}

#[test]
fn wrong_profiles_are_refused_with_file_and_line() {
    assert!(parsed(WHOLE).is_ok(), "{:?}", parsed(WHOLE));
    for (more, line, word) in [
        ("colour = 1\n", 10, "colour"),
        ("[log]\nstrip = ['(']\n", 11, "regular expression"),
        ("[log]\nstrip = ['a*']\n", 11, "every line"),
        ("[log]\nstrip = ['(?:\\w{900}){900}']\n", 11, "regular expression"),
        ("[log]\nprogress = [{ tells = 'frame', pattern = 'Fra' }]\n", 11, "frame"),
        ("[log]\nprogress = [{ tells = 'frame', pattern = '(?<frame>1)(?<x>2)' }]\n", 11, "frame"),
        ("[[log.error]]\nreason = 'no.such'\nmessage = 'x'\npattern = 'x'\n", 11, "no.such"),
        ("[environment]\nset = { A = '{nope}' }\n", 11, "nope"),
        ("[environment]\nset = { A = '{scene' }\n", 11, "brace"),
    ] {
        let error = parsed(&format!("{WHOLE}{more}")).err().unwrap_or_default();
        for part in [format!("line {line}").as_str(), word, "own.toml"] {
            assert!(error.contains(part), "{more:?} lacks {part}: {error}");
        }
    }
    let other = library::parse(WHOLE, Path::new("other.toml")).unwrap_err().to_string();
    assert!(other.contains("'own'") && other.contains("'other'"), "{other}");
    let twice = format!("{WHOLE}[[exit]]\ncode = 0\nreason = 'unexpected'\nmessage = 'x'\n");
    assert!(parsed(&twice).is_err());
    let probe = WHOLE.replace("['own']", "['own']\nprobe = { arguments = [], version = 'v' }");
    assert!(parsed(&probe).is_err_and(|error| error.contains("'version'")));
}

#[test]
fn a_users_own_profile_replaces_a_shipped_one_and_a_large_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let own = WHOLE.replace("'own'\ntitle", "'nuke'\ntitle");
    std::fs::write(folder.path().join("nuke.toml"), own).unwrap();
    let library = Library::load(Some(folder.path())).unwrap();
    assert_eq!(library.get("nuke").unwrap().title, "Own");
    assert!(library.get("blender").is_some());
    let bytes = usize::try_from(limits::PROFILE_BYTES).unwrap() + 1;
    std::fs::write(folder.path().join("large.toml"), " ".repeat(bytes)).unwrap();
    assert!(matches!(Library::load(Some(folder.path())), Err(LibraryError::TooLarge { .. })));
    assert!(Library::load(Some(&folder.path().join("absent"))).is_ok());
}

#[test]
fn templates_keep_braces_and_refuse_what_they_do_not_know() {
    let filled = Template::parse("a{{b}}{scene}").unwrap().fill(|_| Some("S".to_owned()));
    assert_eq!(filled, Ok("a{b}S".to_owned()));
    assert_eq!(Template::parse("}"), Err(TemplateError::LoneBrace));
    assert_eq!(
        Template::parse("x{arguments}"),
        Err(TemplateError::ListInText(Placeholder::Arguments))
    );
}

#[test]
fn commands_are_made_of_values_and_groups_without_value_are_left_out() {
    let blender = shipped("blender");
    let texts = [(Placeholder::Scene, "/p/a b.blend"), (Placeholder::Out, "/o/f_")];
    let made = blender.invocation("blender", &values("1,3-5,9", &texts)).unwrap();
    assert_eq!(
        made.arguments,
        [
            "-b",
            "/p/a b.blend",
            "-noaudio",
            "--python-exit-code",
            "7",
            "-o",
            "/o/f_####",
            "-x",
            "1",
            "-f",
            "1,3..5,9"
        ]
    );
    let mut more = values("7", &texts);
    more.set(Placeholder::Engine, "CYCLES").unwrap();
    let made = blender.invocation("blender", &more).unwrap();
    assert!(made.arguments.windows(2).any(|pair| pair == ["-E", "CYCLES"]), "{made:?}");
    more.set(Placeholder::Samples, "64").unwrap();
    let made = blender.invocation("blender", &more).unwrap();
    let script = |text: &String| text.contains("(o, n, 64)") && !text.contains('{');
    assert!(made.arguments.iter().any(script), "{made:?}");
    let missing = blender.invocation("blender", &values("1", &texts[..1])).unwrap_err();
    assert!(missing.to_string().contains("{out}"), "{missing}");
    let low = blender.invocation("blender", &values("-3-1", &texts)).unwrap_err();
    assert!(matches!(low, CommandError::LowFrame { least: 0, .. }), "{low}");
    let every = texts.iter().chain(&[(Placeholder::Suffix, ".png")]).copied().collect::<Vec<_>>();
    let kick = shipped("arnold-kick");
    assert!(kick.invocation("kick", &values("1-2", &every)).is_err());
    let made = kick.invocation("kick", &values("7", &every)).unwrap();
    assert!(made.arguments.contains(&"/o/f_.0007.png".to_owned()), "{made:?}");
    let nuke = shipped("nuke").invocation("nuke", &values("1-3", &texts[..1])).unwrap();
    assert!(nuke.remove.contains("LD_LIBRARY_PATH"));
}

#[test]
fn runs_that_a_program_cannot_be_given_are_refused() {
    let texts = [
        (Placeholder::Scene, "a.pov"),
        (Placeholder::Out, "f"),
        (Placeholder::Suffix, ".png"),
        (Placeholder::First, "1"),
        (Placeholder::Last, "100"),
    ];
    let povray = shipped("povray");
    let made = povray.invocation("povray", &values("6-4", &texts)).unwrap();
    assert!(made.arguments.ends_with(&["+SF4".into(), "+EF6".into(), "-D".into()]), "{made:?}");
    for wrong in ["1-9x2", "1,2,5"] {
        let error = povray.invocation("povray", &values(wrong, &texts)).unwrap_err();
        assert!(matches!(error, CommandError::Frames { .. }), "{wrong}: {error}");
    }
    assert_eq!(povray.command.padding.file_name("f", 4, 100, ".png"), "f004.png");
    let film =
        [(Placeholder::Fps, "24"), (Placeholder::Input, "f_"), (Placeholder::Container, "mp4")];
    let film = [&texts[..3], &film].concat();
    let ffmpeg = shipped("ffmpeg");
    let made = ffmpeg.invocation("ffmpeg", &values("3-6", &film)).unwrap();
    assert!(made.arguments.windows(2).any(|pair| pair == ["-frames:v", "4"]), "{made:?}");
    let error = ffmpeg.invocation("ffmpeg", &values("1-9x2", &film)).unwrap_err();
    assert!(matches!(error, CommandError::Leaps { .. }), "{error}");
}

#[test]
fn values_cannot_pose_as_options_and_lists_stay_lists() {
    let mut values = Values::default();
    for (place, text) in [
        (Placeholder::Scene, "-x"),
        (Placeholder::Scene, ""),
        (Placeholder::Camera, "a\nb"),
        (Placeholder::Threads, "0"),
        (Placeholder::Threads, "1; rm"),
        (Placeholder::Start, "1"),
        (Placeholder::Arguments, "x"),
    ] {
        assert!(values.set(place, text).is_err(), "{place} {text:?}");
    }
    values.set(Placeholder::Program, "/bin/echo").unwrap();
    values.set_arguments(vec!["-a".to_owned(), "b c; d".to_owned()]).unwrap();
    let made = shipped("command").invocation("", &values).unwrap();
    assert_eq!((made.program.as_str(), made.arguments.len()), ("/bin/echo", 2));
    assert!(values.set_arguments(vec!["a\0b".to_owned()]).is_err());
}

#[test]
fn file_names_follow_the_programs_padding() {
    let name =
        |profile: &str, frame| shipped(profile).command.padding.file_name("a", frame, 9, ".x");
    assert_eq!(name("blender", 7), "a0007.x");
    assert_eq!(name("maya", 7), "a.0007.x");
    assert_eq!(name("maya", 12_345), "a.12345.x");
    assert_eq!(name("ffmpeg", -3), "a-003.x");
    assert_eq!(name("husk", -3), "a.-0003.x");
}

#[test]
fn long_lines_and_broken_text_are_bounded_and_read_on() {
    let mut log = vec![b'x'; limits::LOG_LINE_BYTES * 3];
    log.extend(b"\n\xff\xfe Fra\n\x1b[31mFra:3 Mem:1M\x1b[0m | Sample 1/2\r\nError: Cannot render, no camera");
    let mut reader = LogReader::new(shipped("blender"));
    let mut events = reader.push(&log);
    assert!(events.contains(&Event::Frame { frame: 3 }), "{events:?}");
    assert!(events.contains(&Event::FrameShare { share: 0.5 }), "{events:?}");
    events = reader.finish();
    assert!(matches!(events.as_slice(), [Event::Error { reason: Reason::CameraMissing, .. }]));
    let mut seen = Vec::new();
    let mut lines = lines::Lines::default();
    lines.push(&log, |line| seen.push(line.len()));
    assert_eq!(seen.first(), Some(&limits::LOG_LINE_BYTES));
}

#[test]
fn warnings_are_kept_once_and_at_most_so_many() {
    let profile = shipped("blender");
    let mut run = Run::new(Arc::clone(&profile), None);
    let mut reader = LogReader::new(profile);
    for number in 0..limits::WARNINGS_PER_JOB * 2 {
        let line = format!("Warning: Unable to open '/lib/{number}.blend'\n");
        reader.push(line.repeat(2).as_bytes()).iter().for_each(|event| run.apply(event));
    }
    assert_eq!(run.warnings().len(), limits::WARNINGS_PER_JOB);
    assert!(run.warnings_dropped() > 0);
}

#[test]
fn a_failure_keeps_the_line_that_says_it() {
    let profile = shipped("command");
    let mut run = Run::new(Arc::clone(&profile), None);
    let mut reader = LogReader::new(profile);
    reader.push(b"openjd_fail: no cache\n").iter().for_each(|event| run.apply(event));
    let failure = run.verdict(Exit::Code(0)).unwrap_err();
    assert_eq!(failure.message, "the program says that it failed: no cache");
    assert_eq!(failure.evidence.as_deref(), Some("openjd_fail: no cache"));
}

fn verdict(profile: &str, frames: &str, log: &str, exit: i32) -> Result<(), RunFailure> {
    let profile = shipped(profile);
    let mut run = Run::new(Arc::clone(&profile), Some(frames.parse().unwrap()));
    let mut reader = LogReader::new(profile);
    reader.push(log.as_bytes()).iter().for_each(|event| run.apply(event));
    reader.finish().iter().for_each(|event| run.apply(event));
    run.verdict(Exit::Code(exit))
}

#[test]
fn an_error_of_python_is_told_by_the_line_that_names_it() {
    let head = "Traceback (most recent call last):\n  File \"a.py\", line 1\n    wood()\n";
    for (profile, log, evidence) in [
        ("command", format!("{head}ValueError: no wood\nbye\n"), "ValueError: no wood"),
        ("command", format!("{head}ValueError: no wood"), "ValueError: no wood"),
        ("command", head.to_owned(), "Traceback (most recent call last):"),
        (
            "blender",
            format!("Error: Python: {head}KeyError: 'wood'\n\nBlender quit\n"),
            "KeyError: 'wood'",
        ),
    ] {
        let failure = verdict(profile, "1", &log, 0).unwrap_err();
        assert_eq!(failure.reason, Reason::ScriptError);
        assert_eq!(failure.evidence.as_deref(), Some(evidence), "{log}");
    }
}

#[test]
fn a_program_that_counts_its_frames_must_have_counted_all() {
    let log = |count: u32| format!("frame={count}\nprogress=end\n");
    assert_eq!(verdict("ffmpeg", "3-8", &log(6), 0), Ok(()));
    let failure = verdict("ffmpeg", "3-8", &log(2), 0).unwrap_err();
    assert_eq!(failure.reason, Reason::ReferenceMissing);
    assert!(failure.message.contains("2 of 6 frames") && failure.message.contains("frame 5"));
}

#[test]
fn versions_are_read_from_what_a_program_says() {
    let read = |name: &str, text: &str| shipped(name).program.probe.as_ref()?.read(text);
    let is = |name, text, version: &str| assert_eq!(read(name, text).as_deref(), Some(version));
    is("blender", "Blender 4.2.1 LTS\n\tbuild date: x", "4.2.1");
    is("ffmpeg", "ffmpeg version 5.1.9-0+deb12u1 Copyright", "5.1.9-0+deb12u1");
    is("povray", "povray: cannot open\nPOV-Ray 3.7.0.10.unofficial\n", "3.7.0.10.unofficial");
    assert_eq!(read("blender", "nothing"), None);
}

#[test]
fn patterns_are_cut_off_only_where_they_begin() {
    let pattern = Pattern::new("ab").unwrap();
    assert_eq!((pattern.strip("abc"), pattern.strip("cab")), ("c", "cab"));
    assert!(Pattern::new(&"a".repeat(limits::PATTERN_BYTES + 1)).is_err());
}
