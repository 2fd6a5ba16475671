//! The time of each iteration of an alignment, search by search.

use pointmill::icp::{IcpParams, Search, align};
use pointmill::{Device, Pose, Result, Rows};

/// Most pairs of points that brute force looks at in an iteration on the CPU, unless the parameters
/// name it: a few seconds.
const MOST_PAIRS: usize = 2_000_000_000;
/// Most steps of it, likewise.
const MOST_STEPS: usize = 2;

/// Aligns a source with a target once, with a search, and returns the stage and the milliseconds of
/// each iteration with a name for them, such as `kd-tree, cpu`.
///
/// Brute force on the CPU takes a part of large clouds and few steps of each stage, unless `params`
/// asks for brute force.
///
/// # Errors
/// As [`align`].
pub(super) fn icp_iterations(
    device: &Device,
    search: Search,
    clouds: &[Vec<[f64; 3]>; 2],
    guess: &Pose,
    params: &IcpParams,
) -> Result<(String, Vec<(usize, f64)>)> {
    let is_bounded = search == Search::Brute && device.is_cpu() && params.search != Search::Brute;
    let [source, target] = clouds;
    let every = if is_bounded { stride(source.len(), target.len()) } else { 1 };
    let mut params = IcpParams { search, ..params.clone() };
    if is_bounded {
        params.max_iterations = params.max_iterations.min(MOST_STEPS);
    }
    let thinned = |cloud: &[[f64; 3]]| cloud.iter().step_by(every).copied().collect::<Vec<_>>();
    let found = if every > 1 {
        align(Rows::from(&thinned(source)[..]), Rows::from(&thinned(target)[..]), guess, &params, device)
    } else {
        align(Rows::from(&source[..]), Rows::from(&target[..]), guess, &params, device)
    }?;
    let ms = found.fit.trace.iter().map(|look| (look.stage, look.timing));
    let ms = ms.map(|(stage, t)| (stage, t.search_ms + t.reduce_ms + t.solve_ms));
    let name = match search {
        Search::Brute => "brute force",
        Search::KdTree => "kd-tree",
        _ => "LBVH",
    };
    Ok((format!("{name}, {device}{}", part(every)), ms.collect()))
}

/// Which points a line is about, if not all.
fn part(every: usize) -> String {
    if every > 1 { format!(", one point in {every}") } else { String::new() }
}

/// The least stride at which two clouds have no more than the most pairs.
fn stride(source: usize, target: usize) -> usize {
    let pairs = |every: usize| source.div_ceil(every) * target.div_ceil(every);
    (1..).find(|every| pairs(*every) <= MOST_PAIRS).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_has_its_stage_and_its_search() {
        let cloud: Vec<[f64; 3]> = (0..60).map(|i| [f64::from(i % 8), f64::from(i / 8), f64::from(i % 3)]).collect();
        let clouds = [cloud.clone(), cloud];
        let params = IcpParams::default();
        let (name, ms) = icp_iterations(&Device::cpu(), Search::KdTree, &clouds, &Pose::IDENTITY, &params).unwrap();
        assert_eq!((name.as_str(), ms[0].0), ("kd-tree, cpu", 0));
    }

    #[test]
    fn a_part_of_a_cloud_is_named() {
        assert_eq!([1, 2, 3].map(part), ["", ", one point in 2", ", one point in 3"]);
    }

    #[test]
    fn brute_force_has_a_bound() {
        assert_eq!(stride(40_000, 40_000), 1);
        let every = stride(1_000_000, 2_000_000);
        let pairs = |every: usize| 1_000_000usize.div_ceil(every) * 2_000_000usize.div_ceil(every);
        assert!(pairs(every) <= MOST_PAIRS && pairs(every - 1) > MOST_PAIRS, "{every}");
    }
}
