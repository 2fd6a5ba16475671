//! Vectors of three numbers, and matrices that turn them.

use crate::linear::Square;

/// The direction of a vector, of length one; not numbers for a vector of length zero.
pub fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = crate::float::sqrt(dot(v, v));
    v.map(|x| x / length)
}

/// A point of `f32` as `f64`, exactly.
#[inline(always)]
pub const fn wide(p: [f32; 3]) -> [f64; 3] {
    [p[0] as f64, p[1] as f64, p[2] as f64]
}

/// `a` plus `b`.
#[inline(always)]
pub fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// `a` less `b`.
#[inline(always)]
pub fn subtract(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// The scalar product.
#[inline(always)]
pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector product.
#[inline(always)]
pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A matrix times a vector.
#[inline(always)]
pub fn rotate(m: &Square<3>, p: [f64; 3]) -> [f64; 3] {
    [dot(m[0], p), dot(m[1], p), dot(m[2], p)]
}

/// The product of two matrices.
#[inline(always)]
pub fn multiply(a: &Square<3>, b: &Square<3>) -> Square<3> {
    let columns = transpose(b);
    let mut out = [[0.0; 3]; 3];
    let mut i = 0;
    while i < 3 {
        out[i] = [dot(a[i], columns[0]), dot(a[i], columns[1]), dot(a[i], columns[2])];
        i += 1;
    }
    out
}

/// Rows become columns.
#[inline(always)]
pub fn transpose(m: &Square<3>) -> Square<3> {
    [[m[0][0], m[1][0], m[2][0]], [m[0][1], m[1][1], m[2][1]], [m[0][2], m[1][2], m[2][2]]]
}
