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
    ApartMetres = "apart_metres",
    ApartRadians = "apart_radians",
    Argmax = "argmax",
    Arrays = "arrays",
    B = "b",
    Base = "base",
    Batch = "batch",
    BoxSplits = "box_splits",
    Boxes = "boxes",
    Buffer = "buffer",
    Builder = "builder",
    Candidates = "candidates",
    Capacity = "capacity",
    Cells = "cells",
    CentreSplits = "centre_splits",
    Centres = "centres",
    Channels = "channels",
    Classes = "classes",
    Codes = "codes",
    Columns = "columns",
    Coords = "coords",
    Count = "count",
    Data = "data",
    Deltas = "deltas",
    Depth = "depth",
    Device = "device",
    Dilation = "dilation",
    Earlier = "earlier",
    Edge = "edge",
    EigenRatio = "eigen_ratio",
    Epsilon = "epsilon",
    Estimate = "estimate",
    Features = "features",
    Fill = "fill",
    GradFeatures = "grad_features",
    GradPooled = "grad_pooled",
    Grid = "grid",
    GridSize = "grid_size",
    GridX = "grid[0]",
    GridY = "grid[1]",
    GridZ = "grid[2]",
    Ground = "ground",
    Guess = "guess",
    Index = "index",
    Input = "input",
    Items = "items",
    K = "k",
    Keep = "keep",
    Kernel = "kernel",
    Keys = "keys",
    Layout = "layout",
    Len = "len",
    Map = "map",
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
    MinRadius = "min_radius",
    MinRange = "min_range",
    Most = "most",
    N = "n",
    Neighbours = "neighbours",
    NumPoints = "num_points",
    Number = "number",
    Odometry = "odometry",
    Offsets = "offsets",
    Orders = "orders",
    Origin = "origin",
    Other = "other",
    Out = "out",
    OutSize = "out_size",
    OutSizeX = "out_size[0]",
    OutSizeY = "out_size[1]",
    OutSizeZ = "out_size[2]",
    Outputs = "outputs",
    OutputsVoxels = "outputs.voxels",
    Padding = "padding",
    Pairs = "pairs",
    Part = "part",
    PatchSize = "patch_size",
    Pick = "pick",
    PointSplits = "point_splits",
    Points = "points",
    Pooled = "pooled",
    Pose = "pose",
    Poses = "poses",
    PostMax = "post_max",
    PreMax = "pre_max",
    Queries = "queries",
    QuerySplits = "query_splits",
    Radius = "radius",
    Range = "range",
    RangeX = "range[0]",
    RangeY = "range[1]",
    RangeZ = "range[2]",
    Region = "region",
    Resolution = "resolution",
    Robust = "robust",
    RobustWidth = "robust_width",
    RowSplits = "row_splits",
    SampleSplits = "sample_splits",
    Scale = "scale",
    Scan = "scan",
    Scene = "scene",
    ScoreThreshold = "score_threshold",
    Scores = "scores",
    SearchRadius = "search_radius",
    Searcher = "searcher",
    Seconds = "seconds",
    Seed = "seed",
    SegmentEvery = "segment_every",
    SegmentLengths = "segment_lengths",
    SensorHeight = "sensor_height",
    Shape = "shape",
    Source = "source",
    Start = "start",
    Step = "step",
    StepSize = "step_size",
    StepTolerance = "step_tolerance",
    Stream = "stream",
    Stride = "stride",
    Strides = "strides",
    Sweeps = "sweeps",
    Target = "target",
    TargetFromSource = "target_from_source",
    TargetNormals = "target_normals",
    Threads = "threads",
    Threshold = "threshold",
    TimeLags = "time_lags",
    Times = "times",
    Transforms = "transforms",
    Truth = "truth",
    Turn = "turn",
    Values = "values",
    VoxelSize = "voxel_size",
    VoxelSizeX = "voxel_size[0]",
    VoxelSizeY = "voxel_size[1]",
    VoxelSizeZ = "voxel_size[2]",
    Voxels = "voxels",
    Weights = "weights",
    YawRange = "yaw_range",
}

impl Argument {
    pub(crate) const GRID: [Self; 3] = [Self::GridX, Self::GridY, Self::GridZ];
    pub(crate) const RANGE: [Self; 3] = [Self::RangeX, Self::RangeY, Self::RangeZ];
    pub(crate) const VOXEL_SIZE: [Self; 3] = [Self::VoxelSizeX, Self::VoxelSizeY, Self::VoxelSizeZ];

    /// The argument that has the axis, and the number of the axis; for others the argument itself.
    ///
    /// ```
    /// use pointmill::Argument;
    /// assert_eq!(Argument::RangeZ.of_axis(), (Argument::Range, Some(2)));
    /// assert_eq!(Argument::Range.of_axis(), (Argument::Range, None));
    /// ```
    pub fn of_axis(self) -> (Self, Option<usize>) {
        let all = [
            (Self::Grid, Self::GRID),
            (Self::Range, Self::RANGE),
            (Self::VoxelSize, Self::VOXEL_SIZE),
            (Self::OutSize, [Self::OutSizeX, Self::OutSizeY, Self::OutSizeZ]),
        ];
        let found = all.iter().find_map(|(of, axes)| Some((*of, axes.iter().position(|axis| *axis == self)?)));
        found.map_or((self, None), |(of, axis)| (of, Some(axis)))
    }
}
