//! Both clouds as a stage takes them, and the sums over their pairs.

use super::cloud::{Local, along_curve};
use super::pairs::Pairs;
use super::params::{IcpParams, Metric, Stage};
use super::search::{Search, Searcher};
use super::{normals, result};
use crate::Result;
use crate::prim::sum;
use pointmill_core::icp::pairs::{Linearization, POINT_TERMS, STEP_TERMS, generalized, point_to_plane, point_to_point};
use pointmill_core::icp::pose::{closest, point_hessian, step_hessian, stepped};
use pointmill_core::linear::Square;
use pointmill_core::rigid::{Rigid, add, rotate, subtract};

/// Clouds of one stage.
#[derive(Debug)]
pub(super) struct Clouds {
    metric: Metric,
    /// Along the Morton curve, so that queries that follow each other walk the same way.
    pub(super) source: Vec<[f32; 3]>,
    source_normals: Vec<[f32; 3]>,
    /// In the order of the cloud, which decides between equally near points.
    pub(super) target: Vec<[f32; 3]>,
    target_normals: Vec<[f32; 3]>,
    pub(super) searcher: Searcher,
    spread: Spread,
}

/// Where source points are.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: [f64; 3],
    covariance: Square<3>,
}

/// Sums over pairs, by what their metric needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sums {
    Points([f64; POINT_TERMS]),
    Steps([f64; STEP_TERMS]),
}

impl Clouds {
    pub(super) fn new(source: &Local, target: &Local, stage: &Stage, params: &IcpParams) -> Result<Self> {
        let points = |argument, cloud: &Local| match stage.voxel_size {
            0.0 => Ok(cloud.points.clone()),
            size => cloud.downsampled(argument, size),
        };
        let of_source = || -> Result<_> {
            let points = points("source", source)?;
            let normals = match params.metric {
                Metric::Gicp => normals(&points, &Searcher::new(&points, params.search)?, params.neighbours)?,
                _ => Vec::new(),
            };
            let order = along_curve(&points);
            let along = |values: &[[f32; 3]]| -> Vec<[f32; 3]> {
                if values.is_empty() { Vec::new() } else { order.iter().map(|i| values[*i as usize]).collect() }
            };
            let points = along(&points);
            let spread = Spread::of(&points);
            Ok((points, along(&normals), spread))
        };
        let of_target = || -> Result<_> {
            let points = points("target", target)?;
            let searcher = Searcher::new(&points, params.search)?;
            let normals = match params.metric {
                Metric::PointToPoint => Vec::new(),
                _ => normals(&points, &searcher, params.neighbours)?,
            };
            Ok((points, normals, searcher))
        };
        let (of_source, of_target) = rayon::join(of_source, of_target);
        let ((source, source_normals, spread), (target, target_normals, searcher)) = (of_source?, of_target?);
        Ok(Self { metric: params.metric, source, source_normals, target, target_normals, searcher, spread })
    }

    /// Which search it is.
    pub(super) const fn search(&self) -> Search {
        self.searcher.search()
    }

    /// Where steps are taken at a pose.
    pub(super) fn at(&self, pose: Rigid) -> Linearization {
        let size = self.size();
        Linearization { pose, pivot: pose.apply(self.spread.mean), length: if size > 0.0 { size } else { 1.0 } }
    }

    /// Root mean square distance of the source points from their mean.
    pub(super) fn size(&self) -> f64 {
        let c = &self.spread.covariance;
        (c[0][0] + c[1][1] + c[2][2]).max(0.0).sqrt()
    }

    /// Root mean square motion of the source points between two poses.
    pub(super) fn motion(&self, from: &Rigid, to: &Rigid) -> f64 {
        let by: Square<3> = std::array::from_fn(|i| subtract(to.rotation[i], from.rotation[i]));
        let mean = add(rotate(&by, self.spread.mean), subtract(to.translation, from.translation));
        let mut square = mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2];
        for row in by {
            let turned = rotate(&self.spread.covariance, row);
            square += (row[0] * turned[0] + row[1] * turned[1] + row[2] * turned[2]).max(0.0);
        }
        square.sqrt()
    }

    /// What the pairs say at a pose.
    pub(super) fn sums(&self, pairs: &Pairs, at: &Linearization, params: &IcpParams) -> Sums {
        let n = self.source.len();
        let wide = |p: [f32; 3]| p.map(f64::from);
        let (source, target) = (&self.source, &self.target);
        let kernel = &params.robust;
        match self.metric {
            Metric::PointToPoint => Sums::Points(sum(n, |i| match pairs.target(i) {
                Some(j) => point_to_point(&at.pose, kernel, wide(source[i]), wide(target[j])),
                None => [0.0; POINT_TERMS],
            })),
            Metric::PointToPlane => Sums::Steps(sum(n, |i| match pairs.target(i) {
                Some(j) => point_to_plane(at, kernel, wide(source[i]), wide(target[j]), self.target_normals[j]),
                None => [0.0; STEP_TERMS],
            })),
            Metric::Gicp => Sums::Steps(sum(n, |i| match pairs.target(i) {
                Some(j) => {
                    let normals = [self.source_normals[i], self.target_normals[j]];
                    generalized(at, kernel, wide(source[i]), wide(target[j]), normals)
                }
                None => [0.0; STEP_TERMS],
            })),
        }
    }
}

impl Spread {
    fn of(points: &[[f32; 3]]) -> Self {
        if points.is_empty() {
            return Self { mean: [0.0; 3], covariance: [[0.0; 3]; 3] };
        }
        let n = points.len() as f64;
        let mean = sum(points.len(), |i| points[i].map(f64::from)).map(|x| x / n);
        // A second pass, so that a small cloud far from zero keeps its digits.
        let products: [f64; 9] = sum(points.len(), |i| {
            let d = subtract(points[i].map(f64::from), mean);
            std::array::from_fn(|e| d[e / 3] * d[e % 3])
        });
        Self { mean, covariance: std::array::from_fn(|i| std::array::from_fn(|j| products[3 * i + j] / n)) }
    }
}

impl Sums {
    const fn head(&self) -> [f64; 4] {
        match self {
            Self::Points(t) => [t[0], t[1], t[2], t[3]],
            Self::Steps(t) => [t[0], t[1], t[2], t[3]],
        }
    }

    /// The number of pairs.
    pub(super) const fn pairs(&self) -> f64 {
        self.head()[0]
    }

    /// Root mean square distance of the pairs.
    pub(super) fn rmse(&self) -> f64 {
        let [pairs, squares, ..] = self.head();
        if pairs > 0.0 { (squares / pairs).sqrt() } else { 0.0 }
    }

    /// The next pose, if the pairs ask for one.
    pub(super) fn next(&self, at: &Linearization, guess: &Rigid) -> Option<Rigid> {
        match self {
            Self::Points(terms) => closest(terms, guess),
            Self::Steps(terms) => stepped(terms, at),
        }
    }

    /// All six directions in metres.
    pub(super) fn hessian(&self, at: &Linearization) -> Square<6> {
        match self {
            Self::Points(terms) => point_hessian(terms, at),
            Self::Steps(terms) => step_hessian(terms),
        }
    }

    /// The covariance of the pose, with the Hessian by metres and radians.
    pub(super) fn covariance(&self, hessian: &Square<6>, metric: Metric) -> Option<Square<6>> {
        // A plane says one thing of a point, a point and a patch say three.
        let each = if metric == Metric::PointToPlane { 1.0 } else { 3.0 };
        let [pairs, _, squares, _] = self.head();
        result::covariance(hessian, squares, each * pairs - 6.0)
    }
}
