//! Handles and arrays as C has them.

use pointmill_c::*;
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

pub(crate) const OK: pointmill_status = pointmill_status::POINTMILL_OK;

pub(crate) fn message() -> String {
    // SAFETY: the text of this thread, until its next failure.
    unsafe { CStr::from_ptr(pointmill_last_message()) }.to_str().unwrap().to_owned()
}

#[track_caller]
pub(crate) fn ok(status: pointmill_status) {
    assert_eq!(status, OK, "{}", message());
}

pub(crate) fn stream(name: &str) -> *mut pointmill_stream {
    let (mut stream, name) = (null_mut(), CString::new(name).unwrap());
    ok(pointmill_stream_create(name.as_ptr(), Some(&mut stream)));
    stream
}

/// A handle as the functions take it.
pub(crate) fn shared<'a, T>(handle: *mut T) -> Option<&'a T> {
    // SAFETY: each test destroys its handles at its end.
    unsafe { handle.as_ref() }
}

pub(crate) fn own<'a, T>(handle: *mut T) -> Option<&'a mut T> {
    // SAFETY: as above, and each test is one thread.
    unsafe { handle.as_mut() }
}

pub(crate) fn ended<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: a handle came from a box.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

pub(crate) fn array<T>(values: &[T], columns: usize, r#type: pointmill_type) -> pointmill_array {
    pointmill_array {
        data: values.as_ptr().cast_mut().cast(),
        rows: (values.len() / columns) as u64,
        columns: columns as u64,
        r#type: r#type as u32,
        ..pointmill_array::new()
    }
}

pub(crate) fn floats(values: &[f32], columns: usize) -> pointmill_array {
    array(values, columns, pointmill_type::POINTMILL_F32)
}

/// An array of a result, copied to the host.
#[allow(dead_code, reason = "not all tests copy arrays")]
pub(crate) fn copied<T: Copy + Default>(
    mut get: impl FnMut(*const std::ffi::c_char, *mut pointmill_array) -> pointmill_status,
    name: &str,
) -> Vec<T> {
    let (name, mut view) = (CString::new(name).unwrap(), pointmill_array::new());
    ok(get(name.as_ptr(), &raw mut view));
    let mut values = vec![T::default(); (view.rows * view.columns) as usize];
    let mut out = pointmill_array { data: values.as_mut_ptr().cast(), place: 0, ..view };
    if !values.is_empty() {
        ok(get(name.as_ptr(), &raw mut out));
    }
    values
}

/// Points of a street: a floor, walls and posts.
pub(crate) fn street(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut points = Vec::new();
    for i in 0..n {
        let (a, b, c) = (next() * 60.0 - 30.0, next() * 20.0 - 10.0, next() * 4.0);
        match i % 4 {
            0 | 1 => points.extend([a, b, 0.02 * c, 0.5]),
            2 => points.extend([a, if b > 0.0 { 10.0 } else { -9.0 }, c, 0.25]),
            _ => points.extend([(a / 7.0).round() * 7.0 + 0.1 * b.sin(), 6.0 + 0.1 * b.cos(), c, 0.75]),
        }
    }
    points
}

/// Runs a worker on named inputs; null ones are left out.
#[allow(dead_code, reason = "not every test runs workers")]
pub(crate) fn run_worker(
    worker: *mut pointmill_worker,
    inputs: &[(&CStr, *const pointmill_array)],
) -> pointmill_status {
    let size = size_of::<pointmill_input>();
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(name, array)| pointmill_input { struct_size: size, name: name.as_ptr(), array: *array })
        .collect();
    pointmill_worker_run(own(worker), inputs.as_ptr(), inputs.len() as u64)
}
