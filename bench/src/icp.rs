//! Clouds onto clouds: searches, normals and whole alignments.

use crate::{IcpCase, Measurement, time};
use pointmill::icp::{Aligner, IcpParams, Metric, Search, Searcher, normals};
use pointmill::{Buffer, Coordinates, Error, Result, Stream};

/// Points that normals are made from.
const NEIGHBOURS: usize = 20;
/// Brute force on the CPU is asked so many queries at most; a whole pass takes as many times longer as there are more.
const QUERIES: usize = 1_000;

/// Builds the searches of a target and passes the source through them, aligned and from the start; then normals, and whole alignments by each metric. Alignments take clouds
/// that lie on the device; searches take points of the host, and copy them to a GPU and the answers back.
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
        self.measure(&name, target.len(), 2 * target.len() * 12, || Searcher::on(self.stream, target, search).map(drop))
    }

    /// The source as it starts, and as it ends.
    fn passes(&self, name: &str, search: Search, queries: usize) -> Result<Vec<Measurement>> {
        let searcher = Searcher::on(self.stream, &self.case.target, search)?;
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

    fn normals(&self) -> Result<Measurement> {
        let target = &self.case.target;
        let searcher = Searcher::on(self.stream, target, Search::Auto)?;
        let name = format!("normals of {NEIGHBOURS}");
        self.measure(&name, target.len(), target.len() * 24, || normals(target, &searcher, NEIGHBOURS).map(drop))
    }

    /// From clouds on the device to the pose.
    fn job(&self, name: &str, metric: Metric) -> Result<Measurement> {
        let [source, target] =
            [&self.case.source, &self.case.target].map(|cloud| self.stream.upload(cloud.as_flattened()));
        let (source, target) = (source?, target?);
        let cloud = |buffer| -> Result<Coordinates<'_>> { Coordinates::on_device(buffer, Buffer::len(buffer) / 3, 3) };
        let params = IcpParams { metric, ..IcpParams::default() };
        let mut aligner = Aligner::new(self.stream)?;
        let mut run = || aligner.align(cloud(&source)?, cloud(&target)?, &params);
        let steps = run()?.iterations;
        let times = time(self.stream, self.rounds, || run().map(drop))?;
        let floor = (steps + 1) * (source.len() + target.len()) * 4;
        let name = format!("icp {name}, {steps} steps: {}", self.case.name);
        let points = (self.case.source.len(), 3);
        Ok(Measurement::new(&name, self.stream, points, times, floor as u64, self.copy_rate))
    }
}

/// Runs work on as many threads as the device has: searches on the CPU take those of the pool that calls them.
fn on_threads<T: Send>(stream: &Stream, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if !stream.device().is_cpu() {
        return work();
    }
    let threads = stream.device().threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| Error::Internal { what: format!("{threads} threads: {e}") })?.install(work)
}
