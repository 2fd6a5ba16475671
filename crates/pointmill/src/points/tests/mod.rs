//! Samples and neighbours beside what is written plainly here.

mod gather;
mod parity;
