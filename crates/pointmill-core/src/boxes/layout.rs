//! What the columns of rows of boxes are.

use super::COLUMNS;

/// What the columns of a row are, in metres and radians. Columns behind these are not looked at.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoxLayout {
    /// x, y, z, dx, dy, dz, yaw, and none behind.
    #[default]
    Box,
    /// The same, and the yaw is taken as 0.
    UprightBox,
    /// x, y, dx, dy, yaw of a rectangle: a box 1 m high whose z is 0.
    Rectangle,
    /// The same with a yaw that turns y towards x.
    ReversedRectangle,
    /// The least x and y, the largest x and y, and the yaw about the centre.
    Corners,
    /// The same, and the yaw is taken as 0.
    UprightCorners,
    /// x, y: the centre of a box of 1 m3 whose z is 0.
    Center,
}

crate::names!(BoxLayout {
    Box = "box",
    UprightBox = "upright-box",
    Rectangle = "rectangle",
    ReversedRectangle = "reversed-rectangle",
    Corners = "corners",
    UprightCorners = "upright-corners",
    Center = "center",
});

impl BoxLayout {
    /// Whether rows of so many columns have this layout.
    pub const fn fits(self, columns: usize) -> bool {
        match self {
            Self::Box | Self::UprightBox => columns == COLUMNS,
            Self::Center => columns >= 2,
            _ => columns >= 5,
        }
    }

    /// The columns in words.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Box | Self::UprightBox => "7 columns (x, y, z, dx, dy, dz, yaw)",
            Self::Rectangle | Self::ReversedRectangle => "5 columns or more (x, y, dx, dy, yaw)",
            Self::Corners | Self::UprightCorners => "5 columns or more (x1, y1, x2, y2, yaw)",
            Self::Center => "2 columns or more (x, y)",
        }
    }

    /// The box of a row: x, y, z, dx, dy, dz, yaw.
    ///
    /// ```
    /// use pointmill_core::boxes::BoxLayout;
    /// let row = [1.0, 2.0, 3.0, 6.0, 0.5];
    /// assert_eq!(BoxLayout::Corners.row(|k| row[k]), [2.0, 4.0, 0.0, 2.0, 4.0, 1.0, 0.5]);
    /// ```
    #[inline(always)]
    pub fn row(self, value: impl Fn(usize) -> f64) -> [f64; COLUMNS] {
        let rectangle = |yaw: f64| [value(0), value(1), 0.0, value(2), value(3), 1.0, yaw];
        let corners = |yaw: f64| {
            let [x1, y1, x2, y2] = [value(0), value(1), value(2), value(3)];
            [(x1 + x2) / 2.0, (y1 + y2) / 2.0, 0.0, x2 - x1, y2 - y1, 1.0, yaw]
        };
        let whole = |yaw: f64| [value(0), value(1), value(2), value(3), value(4), value(5), yaw];
        match self {
            Self::Box => whole(value(6)),
            Self::UprightBox => whole(0.0),
            Self::Rectangle => rectangle(value(4)),
            Self::ReversedRectangle => rectangle(-value(4)),
            Self::Corners => corners(value(4)),
            Self::UprightCorners => corners(0.0),
            Self::Center => [value(0), value(1), 0.0, 1.0, 1.0, 1.0, 0.0],
        }
    }
}
