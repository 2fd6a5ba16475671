//! Parameters, reports and results of registrations as JSON.

use pointmill::icp::{IcpParams, Metric, Robust, Stage};
use pointmill::ndt::{NdtAlignParams, NdtParams, ndt_grid};
use pointmill::{Device, Pose, Rows, icp};
use serde_json::{Value, json};

/// A corner of a room.
fn room() -> Vec<f32> {
    let mut points = Vec::new();
    for i in 0..400 {
        let (a, b) = ((i % 20) as f32 * 0.1, (i / 20) as f32 * 0.1);
        points.extend([a, b, 0.0, /**/ 0.0, a, b, /**/ a, 0.0, b]);
    }
    points
}

/// The names of an object's fields, in their order in the text.
fn fields(value: &impl serde::Serialize) -> Vec<String> {
    let text = serde_json::to_string(value).unwrap();
    let mut depth = 0;
    let mut names = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        match rest.as_bytes()[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {
                let word = rest[at + 1..].split('"').next().unwrap();
                rest = &rest[at + 1 + word.len()..];
                if depth == 1 && rest[1..].starts_with(':') {
                    names.push(word.to_owned());
                }
                rest = &rest[1..];
                continue;
            }
        }
        rest = &rest[at + 1..];
    }
    names
}

#[test]
fn parameters_lead_back_and_unknown_fields_are_refused() {
    let stage = Stage { voxel_size: 0.5, max_distance: Some(2.0) };
    let robust = Robust::GemanMcClure(0.25);
    let params = IcpParams { metric: Metric::Gicp, robust, schedule: vec![stage], ..IcpParams::default() };
    let json = serde_json::to_value(&params).unwrap();
    assert_eq!(
        json,
        json!({
            "metric": "gicp", "search": "auto", "max_distance": null, "robust": "geman-mcclure:0.25", "max_iterations": 100, "step_tolerance": 1e-6, "neighbours": 20,
            "drop_zeros": false, "schedule": [{ "voxel_size": 0.5, "max_distance": 2.0 }]
        })
    );
    assert_eq!(serde_json::from_value::<IcpParams>(json).unwrap(), params);
    assert_eq!(serde_json::from_str::<IcpParams>("{}").unwrap(), IcpParams::default());
    assert!(serde_json::from_str::<IcpParams>(r#"{ "metrics": "gicp" }"#).is_err());
    assert!(serde_json::from_str::<IcpParams>(r#"{ "robust": "huber" }"#).is_err());
    let cells = serde_json::to_value(NdtParams::default()).unwrap();
    assert_eq!(cells, json!({ "covariance": "autoware", "min_points": 6, "eigen_ratio": 0.01 }));
    assert_eq!(serde_json::from_value::<NdtParams>(cells).unwrap(), NdtParams::default());
    let align = serde_json::to_value(NdtAlignParams::default()).unwrap();
    assert_eq!(align, json!({ "max_iterations": 30, "step_size": 0.1, "epsilon": 0.01 }));
    assert_eq!(serde_json::from_value::<NdtAlignParams>(align).unwrap(), NdtAlignParams::default());
}

#[test]
fn results_are_one_object_each() {
    let (room, device) = (room(), Device::cpu());
    let cloud = Rows::f32(&room, 3).unwrap();
    let guess = Pose::from_xyzrpy([0.02, 0.0, 0.0, 0.0, 0.0, 0.01]).unwrap();
    let found = icp::align(cloud, cloud, &guess, &IcpParams::default(), &device).unwrap();
    let common = ["target_from_source", "status", "converged", "iterations", "hessian", "covariance"];
    let of_icp = [
        "fitness",
        "inlier_rmse",
        "num_inliers",
        "observability",
        "pivot",
        "source_dropped",
        "target_dropped",
        "prepare_ms",
        "trace",
    ];
    assert_eq!(fields(&found), [&common[..], &of_icp].concat());
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["target_from_source"].as_array().unwrap().len(), 16);
    assert_eq!((&json["status"], &json["converged"]), (&json!("step-below"), &json!(true)));
    assert_eq!(json["observability"]["rank"], 6);
    assert_eq!(json["source_dropped"], json!({ "non_finite": 0, "zeros": 0 }));
    let first: Vec<String> = fields(&found.fit.trace[0]);
    let of_iteration = [
        "stage",
        "target_from_source",
        "pairs",
        "changed",
        "searched",
        "rmse",
        "step",
        "search_ms",
        "reduce_ms",
        "solve_ms",
    ];
    assert_eq!(first, of_iteration);

    let map = ndt_grid(cloud, 1.0, &NdtParams::default(), &device).unwrap();
    let found = &map.align(cloud, &[guess], &NdtAlignParams::default()).unwrap()[0];
    let of_ndt = ["transform_probability", "nvtl", "score", "hits", "oscillations"];
    assert_eq!(fields(found), [&common[..], &of_ndt].concat());
    let json = serde_json::to_value(found).unwrap();
    assert_eq!(json["status"], Value::from("step-below"));
    assert_eq!(serde_json::from_value::<Pose>(json["target_from_source"].clone()).unwrap(), found.target_from_source);
}
