//! Samples and neighbours beside what is written plainly here.

mod parity;
