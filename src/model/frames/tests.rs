use super::*;
use proptest::prelude::*;

fn read(text: &str, dialect: Dialect) -> Vec<i32> {
    match FrameList::parse(text, dialect) {
        Ok(parsed) => parsed.frames.as_slice().to_vec(),
        Err(error) => panic!("{error}"),
    }
}

fn refused(text: &str, dialect: Dialect) -> FrameError {
    match FrameList::parse(text, dialect) {
        Ok(parsed) => panic!("'{text}' was read as {}", parsed.frames),
        Err(error) => error,
    }
}

fn table(dialect: Dialect, rows: &[(&str, &[i32])]) {
    for (text, frames) in rows {
        assert_eq!(read(text, dialect), *frames, "{text}");
    }
}

#[test]
fn our_own_grammar() {
    table(
        Dialect::Sawah,
        &[
            ("1", &[1]),
            ("1-5", &[1, 2, 3, 4, 5]),
            ("1..3, 7", &[1, 2, 3, 7]),
            ("1-10x3", &[1, 4, 7, 10]),
            ("1-10y3", &[2, 3, 5, 6, 8, 9]),
            ("1-10:3", &[1, 4, 7, 10, 2, 3, 5, 6, 8, 9]),
            ("1-10:5", &[1, 6, 3, 5, 7, 9, 2, 4, 8, 10]),
            ("5-1", &[5, 4, 3, 2, 1]),
            ("10-1x2", &[10, 8, 6, 4, 2]),
            ("10-1x-2", &[10, 8, 6, 4, 2]),
            ("10-1x1", &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            ("-3--1", &[-3, -2, -1]),
            ("-1 - 1", &[-1, 0, 1]),
            ("7,3,5", &[7, 3, 5]),
            ("0010-0012", &[10, 11, 12]),
        ],
    );
}

#[test]
fn a_frame_is_taken_once_and_doubles_are_counted() {
    let parsed = FrameList::parse("1-3,2-5,1", Dialect::Sawah).unwrap();
    assert_eq!((parsed.frames.as_slice(), parsed.doubles), (&[1, 2, 3, 4, 5][..], 3));
    let coarse = FrameList::parse("1-9x4,1-9x2,1-9", Dialect::Deadline).unwrap();
    assert_eq!(coarse.frames.as_slice(), [1, 5, 9, 3, 7, 2, 4, 6, 8]);
}

#[test]
fn what_deadline_reads() {
    table(
        Dialect::Deadline,
        &[
            ("1-4", &[1, 2, 3, 4]),
            ("1:4", &[1, 2, 3, 4]),
            ("1-10x5", &[1, 6]),
            ("1:10:5", &[1, 6]),
            ("1-10 step 5", &[1, 6]),
            ("1-10 by 5", &[1, 6]),
            ("1-10 every 5", &[1, 6]),
            ("1 3 5", &[1, 3, 5]),
            ("1-2 8, 9", &[1, 2, 8, 9]),
            ("3-1", &[3, 2, 1]),
        ],
    );
}

#[test]
fn what_opencue_reads() {
    table(
        Dialect::OpenCue,
        &[
            ("1-10x3", &[1, 4, 7, 10]),
            ("1-10y3", &[2, 3, 5, 6, 8, 9]),
            ("10-1x-2", &[10, 8, 6, 4, 2]),
            ("1-10:3", &[1, 4, 7, 10, 2, 3, 5, 6, 8, 9]),
            ("-5--1", &[-5, -4, -3, -2, -1]),
            ("-5-10x5", &[-5, 0, 5, 10]),
            ("1-3,2-5", &[1, 2, 3, 4, 5]),
        ],
    );
    for bad in ["1-10x0", "1, 3", "1-10x-2", "1..3"] {
        refused(bad, Dialect::OpenCue);
    }
}

#[test]
fn what_flamenco_reads() {
    table(
        Dialect::Flamenco,
        &[
            ("1-3,20..22,40", &[1, 2, 3, 20, 21, 22, 40]),
            ("40,1-3", &[1, 2, 3, 40]),
            (" 3 - 5 ", &[3, 4, 5]),
        ],
    );
    for bad in ["1,,2", "-5", "1-10x2", "1 10", "10-1", "1,10-5"] {
        refused(bad, Dialect::Flamenco);
    }
}

#[test]
fn what_openjd_reads() {
    table(
        Dialect::OpenJd,
        &[
            ("1-10:2,20", &[1, 3, 5, 7, 9, 20]),
            ("1 - 3", &[1, 2, 3]),
            ("-3--1", &[-3, -2, -1]),
            ("1\t,\t2", &[1, 2]),
        ],
    );
    for bad in ["1-10:4,9-15", "1-10:4,10-15,9", "3-1", "1-10:0", "1-10x2", "5,3"] {
        refused(bad, Dialect::OpenJd);
    }
}

#[test]
fn an_error_stands_under_its_fault() {
    for (text, at, why) in [
        ("1-1O", 3, "comma"),
        ("1,,2", 2, "frame number"),
        ("1-", 2, "must follow"),
        ("1,", 1, "another frame"),
        ("1 10", 2, "comma"),
        ("１-3", 0, "no digit"),
        ("1-10x0", 4, "step of 0"),
        ("1-10x-2", 4, "step back"),
        ("1-10y1", 0, "no frame at all"),
        ("5, 1-9999999", 3, "more than"),
        ("99999999999", 0, "too large"),
        ("ä", 0, "'ä'"),
        ("1,ö", 2, "'ö'"),
        ("", 0, "nothing"),
    ] {
        let error = refused(text, Dialect::Sawah);
        assert!(error.why.contains(why), "{text}: {}", error.why);
        assert_eq!(error.at, at, "{text}: {}", error.why);
    }
    let shown = refused("1-10x0", Dialect::Sawah).to_string();
    assert!(shown.ends_with("\n  1-10x0\n      ^"), "{shown}");
}

#[test]
fn the_canonical_text_is_short() {
    for (frames, text) in [
        (vec![1, 2, 3, 4], "1-4"),
        (vec![1, 2], "1-2"),
        (vec![1, 3], "1,3"),
        (vec![1, 3, 5], "1-5x2"),
        (vec![5, 4, 3], "5-3"),
        (vec![9, 6, 3], "9-3x3"),
        (vec![1, 2, 3, 10, 20, 30, 7], "1-3,10-30x10,7"),
        (vec![-2, -1, 0], "-2-0"),
        (vec![-3, -2], "-3--2"),
    ] {
        assert_eq!(FrameList::new(frames).unwrap().to_string(), text);
    }
}

#[test]
fn a_run_knows_its_ends_and_its_step() {
    let run = |text: &str| text.parse::<FrameList>().unwrap().as_run();
    assert_eq!(run("1-9x4"), Some((1, 9, 4)));
    assert_eq!(run("7"), Some((7, 7, 1)));
    assert_eq!(run("3-1"), Some((3, 1, -1)));
    assert_eq!(run("1,2,4"), None);
}

#[test]
fn chunks_follow_measured_frames() {
    assert_eq!(chunk_size(60_000, 0, &[], 50), 1, "nothing is measured");
    assert_eq!(chunk_size(60_000, 2_000, &[5_000, 6_600], 50), 10);
    assert_eq!(chunk_size(60_000, 0, &[1], 50), 50);
    assert_eq!(chunk_size(60_000, 90_000, &[1_000], 50), 1);
    assert_eq!(chunk_size(u64::MAX, 0, &[0], u32::MAX), u32::MAX);
}

fn any_list() -> impl Strategy<Value = FrameList> {
    proptest::collection::btree_set(-200_i32..200, 1..60)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(|frames| FrameList::new(frames).unwrap())
}

fn any_text() -> impl Strategy<Value = String> {
    let part =
        (-50_i32..50, -50_i32..50, 0..5_u8, 1..9_u32).prop_map(|(a, b, kind, step)| match kind {
            0 => a.to_string(),
            1 => format!("{a}-{b}"),
            2 => format!("{a} .. {b} x{step}"),
            3 => format!("{a}-{b}:{step}"),
            _ => format!("{a}-{b}y{}", step + 1),
        });
    proptest::collection::vec(part, 1..6).prop_map(|parts| parts.join(", "))
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(list in any_list()) {
        prop_assert_eq!(list.to_string().parse::<FrameList>(), Ok(list));
    }

    #[test]
    fn what_is_read_prints_and_reads_back(text in any_text()) {
        if let Ok(list) = text.parse::<FrameList>() {
            prop_assert!(FrameList::new(list.as_slice().to_vec()).is_some());
            prop_assert_eq!(list.to_string().parse::<FrameList>(), Ok(list));
        }
    }

    #[test]
    fn chunks_partition_the_list(list in any_list(), size in 0..20_u32, run in any::<bool>()) {
        let shape = if run { ChunkShape::Run } else { ChunkShape::List };
        let chunks = list.chunks(size, shape);
        let joined: Vec<i32> =
            chunks.iter().flat_map(|chunk| chunk.as_slice().iter().copied()).collect();
        prop_assert_eq!(joined, list.as_slice());
        for chunk in &chunks {
            prop_assert!(chunk.count() >= 1 && chunk.count() <= size.max(1));
            prop_assert!(!run || chunk.as_run().is_some());
        }
    }

    #[test]
    fn no_text_is_a_panic(text in "[-0-9xy:., ä１]{0,40}") {
        for dialect in Dialect::ALL {
            let _outcome = FrameList::parse(&text, dialect);
        }
    }
}
