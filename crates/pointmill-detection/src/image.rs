//! Boxes in the image of KITTI: which of them count at a level, and how much they overlap.

use crate::report::Level;
use pointmill_io::detections::ImageBox;

impl Level {
    /// The least height in pixels, the largest occlusion and truncation.
    pub(crate) const fn bounds(self) -> [f64; 3] {
        match self {
            Self::Easy => [40.0, 0.0, 0.15],
            Self::Moderate => [25.0, 1.0, 0.3],
            Self::Hard => [25.0, 2.0, 0.5],
        }
    }

    /// Whether a box of the truth counts.
    pub(crate) fn counts(self, image: &ImageBox) -> bool {
        let [height, occlusion, truncation] = self.bounds();
        // The devkit requires more than the least height of the truth, and of predictions as much.
        height_of(image) > height && image.occlusion <= occlusion && image.truncation <= truncation
    }

    /// Whether a prediction is too small to count.
    pub(crate) fn is_small(self, image: &ImageBox) -> bool {
        height_of(image) < self.bounds()[0]
    }
}

pub(crate) fn height_of(image: &ImageBox) -> f64 {
    image.corners[3] - image.corners[1]
}

pub(crate) fn intersection(a: &ImageBox, b: &ImageBox) -> f64 {
    let side = |i: usize| a.corners[i + 2].min(b.corners[i + 2]) - a.corners[i].max(b.corners[i]);
    if side(0) > 0.0 && side(1) > 0.0 { side(0) * side(1) } else { 0.0 }
}

pub(crate) fn area(image: &ImageBox) -> f64 {
    (image.corners[2] - image.corners[0]) * height_of(image)
}

pub(crate) fn overlap_of_images(a: &ImageBox, b: &ImageBox) -> f64 {
    let inside = intersection(a, b);
    if inside > 0.0 { inside / (area(a) + area(b) - inside) } else { 0.0 }
}
