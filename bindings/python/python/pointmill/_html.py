"""What notebooks show of results: the fields as a table, and a plot where there is a curve or a cloud."""

from html import escape
from typing import Any

import numpy as np

from . import _pointmill as module

# The most values that a cell of a table shows, and the most points of a plot.
MOST_VALUES = 36
MOST_POINTS = 3000
WIDTH, HEIGHT, AIR = 420, 160, 8


def _repr_html_(self: Any) -> str:
    """Return the fields of a result as HTML, and a plot below."""
    names = SHOWN.get(type(self)) or sorted(name for name in vars(type(self)) if not name.startswith("_"))
    fields = [(name, getattr(self, name)) for name in names]
    # What is long comes last.
    fields = sorted((field for field in fields if not callable(field[1])), key=lambda field: hasattr(field[1], "shape"))
    rows = "".join(f"<tr><th>{name}</th><td>{text(value)}</td></tr>" for name, value in fields)
    plot = PLOTS.get(type(self))
    title = type(self).__name__ if rows else repr(self)
    return f"<div>{escape(title)}</div><table>{rows}</table>{plot(self) if plot else ''}"


def text(value: Any) -> str:
    """Return a value as HTML: long arrays by type and shape, lists of results by their number."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        of = f"{getattr(value, 'dtype', '')} {list(shape)}".strip()
        if not 0 < np.prod(shape) <= MOST_VALUES or not hasattr(value, "tolist"):
            return escape(of)
        values = np.array2string(np.array(value.tolist()), precision=4)
        return f"{escape(of)}<pre>{escape(values)}</pre>"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and value and type(value[0]).__module__.startswith("pointmill"):
        return f"{len(value)} of {type(value[0]).__name__}"
    return escape(str(value))


def curve(title: str, values: Any) -> str:
    """Return a line through values that are not negative, as SVG."""
    values = np.array([value for value in np.asarray(values, np.float64) if np.isfinite(value)])
    if not len(values):
        return ""
    x = np.linspace(AIR, WIDTH - AIR, len(values))
    top = max(values.max(), np.finfo(float).tiny)
    y = HEIGHT - AIR - (HEIGHT - 2 * AIR) * values / top
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(x, y))
    return svg(f"{title}, 0 to {top:.3g}", HEIGHT, f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="1.5"/>')


def above(title: str, points: Any) -> str:
    """Return points from above, x to the right, as SVG."""
    points = host(points)[:, :2].astype(np.float64)
    points = points[np.isfinite(points).all(1)]
    points = points[:: max(1, -(-len(points) // MOST_POINTS))]
    if not len(points):
        return ""
    # Strays do not count.
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    size = np.maximum(high - low, 1e-3)
    scale = min((WIDTH - 2 * AIR) / size[0], (2.0 * HEIGHT - 2 * AIR) / size[1])
    places = np.unique(((points[((low <= points) & (points <= high)).all(1)] - low) * scale).round().astype(int), axis=0)
    height = int(size[1] * scale) + 2 * AIR
    dots = "".join(f"M{x + AIR} {height - AIR - y}h0" for x, y in places)
    dots = f'<path d="{dots}" stroke="#0072b2" stroke-width="2" stroke-linecap="round"/>'
    return svg(f"{title}, {size[0]:.1f} x {size[1]:.1f} m", height, dots)


def svg(title: str, height: int, content: str) -> str:
    """Return a drawing with its title."""
    return f'<div>{escape(title)}</div><svg width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">{content}</svg>'


def host(array: Any) -> Any:
    """Return an array as one of numpy."""
    for name in ("cpu", "get"):
        if hasattr(array, name):
            array = getattr(array, name)()
    return np.asarray(array) if hasattr(array, "tolist") else np.zeros((0, 2))


# The arrays of a grid may be large, and on a GPU.
SHOWN: Any = {module.Grid: ["resolution", "report"]}
PLOTS: Any = {
    module.IcpRegistration: lambda found: curve("rmse of the pairs in metres, by iteration", [at.rmse for at in found.trace]),
    module.Evaluation: lambda found: curve("errors of the positions in metres, by pose", found.translation_errors),
    module.Odometry: lambda odometry: above("map from above", odometry.map()),
    module.Grid: lambda grid: above("means of the cells from above", grid.mean),
    module.Scan: lambda scan: above("from above", scan.points),
}
_KINDS: tuple[type[Any], ...] = (
    module.ErrorStatistics,
    module.Evaluation,
    module.Grid,
    module.IcpIteration,
    module.IcpRegistration,
    module.Moments,
    module.NdtFit,
    module.NdtRegistration,
    module.NdtReport,
    module.Odometry,
    module.OdometryStep,
    module.RelativeErrors,
    module.RoiPooled,
    module.Scan,
    module.VoxelReport,
    module.Voxels,
)
for kind in _KINDS:
    kind._repr_html_ = _repr_html_
