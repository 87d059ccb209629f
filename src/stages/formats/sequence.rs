//! Tells which file names are the frames of one film.
//!
//! The frame number is the last run of digits before the suffix; a version (`v012`) never is.

use std::collections::BTreeMap;

/// One frame of a sequence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Its number; may be negative.
    pub number: i64,
    /// Its file name as given.
    pub name: String,
}

/// Numbered files that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// What comes before the number.
    pub prefix: String,
    /// What comes after it, with the suffix: `.exr`.
    pub suffix: String,
    /// Digits that the numbers are filled up to with zeros; 1 where they are not.
    pub padding: usize,
    /// By number; no number twice.
    pub frames: Vec<Frame>,
    /// Numbers that lack between the first and the last frame: first and last of each gap.
    pub gaps: Vec<(i64, i64)>,
}

impl Sequence {
    /// The name for people: `rain_[1-24].png`.
    pub fn label(&self) -> String {
        let number = |frame: Option<&Frame>| frame.map_or(0, |frame| frame.number);
        let (first, last) = (number(self.frames.first()), number(self.frames.last()));
        format!("{}[{first}-{last}]{}", self.prefix, self.suffix)
    }

    /// How many frames lack.
    pub fn missing(&self) -> i64 {
        self.gaps.iter().fold(0_i64, |sum, (first, last)| {
            sum.saturating_add(last.saturating_sub(*first).saturating_add(1))
        })
    }
}

/// File names sorted into films and others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// Two or more frames each, by prefix.
    pub sequences: Vec<Sequence>,
    /// Names that are part of no sequence, in the order given.
    pub singles: Vec<String>,
}

/// A name cut at its frame number.
struct Cut {
    prefix: String,
    suffix: String,
    digits: usize,
    zero_first: bool,
    frame: Frame,
}

/// Sorts file names (relative ones with `/` too) into sequences and single files.
pub fn group(names: &[String]) -> Groups {
    let mut alike: BTreeMap<(String, String), Vec<Cut>> = BTreeMap::new();
    for cut in names.iter().filter_map(|name| cut(name)) {
        alike.entry((cut.prefix.clone(), cut.suffix.clone())).or_default().push(cut);
    }
    let mut groups = Groups::default();
    for cuts in alike.into_values() {
        for (padding, cuts) in by_padding(cuts) {
            groups.sequences.extend(sequence(padding, cuts));
        }
    }
    let taken: std::collections::BTreeSet<&str> = groups
        .sequences
        .iter()
        .flat_map(|sequence| sequence.frames.iter().map(|frame| frame.name.as_str()))
        .collect();
    let singles = names.iter().filter(|name| !taken.contains(name.as_str())).cloned().collect();
    Groups { singles, ..groups }
}

/// The sequence of one frame that a name is by itself; none where it has no frame number.
pub fn lone(name: &str) -> Option<Sequence> {
    let cut = cut(name)?;
    let padding = if cut.zero_first { cut.digits } else { 1 };
    let (prefix, suffix) = (cut.prefix.clone(), cut.suffix.clone());
    Some(Sequence { prefix, suffix, padding, frames: vec![cut.frame], gaps: Vec::new() })
}

/// The frames of names that must be one sequence, by number; a single name is a sequence of one.
/// None where they are not one sequence.
pub fn as_one(names: &[String]) -> Option<Sequence> {
    if let [name] = names {
        let cut = cut(name);
        return Some(Sequence {
            prefix: cut.as_ref().map_or_else(|| name.clone(), |cut| cut.prefix.clone()),
            suffix: cut.as_ref().map_or_else(String::new, |cut| cut.suffix.clone()),
            padding: 1,
            frames: vec![Frame {
                number: cut.map_or(1, |cut| cut.frame.number),
                name: name.clone(),
            }],
            gaps: Vec::new(),
        });
    }
    let mut groups = group(names);
    let one = groups.sequences.pop()?;
    (groups.sequences.is_empty() && groups.singles.is_empty()).then_some(one)
}

/// `a.7.exr` beside `a.0007.exr` are two sequences; `a.9999.exr` and `a.10000.exr` are one.
fn by_padding(cuts: Vec<Cut>) -> BTreeMap<usize, Vec<Cut>> {
    let padded = cuts.iter().filter(|cut| cut.zero_first).map(|cut| cut.digits);
    let widths: std::collections::BTreeSet<usize> = padded.collect();
    let same_width = cuts.windows(2).all(|pair| matches!(pair, [a, b] if a.digits == b.digits));
    let mut groups: BTreeMap<usize, Vec<Cut>> = BTreeMap::new();
    for cut in cuts {
        let padding = if same_width || cut.zero_first {
            cut.digits
        } else {
            // The widest padding that the number can have grown out of.
            widths.range(..=cut.digits).next_back().copied().unwrap_or(1)
        };
        groups.entry(padding).or_default().push(cut);
    }
    groups
}

