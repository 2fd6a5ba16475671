//! Random numbers by counting: the n-th number of a stream needs no number before it.

/// The finalizer of `SplitMix64`: every input bit reaches every output bit, and no two inputs
/// collide.
pub(crate) const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stream of random bits, addressed by a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The stream of this seed with this name; streams of different names are unrelated.
    pub(crate) const fn new(seed: u64, name: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(Self::STEP)) ^ name.wrapping_mul(Self::STEP)))
    }

    /// The bits at position `n`.
    pub(crate) const fn bits(self, n: u64) -> u64 {
        mix(self.0.wrapping_add(n.wrapping_mul(Self::STEP)))
    }
}

/// The upper 53 bits as a number in 0..1, exact in `f64`.
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// About a standard normal: the sum of four 16-bit uniforms. Never beyond 3.47, so one point cannot
/// fly off.
pub(crate) fn normal(bits: u64) -> f64 {
    let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    // The variance of one uniform is 1/12, that of four 1/3.
    (sum as f64 / 65536.0 - 2.0 + 2.0 / 65536.0) * 1.732_050_807_568_877_2
}

/// A stream read in order, for laying out the scene.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    stream: Stream,
    next: u64,
}

impl Dice {
    pub(crate) const fn new(seed: u64, name: u64) -> Self {
        Self { stream: Stream::new(seed, name), next: 0 }
    }

    pub(crate) const fn bits(&mut self) -> u64 {
        self.next += 1;
        self.stream.bits(self.next)
    }

    /// A number in `low..high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * unit(self.bits())
    }

    /// True with probability `p`.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        unit(self.bits()) < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_zero_and_variance_one() {
        let stream = Stream::new(3, 1);
        let n = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for i in 0..n {
            let v = normal(stream.bits(i));
            assert!(v.abs() < 3.47);
            sum += v;
            squares += v * v;
        }
        assert!((sum / n as f64).abs() < 0.02 && (squares / n as f64 - 1.0).abs() < 0.02);
    }

    #[test]
    fn units_stay_below_one() {
        assert_eq!(unit(0), 0.0);
        assert!(unit(u64::MAX) < 1.0);
    }
}
