//! The classes of points, as ASPRS names them.

/// The name of a class in files of a point format. Formats before 6 have two classes that later
/// ones do not have, and lack those of infrastructure, which files use all the same.
///
/// ```
/// use pointmill_io::class_name;
/// assert_eq!((class_name(3, 2), class_name(3, 12), class_name(7, 12)), ("ground", "overlap", "reserved"));
/// assert_eq!(class_name(6, 200), "user-defined");
/// ```
pub const fn class_name(point_format: u8, class: u8) -> &'static str {
    match (class, point_format) {
        (0, _) => "never classified",
        (1, _) => "unclassified",
        (2, _) => "ground",
        (3, _) => "low vegetation",
        (4, _) => "medium vegetation",
        (5, _) => "high vegetation",
        (6, _) => "building",
        (7, _) => "low noise",
        (8, ..6) => "model key-point",
        (9, _) => "water",
        (10, _) => "rail",
        (11, _) => "road surface",
        (12, ..6) => "overlap",
        (13, _) => "wire - guard",
        (14, _) => "wire - conductor",
        (15, _) => "transmission tower",
        (16, _) => "wire connector",
        (17, _) => "bridge deck",
        (18, _) => "high noise",
        (19, _) => "overhead structure",
        (20, _) => "ignored ground",
        (21, _) => "snow",
        (22, _) => "temporal exclusion",
        (64.., _) => "user-defined",
        _ => "reserved",
    }
}