fn sequence(padding: usize, mut cuts: Vec<Cut>) -> Option<Sequence> {
    cuts.sort_by(|a, b| a.frame.cmp(&b.frame));
    cuts.dedup_by(|a, b| a.frame.number == b.frame.number);
    if cuts.len() < 2 {
        return None;
    }
    let first = cuts.first()?;
    let (prefix, suffix) = (first.prefix.clone(), first.suffix.clone());
    let frames: Vec<Frame> = cuts.into_iter().map(|cut| cut.frame).collect();
    let gaps = frames
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] if a.number.checked_add(1)? < b.number => Some((a.number + 1, b.number - 1)),
            _ => None,
        })
        .collect();
    Some(Sequence { prefix, suffix, padding, frames, gaps })
}

fn cut(name: &str) -> Option<Cut> {
    let file = name.rfind('/').map_or(0, |at| at + 1);
    let stem_end = name.rfind('.').filter(|dot| *dot > file).unwrap_or(name.len());
    let bytes = name.as_bytes();
    let mut end = stem_end;
    loop {
        end = (file..end).rev().find(|at| bytes.get(*at).is_some_and(u8::is_ascii_digit))? + 1;
        let start = (file..end)
            .rev()
            .take_while(|at| bytes.get(*at).is_some_and(u8::is_ascii_digit))
            .last()?;
        if !is_version(bytes, file, start) {
            return cut_at(name, file, start, end);
        }
        end = start;
    }
}

/// `v012` at the start of the name or after something that is no letter.
fn is_version(bytes: &[u8], file: usize, start: usize) -> bool {
    let before = |back: usize| {
        start.checked_sub(back).filter(|at| *at >= file).and_then(|at| bytes.get(at)).copied()
    };
    matches!(before(1), Some(b'v' | b'V')) && !before(2).is_some_and(|b| b.is_ascii_alphabetic())
}

fn cut_at(name: &str, file: usize, start: usize, end: usize) -> Option<Cut> {
    let digits = name.get(start..end)?;
    let mut number: i64 = digits.parse().ok()?;
    let mut prefix = name.get(..start)?;
    // A minus after a separator is a sign, after a letter it is itself a separator.
    if let Some(before) = prefix.strip_suffix('-')
        && (before.len() == file || before.ends_with(['.', '_', ' ']))
    {
        number = -number;
        prefix = before;
    }
    Some(Cut {
        prefix: prefix.to_owned(),
        suffix: name.get(end..)?.to_owned(),
        digits: digits.len(),
        zero_first: digits.len() > 1 && digits.starts_with('0'),
        frame: Frame { number, name: name.to_owned() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Groups {
        group(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    fn labels(names: &[&str]) -> Vec<String> {
        of(names).sequences.iter().map(Sequence::label).collect()
    }

    #[test]
    fn the_number_is_the_last_one_and_never_a_version() {
        let cases: [(&[&str], &[&str]); 9] = [
            (&["rain_0001.png", "rain_0002.png"], &["rain_[1-2].png"]),
            (&["a_v012.png", "a_v013.png"], &[]),
            (&["s010_0001_v2.exr", "s010_0002_v2.exr"], &["s010_[1-2]_v2.exr"]),
            (&["mov1.png", "mov2.png"], &["mov[1-2].png"]),
            (&["a.9999.exr", "a.10000.exr"], &["a.[9999-10000].exr"]),
            (&["a.-0001.exr", "a.0000.exr"], &["a.[-1-0].exr"]),
            (&["a-0001.exr", "a-0002.exr"], &["a-[1-2].exr"]),
            (&["x/1.png", "y/2.png"], &[]),
            (&["only_0001.png", "99999999999999999999999.png", "a.png"], &[]),
        ];
        for (names, expected) in cases {
            assert_eq!(labels(names), expected, "{names:?}");
        }
    }

    #[test]
    fn different_padding_is_two_sequences_and_a_number_comes_once() {
        let groups = of(&["a.7.exr", "a.8.exr", "a.0007.exr", "a.0008.exr", "a.10000.exr"]);
        let widths: Vec<_> = groups
            .sequences
            .iter()
            .map(|sequence| (sequence.padding, sequence.frames.len()))
            .collect();
        assert_eq!(widths, [(1, 2), (4, 3)]);
        let unpadded = of(&["f8.png", "f9.png", "f10.png", "note.txt"]);
        assert_eq!(unpadded.sequences.len(), 1);
        assert_eq!(unpadded.singles, ["note.txt"]);
    }

    #[test]
    fn gaps_are_told() {
        let groups = of(&["f.01.png", "f.02.png", "f.05.png", "f.09.png"]);
        let [sequence] = groups.sequences.as_slice() else { panic!("one sequence") };
        assert_eq!(sequence.gaps, [(3, 4), (6, 8)]);
        assert_eq!(sequence.missing(), 5);
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert!(as_one(&names(&["f.01.png", "f.02.png"])).is_some());
        assert!(as_one(&names(&["f.01.png", "f.02.png", "g.03.png"])).is_none());
        assert_eq!(as_one(&names(&["f.07.png"])).map(|one| one.frames.len()), Some(1));
    }
}
