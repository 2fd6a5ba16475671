//! The arguments that errors name.

/// Declares the enum once, each argument with its name.
macro_rules! arguments {
    ($(#[$meta:meta])* $($variant:ident = $name:literal,)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each is the name of an argument")]
        pub enum Argument {
            $($variant,)+
        }

        pointmill_core::names!(Argument { $($variant = $name),+ });
    };
}

arguments! {
    /// The argument that an operator refuses, under the name it has in Rust.
    ///
    /// ```
    /// use pointmill::{Argument, Device, Error};
    /// let refused = Device::cpu_with_threads(0).unwrap_err();
    /// assert!(matches!(refused, Error::Argument { argument: Argument::Threads, .. }));
    /// assert!(refused.to_string().starts_with("threads: expected 1 to 1024"));
    /// ```
    A = "a",
    Argmax = "argmax",
    Arrays = "arrays",
    B = "b",
    Base = "base",
    BoxSplits = "box_splits",
    Boxes = "boxes",
    Buffer = "buffer",
    Builder = "builder",
    Capacity = "capacity",
    Cells = "cells",
    Channels = "channels",
    Classes = "classes",
    Columns = "columns",
    Data = "data",
    Deltas = "deltas",
    Device = "device",
    Earlier = "earlier",
    Edge = "edge",
    EigenRatio = "eigen_ratio",
    Epsilon = "epsilon",
    Estimate = "estimate",
    Features = "features",
    GradFeatures = "grad_features",
    GradPooled = "grad_pooled",
    Grid = "grid",
    Guess = "guess",
    Index = "index",
    Input = "input",
    K = "k",
    Keys = "keys",
    Layout = "layout",
    Len = "len",
    Margin = "margin",
    Matrix = "matrix",
    MaxDistance = "max_distance",
    MaxIterations = "max_iterations",
    MaxPoints = "max_points",
    MaxPointsPerVoxel = "max_points_per_voxel",
    MaxRange = "max_range",
    MaxRejections = "max_rejections",
    MaxResults = "max_results",
    MaxTimeDifference = "max_time_difference",
    MaxVoxels = "max_voxels",
    Memory = "memory",
    Metric = "metric",
    MinConfirmed = "min_confirmed",
    MinExplained = "min_explained",
    MinMargin = "min_margin",
    MinNvtl = "min_nvtl",
    MinPoints = "min_points",
    MinRange = "min_range",
    N = "n",
    Neighbours = "neighbours",
    Odometry = "odometry",
    Origin = "origin",
    Other = "other",
    Out = "out",
    OutSize = "out_size",
    OutSizeX = "out_size[0]",
    OutSizeY = "out_size[1]",
    OutSizeZ = "out_size[2]",
    OutputsVoxels = "outputs.voxels",
    Pairs = "pairs",
    Part = "part",
    PointSplits = "point_splits",
    Points = "points",
    Pooled = "pooled",
    Pose = "pose",
    Poses = "poses",
    PostMax = "post_max",
    PreMax = "pre_max",
    Radius = "radius",
    Range = "range",
    Region = "region",
    Resolution = "resolution",
    Robust = "robust",
    RobustWidth = "robust_width",
    RowSplits = "row_splits",
    Scale = "scale",
    Scan = "scan",
    Scene = "scene",
    ScoreThreshold = "score_threshold",
    Scores = "scores",
    SearchRadius = "search_radius",
    Searcher = "searcher",
    Seconds = "seconds",
    SegmentEvery = "segment_every",
    SegmentLengths = "segment_lengths",
    SensorHeight = "sensor_height",
    Source = "source",
    StepSize = "step_size",
    StepTolerance = "step_tolerance",
    Stream = "stream",
    Target = "target",
    TargetFromSource = "target_from_source",
    TargetNormals = "target_normals",
    Threads = "threads",
    Threshold = "threshold",
    Times = "times",
    Truth = "truth",
    Values = "values",
    VoxelSize = "voxel_size",
    Voxels = "voxels",
    YawRange = "yaw_range",
}
