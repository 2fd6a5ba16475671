//! Chains of static transforms between frames.

use crate::error::IoError;
use crate::fault::{bail, fault};
use pointmill_core::Pose;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most frames. Robots have some hundreds.
const MOST: usize = 4096;

/// How far two transforms of one frame may be apart, in metres and of a matrix of rotation.
const SAME: f64 = 1e-6;

/// Frames that do not move in each other, such as those of the sensors of a vehicle.
///
/// Each frame but the roots has one parent. [`pose`](Self::pose) composes the chain between two frames, in
/// either direction. A slash in front of a name, as old writers have it, is none of the name.
///
/// ```
/// use pointmill_core::Pose;
/// use pointmill_io::bag::StaticFrames;
/// let mut frames = StaticFrames::new("drive.bag");
/// frames.add("base_link", "roof", Pose::from_translation([0.0, 0.0, 2.0]))?;
/// frames.add("/roof", "lidar", Pose::from_translation([1.0, 0.0, 0.0]))?;
/// assert_eq!(frames.pose("base_link", "lidar")?.translation(), [1.0, 0.0, 2.0]);
/// let error = frames.pose("base_link", "camera").unwrap_err().to_string();
/// assert!(error.contains("`camera` to `base_link`"), "{error}");
/// # Ok::<(), pointmill_io::IoError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StaticFrames {
    /// Whose frames these are, for errors.
    path: PathBuf,
    /// Of each frame its parent, and `parent_from_frame`.
    parents: BTreeMap<String, (String, Pose)>,
}

/// A frame's name without the slash in front of it.
pub(super) fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

impl StaticFrames {
    /// No frames yet; `name` stands for what they are of in errors.
    pub fn new(name: impl AsRef<Path>) -> Self {
        Self { path: name.as_ref().into(), parents: BTreeMap::new() }
    }

    /// Adds a frame by its pose in its parent. The same frame may come again with the same pose.
    ///
    /// # Errors
    /// A frame with another parent or another pose than before; one that is above its own parent;
    /// more than 4096 frames.
    pub fn add(&mut self, parent: &str, frame: &str, parent_from_frame: Pose) -> Result<(), IoError> {
        let (parent, frame) = (plain(parent), plain(frame));
        let field = || format!("transform of `{frame}`");
        if parent == frame || self.above(parent).any(|(above, _)| above == frame) {
            let found = format!("`{parent}`, which is `{frame}` or below it; {WAY_OUT}");
            bail!(*self.path, BadValue, (field()), "a parent that is not below it", found);
        }
        if let Some((other, known)) = self.parents.get(frame) {
            if other != parent {
                let found = format!("`{other}` and `{parent}`; {WAY_OUT}");
                bail!(*self.path, BadValue, (field()), "one parent", found);
            }
            let far = apart(known, &parent_from_frame);
            if far > SAME {
                let found = format!("another, {far:.3e} away; {WAY_OUT}");
                bail!(*self.path, BadValue, (field()), "one pose in `{parent}`, as what is static has", found);
            }
            return Ok(());
        }
        if self.parents.len() >= MOST {
            bail!(*self.path, LimitExceeded, "static transforms", "at most {MOST} frames", "one more");
        }
        self.parents.insert(frame.into(), (parent.into(), parent_from_frame));
        Ok(())
    }

    /// The frames above one, each with its pose in the one above.
    fn above<'s>(&'s self, frame: &str) -> impl Iterator<Item = (&'s str, &'s Pose)> {
        let mut next = self.parents.get(frame);
        std::iter::from_fn(move || {
            let (parent, pose) = next?;
            next = self.parents.get(parent);
            Some((&**parent, pose))
        })
    }

    /// The pose of each frame above one and of itself: `above_from_frame`.
    fn chain<'s>(&'s self, frame: &'s str) -> Vec<(&'s str, Pose)> {
        let mut chain = vec![(frame, Pose::IDENTITY)];
        for (above, pose) in self.above(frame) {
            let below = chain[chain.len() - 1].1;
            chain.push((above, *pose * below));
        }
        chain
    }

    /// Whether transforms lead from one frame to another.
    pub fn connects(&self, target: &str, source: &str) -> bool {
        let root = |frame| self.above(frame).last().map_or(frame, |(above, _)| above);
        root(plain(target)) == root(plain(source))
    }

    /// The pose of a frame in another, `target_from_source`.
    ///
    /// # Errors
    /// No chain of transforms between the two.
    pub fn pose(&self, target: &str, source: &str) -> Result<Pose, IoError> {
        let (target, source) = (plain(target), plain(source));
        let (up, down) = (self.chain(source), self.chain(target));
        let places: BTreeMap<&str, &Pose> = down.iter().map(|(frame, pose)| (*frame, pose)).collect();
        let met = up.iter().find_map(|(frame, from_source)| Some((places.get(frame)?, from_source)));
        if let Some((from_target, from_source)) = met {
            return Ok(from_target.inverse() * *from_source);
        }
        let ends = [&up, &down].map(|chain| chain.last().map_or("", |(frame, _)| *frame));
        let found = match self.parents.len() {
            0 => format!("no static transforms; {WAY_OUT}"),
            _ => format!("none: they end at `{}` and at `{}`; {WAY_OUT}", ends[0], ends[1]),
        };
        let wanted = format!("a chain of static transforms (/tf_static) from `{source}` to `{target}`");
        Err(fault!(*self.path, MissingField, "frames", wanted, found))
    }
}

