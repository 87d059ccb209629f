//! Fair share: projects that have work take turns, each as often as its weight says.
//!
//! Each project stands at a pass, which moves on with every job handed out to it: by less, the
//! greater its weight. The project that stands furthest back is next. One that had no work for a
//! while begins where the farm stands, so that idling saves nothing up.

/// How far a project of weight 1 moves on by one job.
const STRIDE: i64 = 1 << 20;

/// Where a project stands in the order of turns.
pub fn turn(pass: i64, farm_pass: i64) -> i64 {
    pass.max(farm_pass)
}

/// Where it stands after a job was handed out to it at `turn`.
pub fn after(turn: i64, weight: u32) -> i64 {
    turn.saturating_add(STRIDE / i64::from(weight.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out `jobs` among projects that never run out of work.
    fn share(weights: &[u32], passes: &mut [i64], farm: &mut i64, jobs: u32) -> Vec<u32> {
        let mut got = vec![0; weights.len()];
        for _ in 0..jobs {
            let next = (0..weights.len()).min_by_key(|one| turn(passes[*one], *farm)).unwrap();
            let at = turn(passes[next], *farm);
            (passes[next], *farm) = (after(at, weights[next]), at);
            got[next] += 1;
        }
        got
    }

    #[test]
    fn jobs_are_shared_by_weight() {
        let (mut passes, mut farm) = ([0; 3], 0);
        assert_eq!(share(&[1, 2, 5], &mut passes, &mut farm, 800), [100, 200, 500]);
    }

    #[test]
    fn who_idled_gets_its_share_and_no_more() {
        let (mut passes, mut farm) = ([0; 2], 0);
        share(&[1], &mut passes[..1], &mut farm, 1_000);
        let got = share(&[1, 1], &mut passes, &mut farm, 100);
        assert!(got[0] >= 49 && got[1] >= 49, "{got:?}");
    }

    #[test]
    fn passes_saturate() {
        assert_eq!(after(i64::MAX, 1), i64::MAX);
        assert!(after(0, 0) > 0);
    }
}
