//! Rows of points that were chosen.

use crate::Result;
use crate::arrays::outputs;

outputs! {
    /// Samples of points, on the device that chose them. Nothing of it waits but
    /// [`FurthestPoints::read`].
    pub struct FurthestPoints of FurthestArray by FurthestSizes { samples } reports () {
        /// The rows that are taken, of item after item, in the order in which they were chosen; -1 in
        /// an item without a finite point.
        Rows = rows: i32 [samples],
    }
    words {}
    state {}
    /// Samples of points, on the host.
    #[derive(Eq)]
    pub struct FurthestPointsArrays {}
}

outputs! {
    /// The points of balls, on the device that found them. Nothing of it waits but [`Balls::read`].
    pub struct Balls of BallsArray by BallsSizes { centres, most } reports () {
        /// The rows of each ball: in input order, or by distance.
        Rows = rows: i32 [centres, most],
        /// How many of them are points of the ball, not filled up.
        NumPoints = num_points: i32 [centres] else 0,
    }
    words {}
    state {}
    /// The points of balls, on the host.
    #[derive(Eq)]
    pub struct BallsArrays {}
}

outputs! {
    /// Nearest neighbours, on the device that found them. Nothing of it waits but
    /// [`Neighbours::read`].
    pub struct Neighbours of NeighboursArray by NeighboursSizes { queries, k } reports () {
        /// The rows of the neighbours of each query, the nearest first; -1 where an item has fewer
        /// finite points.
        Rows = rows: i32 [queries, k],
        /// Their squared distances, infinite where there is none.
        SquaredDistances = squared_distances: f32 [queries, k],
    }
    words {}
    state {}
    /// Nearest neighbours, on the host.
    pub struct NeighboursArrays {}
}

/// All sizes are known before a call: nothing is counted.
macro_rules! known_sizes {
    ($($result:ident $sizes:ident $host:ident,)+) => {$(
        impl $result {
            const fn count(&self) -> Result<($sizes, ())> {
                Ok((self.sizes, ()))
            }

            /// Waits, and copies the arrays to the host.
            ///
            /// # Errors
            /// Whatever the queued work ran into, or no memory.
            pub fn read(&self) -> Result<$host> {
                self.host(self.sizes)
            }
        }
    )+};
}
known_sizes! {
    FurthestPoints FurthestSizes FurthestPointsArrays,
    Balls BallsSizes BallsArrays,
    Neighbours NeighboursSizes NeighboursArrays,
}
