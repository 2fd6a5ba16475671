//! Where searches find rows: a table of lines, or an array of them where cells lie close together.

use crate::device::{Buffer, Stream, workspace};
use crate::seed::seed;
use crate::{Result, memory};
use pointmill_core::hash::{Seed, first_slot};
use pointmill_core::ndt::{Line, LineBox, LinePlace, line_key};
use pointmill_kernels::ndt as kernels;

workspace! {
    /// Lines in memory of a device.
    pub(super) struct Lines(stream) {
        entries: Buffer<kernels::LinesEntry>,
        mask: u32 = 0,
        seed: Seed = seed(),
        /// The box that they are an array over, if they are one.
        around: Option<LineBox> = None,
    }
}

impl Lines {
    pub(super) fn upload(stream: &Stream, lines: &[(LinePlace, Line)]) -> Result<Self> {
        let mut uploaded = Self::new(stream)?;
        uploaded.look(lines.len(), LineBox::of(lines.iter().map(|line| line.0)));
        let mut entries = Vec::new();
        memory::resize(&mut entries, uploaded.len(), kernels::LinesEntry::default())?;
        for &(place, line) in lines {
            if let Some(at) = uploaded.around.and_then(|around| around.at(place)) {
                let words = &mut entries[at as usize / 2].0[at as usize % 2 * 2..];
                (words[0], words[1]) = (line.mask, !line.row);
                continue;
            }
            let key = line_key(place);
            let mut slot = first_slot(key, uploaded.mask, uploaded.seed);
            while entries[slot as usize].0 != [0; 4] {
                slot = (slot + 1) & uploaded.mask;
            }
            let stored = key + 1;
            entries[slot as usize].0 = [stored as u32, (stored >> 32) as u32, line.mask, !line.row];
        }
        uploaded.entries = stream.upload(&entries)?;
        Ok(uploaded)
    }

    /// Makes room for up to `n` lines in a box, and forgets all lines.
    pub(super) fn reserve(&mut self, n: usize, around: LineBox) -> Result<()> {
        self.look(n, around);
        let len = self.len();
        self.entries.reserve(len)?;
        self.entries.fill_words(0, len * size_of::<kernels::LinesEntry>() / 4)
    }

    /// Chooses how up to `n` lines in a box are found: by an array over the box where that takes no
    /// more memory than a table.
    fn look(&mut self, n: usize, around: LineBox) {
        // A table is at most half full.
        self.mask = (n * 2).next_power_of_two().max(4) as u32 - 1;
        let most = if cfg!(test) { 100 } else { 2 * (u64::from(self.mask) + 1) };
        self.around = (around.len() <= most).then_some(around);
    }

    /// Entries that the lines take.
    fn len(&self) -> usize {
        self.around.map_or(self.mask as usize + 1, |around| around.len().div_ceil(2).max(1) as usize)
    }

    /// The lines as kernels take them.
    pub(super) fn argument(&self) -> kernels::Lines {
        let (boxed, around) = (u32::from(self.around.is_some()), self.around.unwrap_or_default());
        kernels::Lines { entries: self.entries.pointer(), mask: self.mask, seed: self.seed, boxed, around }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grid;
    use super::*;
    use crate::ndt::cells::lines_of;
    use crate::ndt::{NdtParams, ndt_grid};
    use crate::testing::kernel_devices;
    use crate::{Device, Rows};
    use pointmill_core::ndt::NdtLattice;

    /// Every third cell of a few lines, one cell far from them, and the cells beside each.
    fn cells(far: i32) -> (Vec<[i32; 3]>, Vec<[i32; 3]>) {
        let few = (0..2).flat_map(|z| (-2..3).flat_map(move |y| (-70..70).step_by(3).map(move |x| [x, y, z])));
        let cells: Vec<[i32; 3]> = few.chain([[far, 3, 1]]).collect();
        let beside = cells.iter().flat_map(|&[x, y, z]| [[x, y, z], [x + 1, y, z], [x, y + 1, z], [x - 32, y, z - 1]]);
        let asked = beside.chain([[-1 << 20; 3], [(1 << 20) - 1; 3], [i32::MAX, 0, 0]]).collect();
        (cells, asked)
    }

    #[test]
    fn lines_lie_in_an_array_or_in_a_table() {
        let lattice = NdtLattice::new(1.0).unwrap();
        for (far, array) in [(71, true), (5000, false)] {
            let (coords, asked) = cells(far);
            let wanted: Vec<i32> =
                asked.iter().map(|cell| coords.iter().position(|c| c == cell).map_or(-1, |row| row as i32)).collect();
            let points: Vec<f32> = coords
                .iter()
                .flat_map(|cell| (0..4).map(move |k| [0, 1, 2].map(|i| cell[i] as f32 + [0.2, 0.8][k >> i & 1])))
                .flatten()
                .collect();
            let params = NdtParams { min_points: 1, ..NdtParams::default() };
            let cloud = Rows::f32(&points, 3).unwrap();
            let on_cpu = ndt_grid(cloud, 1.0, &params, &Device::cpu()).unwrap();
            assert_eq!(on_cpu.lookup(&asked).unwrap(), wanted, "{far}");
            for (name, device) in kernel_devices() {
                let cells = on_cpu.read().unwrap();
                let stream = device.stream().unwrap();
                let lines = Lines::upload(&stream, &lines_of(&cells).unwrap()).unwrap();
                assert_eq!(lines.around.is_some(), array, "{name}");
                let grid = Grid::upload(&stream, &cells).unwrap();
                assert_eq!(grid.lookup(&lattice, &asked).unwrap(), wanted, "{name}, {far}");
                let built = ndt_grid(cloud, 1.0, &params, &device).unwrap();
                assert_eq!(built.lookup(&asked).unwrap(), wanted, "{name}, {far}");
            }
        }
    }
}
