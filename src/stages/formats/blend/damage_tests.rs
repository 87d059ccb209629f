//! Damaged files: an answer or a reason, never a panic.

use super::testing::film;
use super::tests::{gzip, zstd};
use super::*;
use proptest::prelude::*;

fn survives(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Err(error) = read_source(&mut Cursor::new(bytes)) {
        prop_assert!(!error.to_string().contains("breaks the program"), "{error}");
    }
    prop_assert!(is_blend(bytes) || version_of(bytes).is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_behind_a_header_are_survived(
        header in prop::sample::select(vec!["BLENDER_v279", "BLENDER-V293", "BLENDER17-01v0500"]),
        head in prop::sample::select(vec![&b""[..], b"DNA1", b"SC\0\0", b"DATA"]),
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        survives(&[header.as_bytes(), head, &rest].concat())?;
    }

    #[test]
    fn changed_files_are_survived(
        header in prop::sample::select(vec!["BLENDER_v279", "BLENDER-V293", "BLENDER17-01v0500"]),
        packing in 0_usize..3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_catalogue in any::<bool>(),
    ) {
        let plain = film(header);
        // The catalogue, at the end, steers all else: half of the cases change it alone.
        let from = if in_catalogue { plain.len() - 2_000 } else { 12 };
        let change = |mut bytes: Vec<u8>, from: usize| {
            for (place, value) in &changes {
                let at = from + place.index(bytes.len() - from);
                bytes[at] = *value;
            }
            bytes
        };
        let bytes = match packing {
            0 => change(plain, from),
            1 => change(gzip(&plain), 2),
            _ => change(zstd(&plain), 4),
        };
        survives(&bytes)?;
    }
}
