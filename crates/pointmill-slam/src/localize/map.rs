//! The map that scans are matched with: all of it, or the tiles around the vehicle.

use super::ground::Ground;
use pointmill::device::Stream;
use pointmill::ndt::{NdtGrid, NdtLattice, NdtMoments, NdtParams};
use pointmill::{Argument, Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The numbers of a tile along x and y: tile `[i, j]` has the cells whose x is from `i * cells` to
/// below `(i + 1) * cells`, and y likewise, both counted from the origin of the lattice.
pub type TileKey = [i32; 2];

/// Where tiles come from: the moments of a tile, or none where the map has nothing. A tile that
/// cannot be read is an error of [`Argument::Map`]; the next scan asks for it again.
pub type TileSource = Box<dyn FnMut(TileKey) -> Result<Option<NdtMoments>> + Send>;

/// A map for a [`Localizer`](super::Localizer).
///
/// - [`From<Arc<NdtGrid>>`](LocalizerMap#impl-From<Arc<NdtGrid>>-for-LocalizerMap) or
///   `From<NdtGrid>`: a map that is small enough to be held at once;
/// - [`LocalizerMap::tiles`]: the part of a larger map around the vehicle.
#[derive(Debug)]
pub struct LocalizerMap(pub(super) Source);

#[derive(Debug)]
pub(super) enum Source {
    Whole(Arc<NdtGrid>),
    Tiles(Tiles),
}

impl From<Arc<NdtGrid>> for LocalizerMap {
    fn from(grid: Arc<NdtGrid>) -> Self {
        Self(Source::Whole(grid))
    }
}

impl From<NdtGrid> for LocalizerMap {
    fn from(grid: NdtGrid) -> Self {
        Arc::new(grid).into()
    }
}

impl LocalizerMap {
    /// A map of tiles of `cells` times `cells` columns of cells of a lattice, which all moments
    /// have. Tiles that reach within `radius` metres of the vehicle, along x and along y, are
    /// loaded; others are removed. [`LocalizerParams::reach`](super::LocalizerParams::reach) is a
    /// radius that gives the poses of the whole map.
    ///
    /// **Determinism**: moments are whole numbers, so that the map is, bit for bit, the one that is
    /// built of the loaded tiles at once.
    ///
    /// # Errors
    /// No cells; a radius that is not finite and positive or that makes more than 10,000 tiles;
    /// parameters out of range.
    ///
    /// ```
    /// use pointmill::ndt::{NdtLattice, NdtMoments, NdtParams};
    /// use pointmill_slam::localize::LocalizerMap;
    /// // Tiles of 128 m; this source has one.
    /// let mut only = NdtMoments::new(2.0)?;
    /// only.add(&[[1.0f32, 2.0, 0.5], [1.1, 2.1, 0.5]])?;
    /// let mut only = Some(only);
    /// let source = move |key| Ok(if key == [0, 0] { only.take() } else { None });
    /// let map = LocalizerMap::tiles(&NdtLattice::new(2.0)?, 64, 100.0, &NdtParams::default(), Box::new(source))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tiles(
        lattice: &NdtLattice,
        cells: u32,
        radius: f64,
        params: &NdtParams,
        source: TileSource,
    ) -> Result<Self> {
        params.validate()?;
        let moments = NdtMoments::new(lattice.unit())?.about(lattice.origin())?;
        if cells == 0 || cells > 1 << 20 {
            return Err(Error::argument(Argument::Cells, "1 to 2^20 cells along a tile", cells));
        }
        let edge = lattice.unit() * f64::from(cells);
        let most = 100.0 * edge;
        if !(radius.is_finite() && radius > 0.0 && 2.0 * radius < most) {
            return Err(Error::argument(Argument::Radius, format!("above 0 and below {} m", most / 2.0), radius));
        }
        Ok(Self(Source::Tiles(Tiles {
            source,
            edge,
            radius,
            params: *params,
            moments,
            loaded: BTreeMap::new(),
            stale: false,
        })))
    }
}

/// Tiles around a place.
pub(super) struct Tiles {
    source: TileSource,
    /// Edge of a tile in metres.
    edge: f64,
    radius: f64,
    params: NdtParams,
    /// The sum of the loaded tiles.
    moments: NdtMoments,
    /// The tiles that were asked for, with what they have.
    loaded: BTreeMap<TileKey, Option<NdtMoments>>,
    /// Whether the sum changed since a grid was made of it.
    stale: bool,
}

