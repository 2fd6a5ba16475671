//! Weights of residuals.

/// How much a pair counts, by its residual; one where the residual is zero.
///
/// With `u` the residual by the width:
///
/// | kernel | weight |
/// |---|---|
/// | [`Kernel::None`] | 1 |
/// | [`Kernel::Huber`] | 1 up to `u = 1`, then `1 / u` |
/// | [`Kernel::Cauchy`] | `1 / (1 + u^2)` |
/// | [`Kernel::GemanMcClure`] | `1 / (1 + u^2)^2` |
/// | [`Kernel::Tukey`] | `(1 - u^2)^2` up to `u = 1`, then 0 |
///
/// ```
/// use pointmill_core::icp::Kernel;
/// assert_eq!(Kernel::Huber(0.5).weight(4.0), 0.25); // a residual of 2 m, four widths
/// assert_eq!(Kernel::Tukey(0.5).weight(0.0), 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Kernel {
    /// Every pair alike.
    #[default]
    None,
    /// Width in metres.
    Huber(f64),
    /// Width in metres.
    Cauchy(f64),
    /// Width in metres.
    GemanMcClure(f64),
    /// Width in metres.
    Tukey(f64),
}

impl Kernel {
    /// The weight of a residual whose square is this.
    #[inline(always)]
    pub fn weight(&self, squared: f64) -> f64 {
        match *self {
            Self::None => 1.0,
            Self::Huber(width) => {
                if squared <= width * width {
                    1.0
                } else {
                    width / crate::float::sqrt(squared)
                }
            }
            Self::Cauchy(width) => 1.0 / (1.0 + squared / (width * width)),
            Self::GemanMcClure(width) => {
                let one = 1.0 / (1.0 + squared / (width * width));
                one * one
            }
            Self::Tukey(width) => {
                let rest = 1.0 - squared / (width * width);
                if rest > 0.0 { rest * rest } else { 0.0 }
            }
        }
    }

    /// The width, if there is one.
    pub const fn width(&self) -> Option<f64> {
        match *self {
            Self::None => None,
            Self::Huber(width) | Self::Cauchy(width) | Self::GemanMcClure(width) | Self::Tukey(width) => Some(width),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_start_at_one_and_fall() {
        let width = 0.25;
        for kernel in [Kernel::Huber(width), Kernel::Cauchy(width), Kernel::GemanMcClure(width), Kernel::Tukey(width)] {
            assert_eq!((kernel.weight(0.0), kernel.width()), (1.0, Some(width)));
            let mut last = 1.0;
            for step in 0..200 {
                let r = 0.01 * f64::from(step);
                let weight = kernel.weight(r * r);
                assert!((0.0..=last).contains(&weight), "{kernel:?} {r}");
                last = weight;
            }
        }
        assert_eq!((Kernel::None.weight(1e30), Kernel::None.width()), (1.0, None));
    }

    #[test]
    fn weights_at_two_widths() {
        let at = |kernel: Kernel| kernel.weight(1.0);
        let width = 0.5;
        assert_eq!(at(Kernel::Huber(width)), 0.5);
        assert_eq!(at(Kernel::Cauchy(width)), 0.2);
        assert!((at(Kernel::GemanMcClure(width)) - 0.04).abs() < 1e-16);
        assert_eq!(at(Kernel::Tukey(width)), 0.0);
        assert_eq!(Kernel::Tukey(2.0).weight(1.0), 0.5625);
    }
}
