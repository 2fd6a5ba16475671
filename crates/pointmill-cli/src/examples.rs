//! The examples at the end of each command's help.

/// `voxelize`
pub(crate) const VOXELIZE: &str = "\
Examples:
  pointmill voxelize sweep.bin --out voxels.npz --visualize sweep.png
  pointmill voxelize 'sweeps/*.bin' --voxel-size 0.1,0.1,0.2 --out voxels/ --resume
  pointmill voxelize survey.laz --voxel-size 1 --range auto --out voxels.npz";

/// `roi-pool`
pub(crate) const ROI_POOL: &str = "\
Examples:
  pointmill roi-pool --points sweep.bin --boxes boxes.npy --features features.npy --out pooled.npz
  pointmill roi-pool --inside part --points sweep.bin --boxes boxes.npy --out inside.npz";

/// `ndt build`
pub(crate) const NDT_BUILD: &str = "\
Examples:
  pointmill ndt build map.pcd --out map.npz
  pointmill ndt build 'sweeps/*.bin' --poses poses.txt --resolution 1 --out map.npz
  pointmill ndt build drive.mcap --poses poses.txt --blocks 128 --out map/";

/// `ndt merge`
pub(crate) const NDT_MERGE: &str = "\
Examples:
  pointmill ndt merge north.arrow south.arrow --out map.npz
  pointmill ndt merge map/";

/// `ndt score`
pub(crate) const NDT_SCORE: &str = "\
Examples:
  pointmill ndt score --map map.npz --scan scan.pcd --pose pose.txt
  pointmill ndt score --map map/ --scan scan.pcd --pose pose.txt --visualize score.png";

/// `ndt align`
pub(crate) const NDT_ALIGN: &str = "\
Examples:
  pointmill ndt align --map map.npz --scan scan.pcd --guess pose.txt
  pointmill ndt align --map map.pcd --scan scan.pcd --guess pose.txt --visualize align.html";

/// `icp`
pub(crate) const ICP: &str = "\
Examples:
  pointmill icp source.ply target.ply --out aligned.ply
  pointmill icp source.pcd target.pcd --metric point-to-plane --max-distance 1 --visualize icp.gif
  pointmill icp 'scans/*.pcd' target.pcd --guess pose.txt --out aligned/";

/// `register`
pub(crate) const REGISTER: &str = "\
Examples:
  pointmill register source.pcd target.pcd --out aligned.ply --visualize register.html
  pointmill register 'scans/*.pcd' target.pcd --voxel-size 0.5 --out aligned/ --json";

/// `odometry`
pub(crate) const ODOMETRY: &str = "\
Examples:
  pointmill odometry drive.mcap --out poses.txt --visualize drive.html
  pointmill odometry 'sweeps/*.bin' --out poses.txt --map-out map.ply";

/// `localize`
pub(crate) const LOCALIZE: &str = "\
Examples:
  pointmill localize drive.mcap --map map.npz --guess pose.txt --out poses.txt
  pointmill localize 'scans/*.pcd' --map map.pcd --region 0,0,100,100 --visualize drive.html";

/// `evaluate`
pub(crate) const EVALUATE: &str = "\
Examples:
  pointmill evaluate poses.txt truth.txt --align se3
  pointmill evaluate poses.txt truth.txt --plot errors.html";

/// `evaluate detections`
pub(crate) const EVALUATE_DETECTIONS: &str = "\
Examples:
  pointmill evaluate detections found/ label_2/ --protocol kitti
  pointmill evaluate detections results.json truth.json --protocol nuscenes
  pointmill evaluate detections found.feather val/ --protocol av2 --compare before.feather";

/// `info`
pub(crate) const INFO: &str = "\
Examples:
  pointmill info sweep.bin
  pointmill info drive.mcap --json";

/// `convert`
pub(crate) const CONVERT: &str = "\
Examples:
  pointmill convert survey.laz --out survey.ply
  pointmill convert drive.mcap --to pcd --out clouds/";

/// `downsample`
pub(crate) const DOWNSAMPLE: &str = "\
Examples:
  pointmill downsample survey.laz --voxel-size 0.5 --out thin.ply
  pointmill downsample 'sweeps/*.bin' --keep first --to pcd --out thin/ --resume";

/// `crop`
pub(crate) const CROP: &str = "\
Examples:
  pointmill crop survey.laz --polygon parcel.txt --out parcel.ply
  pointmill crop 'sweeps/*.bin' --min-range 2.5 --max-range 60 --to pcd --out near/
  pointmill crop survey.laz --box 691700,5335800,-inf,691800,5335900,inf --out block.ply";

/// `merge`
pub(crate) const MERGE: &str = "\
Examples:
  pointmill merge north.laz south.laz --out both.ply
  pointmill merge 'tiles/*.laz' --out survey.ply";

/// `synth`
pub(crate) const SYNTH: &str = "\
Examples:
  pointmill synth --out drive/
  pointmill synth --shape rabbit --out rabbit/";
