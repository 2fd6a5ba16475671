//! Clouds onto clouds: searches, normals and whole alignments.

use crate::{IcpCase, Measurement, Times, time};
use pointmill::icp::{Aligner, IcpParams, Metric, Pair, Search, Searcher};
use pointmill::{Buffer, Error, Pose, Result, Rows, Stream};

/// Points that normals are made from.
const NEIGHBOURS: usize = 20;
/// Brute force on the CPU is asked so many queries at most; a whole pass takes as many times longer
/// as there are more.
const QUERIES: usize = 1_000;
/// Looks before those that are timed by the clock of the device.
const WARM_UP: usize = 5;

/// Builds the searches of a target and passes the source through them, aligned and from the start;
/// then normals, and whole alignments by each metric. Alignments take clouds that lie on the
/// device. On the CPU searches answer queries; on a GPU passes are those of the loop, without
/// copies.
///
/// # Errors
/// Out of memory, a lost device, threads that the system refuses.
pub fn icp(stream: &Stream, case: &IcpCase, rounds: usize, copy_rate: f64) -> Result<Vec<Measurement>> {
    let bench = Bench { stream, case, rounds, copy_rate };
    let mut measured = Vec::new();
    for (name, search) in [("kd-tree", Search::KdTree), ("lbvh", Search::Lbvh)] {
        measured.push(bench.build(name, search)?);
        measured.extend(bench.passes(name, search, case.source.len())?);
    }
    let queries = if stream.device().is_cpu() { QUERIES.min(case.source.len()) } else { case.source.len() };
    measured.extend(bench.passes("brute", Search::Brute, queries)?);
    measured.push(bench.normals()?);
    for (name, metric) in
        [("point-to-point", Metric::PointToPoint), ("point-to-plane", Metric::PointToPlane), ("gicp", Metric::Gicp)]
    {
        measured.push(bench.job(name, metric)?);
        measured.extend(bench.many(name, metric)?);
    }
    Ok(measured)
}

struct Bench<'a> {
    stream: &'a Stream,
    case: &'a IcpCase,
    rounds: usize,
    copy_rate: f64,
}

