//! Furthest samples, balls and nearest neighbours.

use crate::cache::Cache;
use crate::worker::{Call, Function};
use pointmill::points::{BallQuery, FurthestSampler, Knn};
use pointmill::worker::Worker;
use pyo3::prelude::*;

pub(crate) static FURTHEST: Function<FurthestSampler> = Function {
    doc: r#"Take points one after the other, each the furthest from those before it.

The result is the same on every device, in every run and with any number of threads. Of points as far the first in order is taken. It has no gradient.

{parameters}
Returns
-------
array of int32, ``[samples]``
    The rows that are taken, of item after item, in the order in which they were chosen. Rows count from the first of all items. An item without a finite point has -1.

Examples
--------
>>> import numpy as np
>>> from pointmill.points import furthest_point_sample
>>> points = np.array([[0, 0, 0], [1, 0, 0], [4, 0, 0], [2.5, 0, 0]], np.float32)
>>> furthest_point_sample(points, 3).tolist()
[0, 2, 3]
>>> furthest_point_sample(points, 1, row_splits=[0, 2, 4]).tolist()
[0, 2]"#,
    names: &[],
    by_place: &["number"],
    own: &[],
    short: 1 << 9,
    cache: Cache::new(),
    call: |call| Ok(all::<_, 1>(call)?.into_iter().next().expect("one array")),
};

pub(crate) static BALLS: Function<BallQuery> = Function {
    doc: r#"Find the points of a ball around each centre.

A point is in the ball if its distance from the centre is at least `min_radius` and below `radius`, or 0. The result is the same on every device, in every run and with any number of threads. It has no gradient.

{parameters}
Returns
-------
rows : array of int32, ``[M, most]``
    The rows of the points of each ball: ascending, or with ``pick="nearest"`` the nearest first. Rows count from the first of all items. A ball without points has -1.
num_points : array of int32, ``[M]``
    How many of them are points of the ball, not filled up.

Examples
--------
>>> import numpy as np
>>> from pointmill.points import ball_query
>>> points = np.array([[0, 0, 0], [5, 0, 0], [0.9, 0, 0]], np.float32)
>>> rows, num_points = ball_query(points, np.zeros((1, 3), np.float32), 1.0, 3)
>>> rows.tolist(), num_points.tolist()
([[0, 2, 0]], [2])"#,
    names: &[],
    by_place: &["radius", "most"],
    own: &[],
    short: 1 << 9,
    cache: Cache::new(),
    call: pair,
};

pub(crate) static KNN: Function<Knn> = Function {
    doc: r#"Find the nearest points of each query.

The result is the same on every device, in every run and with any number of threads. Of points as near the first in order comes first. It has no gradient.

{parameters}
Returns
-------
rows : array of int32, ``[M, k]``
    The rows of the neighbours of each query, the nearest first. Rows count from the first of all items. Where an item has fewer finite points: -1.
squared_distances : array of float32, ``[M, k]``
    Their squared distances; infinite where there is none.

Examples
--------
>>> import numpy as np
>>> from pointmill.points import knn
>>> points = np.array([[0, 0, 0], [5, 0, 0]], np.float32)
>>> rows, squared_distances = knn(points, np.array([[4, 0, 0]], np.float32), 2)
>>> rows.tolist(), squared_distances.tolist()
([[1, 0]], [[1.0, 16.0]])"#,
    names: &[],
    by_place: &["k"],
    own: &[],
    short: 1 << 9,
    cache: Cache::new(),
    call: pair,
};

/// All arrays of a call.
fn all<W: Worker, const N: usize>(call: &Call<'_, W>) -> PyResult<[Py<PyAny>; N]> {
    let (backend, made) = call.run(false)?;
    backend.outputs(made.arrays)?.all()
}

fn pair<W: Worker>(call: &mut Call<'_, W>) -> PyResult<Py<PyAny>> {
    let arrays: [Py<PyAny>; 2] = all(call)?;
    Ok(arrays.into_pyobject(call.py())?.into_any().unbind())
}