impl fmt::Debug for Tiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tiles").field("edge", &self.edge).field("radius", &self.radius).finish_non_exhaustive()
    }
}

impl Tiles {
    /// Loads the tiles that reach within the radius of a box, and removes the others. After an
    /// error some of them are loaded.
    fn surround(&mut self, [x0, y0, x1, y1]: [f64; 4]) -> Result<()> {
        let tile = |x: f64| (x / self.edge).floor().clamp(-2e6, 2e6) as i32;
        let (low, high) = ([x0, y0].map(|x| tile(x - self.radius)), [x1, y1].map(|x| tile(x + self.radius)));
        let count = |k: usize| (i64::from(high[k]) - i64::from(low[k]) + 1) as u64;
        if count(0) * count(1) > 10_000 {
            let got = format!("{} x {}", count(0), count(1));
            return Err(Error::argument(Argument::Region, "one of at most 10,000 tiles", got));
        }
        let inside = |key: &TileKey| (0..2).all(|k| (low[k]..=high[k]).contains(&key[k]));
        for j in low[1]..=high[1] {
            for i in low[0]..=high[0] {
                if self.loaded.contains_key(&[i, j]) {
                    continue;
                }
                let tile = (self.source)([i, j])?;
                if let Some(tile) = &tile {
                    self.moments.merge(tile)?;
                    self.stale = true;
                }
                self.loaded.insert([i, j], tile);
            }
        }
        let gone: Vec<TileKey> = self.loaded.keys().filter(|key| !inside(key)).copied().collect();
        for key in gone {
            if let Some(Some(tile)) = self.loaded.get(&key) {
                self.moments.subtract(tile)?;
                self.stale = true;
            }
            self.loaded.remove(&key);
        }
        Ok(())
    }
}

/// The part of the map that is matched with, on its device and as the host looks at it.
#[derive(Debug)]
pub(super) struct Near {
    source: Source,
    /// What the grid is about. Everything here and in the search is relative to it.
    pub(super) origin: [f64; 3],
    pub(super) grid: Arc<NdtGrid>,
    pub(super) ground: Ground,
}

impl Near {
    pub(super) fn new(stream: &Stream, map: LocalizerMap) -> Result<Self> {
        let LocalizerMap(source) = map;
        let grid = match &source {
            Source::Whole(grid) => Arc::clone(grid),
            Source::Tiles(tiles) => Arc::new(grid_of(tiles, stream)?),
        };
        if !grid.device().same_memory(&stream.device()) {
            let expected = format!("a map on {}", stream.device());
            return Err(Error::argument(Argument::Grid, expected, grid.device()));
        }
        let origin = grid.lattice().origin();
        let grid = about_zero(grid, stream)?;
        Ok(Self { source, origin, ground: Ground::new(&grid)?, grid })
    }

    /// Loads what lies around a box.
    pub(super) fn surround(&mut self, around: [f64; 4], stream: &Stream) -> Result<()> {
        let Source::Tiles(tiles) = &mut self.source else { return Ok(()) };
        tiles.surround(around)?;
        if tiles.stale {
            let grid = about_zero(Arc::new(grid_of(tiles, stream)?), stream)?;
            self.ground = Ground::new(&grid)?;
            self.grid = grid;
            tiles.stale = false;
        }
        Ok(())
    }

    /// Whether all of the map is there.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self.source, Source::Whole(_))
    }
}

/// The same cells about zero: everything near is relative to the origin of the map.
fn about_zero(grid: Arc<NdtGrid>, stream: &Stream) -> Result<Arc<NdtGrid>> {
    match grid.lattice().origin() {
        [0.0, 0.0, 0.0] => Ok(grid),
        _ => Ok(Arc::new(NdtGrid::from_cells(grid.read()?, grid.lattice().about([0.0; 3]), stream)?)),
    }
}

/// The grid of the loaded tiles.
fn grid_of(tiles: &Tiles, stream: &Stream) -> Result<NdtGrid> {
    let Tiles { moments, params, .. } = tiles;
    let cells = stream.device().install(|| moments.finish(params))?;
    NdtGrid::from_cells(cells, *moments.lattice(), stream)
}