impl Bench<'_> {
    fn measure(
        &self,
        name: &str,
        points: usize,
        floor: usize,
        call: impl FnMut() -> Result<()> + Send,
    ) -> Result<Measurement> {
        let times = on_threads(self.stream, || time(self.stream, self.rounds, call))?;
        let name = format!("icp {name}: {}", self.case.name);
        Ok(Measurement::new(&name, self.stream, (points, 3), times, floor as u64, self.copy_rate))
    }

    fn build(&self, name: &str, search: Search) -> Result<Measurement> {
        let target = &self.case.target;
        let name = format!("{name}, build");
        let buffer = self.stream.upload(target.as_flattened())?;
        let mut searcher = Searcher::new(self.stream, cloud(&buffer)?, search)?;
        self.measure(&name, target.len(), 2 * target.len() * 12, || searcher.update(cloud(&buffer)?))
    }

    /// The source as it starts, and as it ends.
    fn passes(&self, name: &str, search: Search, queries: usize) -> Result<Vec<Measurement>> {
        if !self.stream.device().is_cpu() {
            return self.passes_of_the_loop(name, search);
        }
        let searcher = self.searcher(search)?;
        let aligned = self.case.aligned();
        let floor = self.case.target.len() * 12 + queries * 20;
        let mut measured = Vec::new();
        for (start, cloud) in [("aligned", &aligned), ("from the start", &self.case.source)] {
            // Evenly spaced, so that few queries are as far apart as many.
            let some: Vec<[f32; 3]> = (0..queries).map(|i| cloud[i * cloud.len() / queries]).collect();
            let name = format!("{name}, {start}");
            measured.push(self.measure(&name, queries, floor, || searcher.nearest(&some, None).map(drop))?);
        }
        Ok(measured)
    }

    /// The first look of alignments that make no step, by the clock of the device.
    fn passes_of_the_loop(&self, name: &str, search: Search) -> Result<Vec<Measurement>> {
        let (source, target) = (self.upload(&self.case.source)?, self.upload(&self.case.target)?);
        let params = IcpParams { metric: Metric::PointToPoint, search, max_iterations: 0, ..IcpParams::default() };
        let mut aligner = Aligner::new(self.stream, &params)?;
        let floor = self.case.target.len() * 12 + self.case.source.len() * 20;
        let mut measured = Vec::new();
        for (start, guess) in [("aligned", self.case.target_from_source), ("from the start", Pose::IDENTITY)] {
            let mut look = || -> Result<f64> {
                let found = aligner.align(cloud(&source)?, cloud(&target)?, &guess)?;
                Ok(found.fit.trace[0].timing.search_ms)
            };
            let times =
                Times::of_device((0..self.rounds + WARM_UP).map(|_| look()).skip(WARM_UP).collect::<Result<_>>()?);
            let name = format!("icp {name}, {start}: {}", self.case.name);
            let points = (self.case.source.len(), 3);
            measured.push(Measurement::new(&name, self.stream, points, times, floor as u64, self.copy_rate));
        }
        Ok(measured)
    }

    fn upload(&self, cloud: &[[f32; 3]]) -> Result<Buffer<f32>> {
        self.stream.upload(cloud.as_flattened())
    }

    /// The target in any search.
    fn searcher(&self, search: Search) -> Result<Searcher> {
        Searcher::new(self.stream, Rows::f32(self.case.target.as_flattened(), 3)?, search)
    }

    fn normals(&self) -> Result<Measurement> {
        let target = &self.case.target;
        let searcher = self.searcher(Search::Auto)?;
        let name = format!("normals of {NEIGHBOURS}");
        self.measure(&name, target.len(), target.len() * 24, || searcher.normals(NEIGHBOURS).map(drop))
    }

    /// Pairs of thinned clouds on the device, one and many in a call.
    fn many(&self, name: &str, metric: Metric) -> Result<Vec<Measurement>> {
        let thin = |cloud: &[[f32; 3]], by: usize| -> Vec<[f32; 3]> {
            let every = cloud.len().div_ceil(FEW).max(1);
            cloud.iter().skip(by % every).step_by(every).copied().collect()
        };
        let upload = |cloud: &[[f32; 3]]| -> Result<Vec<Buffer<f32>>> {
            (0..PAIRS).map(|by| self.upload(&thin(cloud, by))).collect()
        };
        let (sources, targets) = (upload(&self.case.source)?, upload(&self.case.target)?);
        let pair =
            |(source, target)| Ok(Pair { source: cloud(source)?, target: cloud(target)?, guess: Pose::IDENTITY });
        let pairs = sources.iter().zip(&targets).map(pair).collect::<Result<Vec<_>>>()?;
        let params = IcpParams { metric, ..IcpParams::default() };
        let mut aligner = Aligner::new(self.stream, &params)?;
        let mut measured = Vec::new();
        for number in [1, PAIRS] {
            let steps =
                aligner.align_many(&pairs[..number])?.into_iter().map(|found| found.map(|found| found.iterations));
            let steps = steps.collect::<Result<Vec<_>>>()?.into_iter().max().unwrap_or(0);
            let floor = number * (steps + 1) * 2 * FEW * 4;
            let name = format!("{name}, {number} pairs of {FEW} points, at most {steps} steps");
            let (points, floor) = (number * pairs[0].source.len(), floor);
            let call = || aligner.align_many(&pairs[..number]).map(drop);
            let times = time(self.stream, self.rounds, call)?;
            let name = format!("icp {name}: {}", self.case.name);
            measured.push(Measurement::new(&name, self.stream, (points, 3), times, floor as u64, self.copy_rate));
        }
        Ok(measured)
    }

    /// From clouds on the device to the pose.
    fn job(&self, name: &str, metric: Metric) -> Result<Measurement> {
        let (source, target) = (self.upload(&self.case.source)?, self.upload(&self.case.target)?);
        let params = IcpParams { metric, ..IcpParams::default() };
        let mut aligner = Aligner::new(self.stream, &params)?;
        let mut run = || aligner.align(cloud(&source)?, cloud(&target)?, &Pose::IDENTITY);
        let steps = run()?.iterations;
        let times = time(self.stream, self.rounds, || run().map(drop))?;
        let floor = (steps + 1) * (source.len() + target.len()) * 4;
        let name = format!("icp {name}, {steps} steps: {}", self.case.name);
        let points = (self.case.source.len(), 3);
        Ok(Measurement::new(&name, self.stream, points, times, floor as u64, self.copy_rate))
    }
}

/// About this many points of each cloud are in the pairs of [`Bench::many`].
const FEW: usize = 5_000;
/// Its pairs.
const PAIRS: usize = 64;

fn cloud(buffer: &Buffer<f32>) -> Result<Rows<'_>> {
    Rows::on_device(buffer, buffer.len() / 3, 3)
}

/// Runs work on as many threads as the device has: searches on the CPU take those of the pool that
/// calls them.
fn on_threads<T: Send>(stream: &Stream, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if !stream.device().is_cpu() {
        return work();
    }
    let threads = stream.device().threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let refused = |e| Error::Device {
        device: "cpu".into(),
        action: "start its threads",
        reason: format!("{threads} were asked for: {e}"),
    };
    pool.map_err(refused)?.install(work)
}
