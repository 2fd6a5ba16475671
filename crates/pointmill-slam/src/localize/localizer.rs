//! Scan after scan: where each is in the map.

use super::covariance::covariance;
use super::fix::{Candidate, Fix, FixStatus, FixTiming, Rejection};
use super::judge::{aligned, ambiguity, apart, judged, margin, objection};
use super::map::{LocalizerMap, Near};
use super::params::LocalizerParams;
use super::rivals::with_rivals;
use super::scan::Scan;
use super::search::{Search, search};
use crate::sampling::Sampler;
use pointmill::device::Stream;
use pointmill::internals::{check_pose, pivot_of};
use pointmill::ndt::{NdtAlignParams, NdtRegularization};
use pointmill::{Argument, Error, Pose, Result, Rows};
use pointmill_core::rigid::subtract;
use web_time::Instant;

/// Fewest points of a scan that are aligned.
const FEWEST_KEYS: usize = 50;
/// Seconds between two scans that are believed at most.
const LONGEST_GAP: f64 = 10.0;
/// Seconds between two scans that tell a speed.
const SHORTEST_GAP: f64 = 1e-3;

/// Finds the poses of scans in a map, one after the other.
///
/// See the [module](super) for what it does and promises.
#[derive(Debug)]
pub struct Localizer {
    stream: Stream,
    params: LocalizerParams,
    sampler: Sampler,
    near: Near,
    /// What is subtracted from the points of a scan: where it is, if that is far from zero.
    middle: [f64; 3],
    place: Option<Place>,
    base: Option<Pose>,
    /// Whether the next scan is searched for.
    lost: bool,
    rejections: usize,
    pushed: usize,
}

/// What is known of the vehicle. Its poses are about the origin of the map.
#[derive(Clone, Copy, Debug)]
struct Place {
    pose: Pose,
    /// Motion a second; a scan without a time takes one.
    twist: [f64; 6],
    seconds: Option<f64>,
    /// The last fix, and the seconds since then: the next fix tells the motion.
    last: Option<(Pose, f64)>,
    /// Whether the pose is a fix.
    is_fix: bool,
}

impl Localizer {
    /// A localizer on the device of a stream, without a pose: the first scan is searched for,
    /// unless [`start`](Self::start) gives one.
    ///
    /// # Errors
    /// Parameters out of range; a map on another device; out of memory.
    pub fn new(stream: &Stream, map: impl Into<LocalizerMap>, params: &LocalizerParams) -> Result<Self> {
        params.validate()?;
        Ok(Self {
            stream: stream.clone(),
            params: params.clone(),
            sampler: Sampler::new(stream)?,
            near: Near::new(stream, map.into())?,
            middle: [0.0; 3],
            place: None,
            base: None,
            lost: true,
            rejections: 0,
            pushed: 0,
        })
    }

    /// Takes a pose for where the sensor stands: the next scan is aligned near it. A wrong pose
    /// ends as a rejected scan.
    ///
    /// # Errors
    /// A pose that is not rigid.
    pub fn start(&mut self, map_from_sensor: &Pose) -> Result<()> {
        check_pose(Argument::Pose, map_from_sensor)?;
        let pose = moved(map_from_sensor, self.middle, self.near.origin);
        self.place = Some(Place { pose, twist: [0.0; 6], seconds: None, last: None, is_fix: false });
        (self.lost, self.rejections) = (false, 0);
        Ok(())
    }

    /// Sets the pose of the vehicle by another source, such as GNSS: alignments are held near it in
    /// the direction that it faces, by
    /// [`regularization_scale`](LocalizerParams::regularization_scale). None ends that.
    ///
    /// # Errors
    /// A pose that is not rigid or faces up or down.
    pub fn set_base(&mut self, base: Option<Pose>) -> Result<()> {
        self.held(base).validate()?;
        self.base = base.map(|base| moved(&base, self.middle, self.near.origin));
        Ok(())
    }