/// What else says where a sensor is.
const WAY_OUT: &str = "give the poses of the sensors with --extrinsics FILE";

/// How far two poses are apart: the farthest of the numbers of their matrices.
fn apart(a: &Pose, b: &Pose) -> f64 {
    let [a, b] = [a, b].map(Pose::matrix);
    a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f64, yaw: f64) -> Pose {
        Pose::from_xyzrpy([x, 0.5 * x, -x, 0.1, -0.2, yaw]).unwrap()
    }

    /// `base_link` has roof and bumper; roof has left, which has lidar.
    fn tree() -> StaticFrames {
        let mut frames = StaticFrames::new("b");
        // In an order in which parents come after their frames.
        for (parent, frame, pose) in [
            ("left", "lidar", at(1.0, 0.4)),
            ("base_link", "roof", at(2.0, -0.7)),
            ("roof", "left", at(-0.5, 1.5)),
            ("base_link", "bumper", at(3.0, 3.0)),
            ("map", "odom", at(9.0, 0.0)),
        ] {
            frames.add(parent, frame, pose).unwrap();
        }
        frames
    }

    #[test]
    fn chains_compose_in_both_directions() {
        let frames = tree();
        let point = [0.3, -4.0, 2.0];
        let lidar = at(2.0, -0.7).apply(at(-0.5, 1.5).apply(at(1.0, 0.4).apply(point)));
        let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close(frames.pose("base_link", "lidar").unwrap().apply(point), lidar));
        assert!(close(frames.pose("lidar", "base_link").unwrap().apply(lidar), point));
        // Down one branch and up another.
        let bumper = at(3.0, 3.0).inverse().apply(lidar);
        assert!(close(frames.pose("bumper", "/lidar").unwrap().apply(point), bumper));
        assert!(close(frames.pose("lidar", "bumper").unwrap().apply(bumper), point));
        // A frame in itself keeps every bit, also one that nobody knows.
        assert_eq!(frames.pose("left", "left").unwrap().apply(point), point);
        assert_eq!(frames.pose("/camera", "camera").unwrap(), Pose::IDENTITY);
    }

    #[test]
    fn frames_that_nothing_connects_are_named() {
        let frames = tree();
        assert!(frames.connects("bumper", "lidar") && frames.connects("odom", "map"));
        assert!(!frames.connects("base_link", "odom") && !frames.connects("base_link", "camera"));
        let told = frames.pose("base_link", "odom").unwrap_err();
        assert_eq!(
            (told.class(), told.to_string().as_str()),
            (
                "MissingField",
                "b: frames: expected a chain of static transforms (/tf_static) from `odom` to `base_link`, got none: they \
                 end at `map` and at `base_link`; give the poses of the sensors with --extrinsics FILE"
            )
        );
        let told = StaticFrames::new("b").pose("a", "b").unwrap_err().to_string();
        assert!(told.contains("from `b` to `a`, got no static transforms; give the poses"), "{told}");
    }

    #[test]
    fn circles_second_parents_and_frames_that_move_are_refused() {
        let refused = |parent: &str, frame: &str, pose| tree().add(parent, frame, pose).unwrap_err().to_string();
        for (parent, frame) in [("lidar", "base_link"), ("lidar", "lidar"), ("/a", "a"), ("odom", "map")] {
            let told = refused(parent, frame, at(1.0, 0.0));
            assert!(told.contains("expected a parent that is not below it"), "{told}");
        }
        let told = refused("bumper", "lidar", at(1.0, 0.4));
        assert!(told.contains("transform of `lidar`: expected one parent, got `left` and `bumper`; give"), "{told}");
        for pose in [at(1.0 + 2e-6, 0.4), at(1.0, 0.4 + 1e-5)] {
            let told = refused("left", "lidar", pose);
            assert!(told.contains("expected one pose in `left`, as what is static has, got another, "), "{told}");
        }
        // The same again, of a writer of other digits too.
        let mut frames = tree();
        frames.add("/left", "/lidar", at(1.0 + 1e-8, 0.4)).unwrap();
        assert_eq!(frames.pose("left", "lidar").unwrap(), at(1.0, 0.4));
    }

    #[test]
    fn frames_are_so_many_at_most() {
        let mut frames = StaticFrames::new("b");
        // One chain, as deep as can be.
        for i in 0..MOST {
            frames.add(&format!("f{i}"), &format!("f{}", i + 1), Pose::from_translation([1.0, 0.0, 0.0])).unwrap();
        }
        assert_eq!(frames.pose("f0", &format!("f{MOST}")).unwrap().translation(), [MOST as f64, 0.0, 0.0]);
        let told = frames.add("f0", "one", Pose::IDENTITY).unwrap_err();
        assert_eq!(told.class(), "LimitExceeded");
    }
}
