//! Where most of some values lie.

/// The least value, those that `share` of the values lie below and above, and the largest.
pub(crate) fn quantiles(mut values: Vec<f64>, share: f64) -> Option<[f64; 4]> {
    values.retain(|v| v.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let cut = (share * values.len() as f64) as usize;
    Some([values[0], values[cut.min(last)], values[last - cut.min(last)], values[last]])
}

/// How far beyond the others strays may be and still be shown, by the others' extent.
const BEYOND: f64 = 0.15;

/// The interval to show: without strays, but with the tip of an ear. `share` as for [`quantiles`].
pub(crate) fn bulk(values: Vec<f64>, share: f64) -> Option<[f64; 2]> {
    let [min, low, high, max] = quantiles(values, share)?;
    let beyond = BEYOND * (high - low);
    Some([min.max(low - beyond), max.min(high + beyond)])
}

#[cfg(test)]
mod tests {
    use super::{bulk, quantiles};

    #[test]
    fn the_bulk_has_near_strays_and_not_far_ones() {
        let values = |stray: f64| (0..100).map(f64::from).chain([stray]).collect();
        assert_eq!(bulk(values(105.0), 0.01), Some([0.0, 105.0]));
        let [low, high] = bulk(values(1e9), 0.01).unwrap();
        assert!(low == 0.0 && (99.0..120.0).contains(&high), "{low} {high}");
        assert_eq!(bulk(vec![], 0.1), None);
    }

    #[test]
    fn quantiles_leave_out_a_share_on_each_side() {
        assert_eq!(quantiles((0..100).map(f64::from).collect(), 0.1), Some([0.0, 10.0, 89.0, 99.0]));
        assert_eq!(quantiles(vec![f64::NAN, 7.0], 0.01), Some([7.0; 4]));
        assert_eq!(quantiles(vec![f64::INFINITY], 0.0), None);
    }
}
