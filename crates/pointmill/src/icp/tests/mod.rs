mod real;
mod search;

use super::{Registration, Timing};

use crate::testing::Random;

/// Points on a bumpy surface, so that neighbourhoods have normals.
fn cloud_of(n: usize, seed: u64) -> Vec<[f32; 3]> {
    let mut random = Random(seed);
    (0..n)
        .map(|_| {
            let (x, y) = (random.between(-1.0, 1.0), random.between(-1.0, 1.0));
            [x, y, 0.3 * (2.0 * x).sin() * (3.0 * y).cos() + 0.2 * x * x]
        })
        .collect()
}

fn on_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// Everything but times.
fn strip(mut got: Registration) -> Registration {
    got.prepare_ms = 0.0;
    got.trace.iter_mut().for_each(|entry| entry.timing = Timing::default());
    got
}