    /// Takes the next scan, `[N, columns]` of `f32` or `f64` with x, y, z first, in memory of the host
    /// or of the device, and its time in seconds. Scans without a time are taken at even intervals.
    ///
    /// A scan that has no fix is no error: the status and the rejection say why.
    ///
    /// # Errors
    /// Points of another type or on another device; 2^27 points or more where the map is on a GPU; a time that
    /// is not finite; a region that makes too many places; what the source of tiles returns; out of
    /// memory, a lost device. The pose is then what it was.
    pub fn push<'a>(&mut self, points: impl Into<Rows<'a>>, seconds: Option<f64>) -> Result<Fix> {
        let points = points.into();
        points.check_points(Argument::Points, &self.stream)?;
        if let Some(seconds) = seconds.filter(|seconds| !seconds.is_finite()) {
            return Err(Error::argument(Argument::Seconds, "finite seconds", seconds));
        }
        let start = Instant::now();
        let middle = pivot_of(&points, self.middle, self.params.max_range)?;
        let points = points.relative_to(middle);
        let Self { stream, params, sampler, .. } = self;
        let scan = || stream.device().install(|| Scan::new(&points, params, sampler));
        let scan = stream.in_order(&[points.stream()], scan)?;
        self.see_from(middle);
        let mut fix = Fix {
            index: self.pushed,
            status: FixStatus::Lost,
            rejection: Some(Rejection::TooFewPoints),
            map_from_sensor: Pose::IDENTITY,
            predicted: self.place.map(|place| place.after(place.interval(seconds))),
            distance: None,
            registration: None,
            covariance: None,
            evidence: None,
            margin: None,
            candidates: Vec::new(),
            points: points.len(),
            usable: scan.usable,
            aligned: scan.keys.len(),
            rejections: 0,
            map_cells: 0,
            timing: FixTiming { sample_ms: elapsed(start), ..FixTiming::default() },
        };
        if scan.keys.len() >= FEWEST_KEYS {
            match fix.predicted {
                Some(predicted) if !self.lost => self.track(&scan, predicted, &mut fix)?,
                _ => self.search(&scan, &mut fix)?,
            }
        }
        self.settle(&mut fix, seconds);
        fix.for_each_pose(|pose| *pose = self.global(pose));
        Ok(fix)
    }

    /// The pose after the last scan; none before the first fix or start.
    pub fn pose(&self) -> Option<Pose> {
        self.place.map(|place| self.global(&place.pose))
    }

    /// Whether the next scan is searched for.
    pub const fn is_lost(&self) -> bool {
        self.lost
    }

    /// The number of scans so far.
    pub const fn len(&self) -> usize {
        self.pushed
    }

    /// Whether no scan was pushed yet.
    pub const fn is_empty(&self) -> bool {
        self.pushed == 0
    }

    /// The parameters.
    pub const fn params(&self) -> &LocalizerParams {
        &self.params
    }

    /// Takes what is known of the vehicle as seen from another place of its scans.
    fn see_from(&mut self, middle: [f64; 3]) {
        let by = subtract(middle, self.middle);
        self.middle = middle;
        if let Some(place) = &mut self.place {
            place.pose = moved(&place.pose, by, [0.0; 3]);
            place.last = place.last.map(|(pose, since)| (moved(&pose, by, [0.0; 3]), since));
        }
        self.base = self.base.map(|base| moved(&base, by, [0.0; 3]));
    }

    /// A pose of scans as they come, in the frame of the map.
    fn global(&self, pose: &Pose) -> Pose {
        moved(pose, self.middle.map(|x| -x), self.near.origin.map(|x| -x))
    }

    /// The parameters of an alignment near a base.
    fn held(&self, base: Option<Pose>) -> NdtAlignParams {
        let scale = self.params.regularization_scale;
        NdtAlignParams { regularization: base.map(|base| NdtRegularization { base, scale }), ..self.params.align }
    }

    /// Aligns a scan near the prediction.
    fn track(&mut self, scan: &Scan, predicted: Pose, fix: &mut Fix) -> Result<()> {
        let start = Instant::now();
        let [x, y, _] = predicted.translation();
        self.near.surround([x, y, x, y], &self.stream)?;
        fix.timing.map_ms = elapsed(start);
        let start = Instant::now();
        let found = aligned(&self.near, Rows::from(&scan.keys[..]), &[predicted], &self.held(self.base))?.remove(0);
        let mut best = judged(&self.near, scan, found)?;
        if !self.place.is_some_and(|place| place.is_fix) {
            let ranked = with_rivals(&self.near, scan, best, &self.params)?;
            fix.margin = margin(&ranked);
            best = ranked.into_iter().next().expect("the alignment itself");
        }
        let [metres, _] = apart(&predicted, &best.registration.target_from_source);
        fix.distance = Some(metres);
        fix.rejection = objection(&best, self.near.grid.lattice().unit(), &self.params)
            .or((metres > self.params.max_distance).then_some(Rejection::FarFromPrediction))
            .or(ambiguity(fix.margin, &best, &self.params));
        self.found(scan, best, FixStatus::Tracked, fix)?;
        fix.timing.align_ms = elapsed(start);
        Ok(())
    }

    /// Searches a scan in the region of the parameters, around the last pose, or in all of the map.
    fn search(&mut self, scan: &Scan, fix: &mut Fix) -> Result<()> {
        let start = Instant::now();
        let around = fix.predicted.map(|pose| {
            let ([x, y, _], r) = (pose.translation(), self.params.search_radius);
            [x - r, y - r, x + r, y + r]
        });
        let [ox, oy, _] = self.near.origin;
        let asked = self.params.region.map(|[x0, y0, x1, y1]| [x0 - ox, y0 - oy, x1 - ox, y1 - oy]).or(around);
        if asked.is_none() && !self.near.is_whole() {
            return Err(Error::argument(Argument::Region, "a region to search in a map of tiles, or a start", "none"));
        }
        if let Some(region) = asked {
            self.near.surround(region, &self.stream)?;
        }
        fix.timing.map_ms = elapsed(start);
        let start = Instant::now();
        let Search { candidates, rejection } = search(&self.near, asked, scan, &self.params)?;
        fix.rejection = rejection;
        fix.margin = margin(&candidates);
        if let Some(best) = candidates.first() {
            self.found(scan, best.clone(), FixStatus::Found, fix)?;
        }
        fix.candidates = candidates;
        fix.timing.search_ms = elapsed(start);
        Ok(())
    }

    /// Notes an alignment, which is a fix unless it was rejected.
    fn found(&self, scan: &Scan, found: Candidate, status: FixStatus, fix: &mut Fix) -> Result<()> {
        let Candidate { registration: found, evidence, .. } = found;
        if fix.rejection.is_none() {
            fix.status = status;
            fix.map_from_sensor = found.target_from_source;
        }
        fix.covariance = covariance(&self.near.grid, Rows::from(&scan.keys[..]), &found, &self.params)?;
        (fix.registration, fix.evidence) = (Some(found), Some(evidence));
        Ok(())
    }

    /// Goes on from a scan.
    fn settle(&mut self, fix: &mut Fix, seconds: Option<f64>) {
        let before = self.place;
        let interval = before.map_or(1.0, |place| place.interval(seconds));
        let twist = before.map_or([0.0; 6], |place| place.twist);
        let last = before.and_then(|place| place.last).map(|(pose, since)| (pose, since + interval));
        self.pushed += 1;
        if fix.status.is_fix() {
            let pose = fix.map_from_sensor;
            let twist = match last {
                Some((from, since)) if since >= SHORTEST_GAP && fix.status == FixStatus::Tracked => {
                    from.inverse().compose(&pose).log().map(|x| x / since)
                }
                _ if fix.status == FixStatus::Tracked => twist,
                _ => [0.0; 6],
            };
            self.place = Some(Place { pose, twist, seconds, last: Some((pose, 0.0)), is_fix: true });
            (self.lost, self.rejections) = (false, 0);
        } else {
            self.rejections += 1;
            self.lost |= self.rejections >= self.params.max_rejections;
            fix.status = if self.lost { FixStatus::Lost } else { FixStatus::Rejected };
            fix.map_from_sensor = fix.predicted.unwrap_or(Pose::IDENTITY);
            self.place = fix.predicted.map(|pose| Place { pose, twist, seconds, last, is_fix: false });
        }
        fix.rejections = self.rejections;
        fix.map_cells = self.near.grid.len();
    }
}

impl Place {
    /// Seconds until a time.
    fn interval(&self, seconds: Option<f64>) -> f64 {
        match (self.seconds, seconds) {
            (Some(before), Some(now)) => (now - before).clamp(0.0, LONGEST_GAP),
            _ => 1.0,
        }
    }

    /// The pose after so many seconds.
    fn after(&self, seconds: f64) -> Pose {
        let next = self.pose.compose(&Pose::exp(&self.twist.map(|x| x * seconds)));
        if next.is_rigid() { next } else { self.pose }
    }
}

/// A pose of a scan and a map, of which each is seen from another origin.
fn moved(pose: &Pose, scan: [f64; 3], map: [f64; 3]) -> Pose {
    if scan == [0.0; 3] && map == [0.0; 3] { *pose } else { pose.about(scan, map) }
}

fn elapsed(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
