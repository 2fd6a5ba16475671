//! Cells in the order of curves, and larger cells.

use crate::array::{Outcome, View, counted, lent, lent_or_none, pointmill_array};
use crate::error::{Fault, Result, guard, pointmill_status};
use crate::handle::{choice, create, defaults, destroy, given_or, list, some, structs};
use crate::stream::{of, pointmill_stream};
use pointmill::interop::Lent;
use pointmill::sparse::{
    Cells, Hierarchy, MAX_ORDERS, Order, PoolParams, Pooler, SerializeParams, Serialized, Serializer,
};
use pointmill::{Argument, Buffer, Stream};
use std::ffi::c_char;

/// Curves that fill a grid.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum pointmill_order {
    POINTMILL_ORDER_Z = 0,
    POINTMILL_ORDER_Z_TRANS = 1,
    POINTMILL_ORDER_HILBERT = 2,
    POINTMILL_ORDER_HILBERT_TRANS = 3,
}

/// Parameters of serialization.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pointmill_serialize_params {
    /// sizeof(pointmill_serialize_params)
    pub struct_size: usize,
    /// Bits of a coordinate, 1 to 16; default 0, as many as the largest has, for which a call on a GPU
    /// waits.
    pub depth: u32,
    /// The number of curves, 1 to 4; default 4.
    pub num_orders: u32,
    /// The curves, each a pointmill_order.
    pub orders: [u32; 4],
}
structs!(pointmill_serialize_params);

impl pointmill_serialize_params {
    const fn new() -> Self {
        Self { struct_size: size_of::<Self>(), depth: 0, num_orders: 4, orders: [0, 1, 2, 3] }
    }

    fn params(&self) -> Result<SerializeParams> {
        let orders = self.orders.get(..self.num_orders as usize);
        let orders =
            orders.ok_or_else(|| Fault::new("num_orders", format_args!("1 to {MAX_ORDERS}"), self.num_orders))?;
        let orders = orders.iter().map(|&order| choice(Order::ALL, order, Argument::Orders)).collect::<Result<_>>()?;
        Ok(SerializeParams { depth: Some(self.depth).filter(|&depth| depth > 0), orders })
    }
}

/// Orders cells, call after call.
#[derive(Debug)]
pub struct pointmill_serializer {
    stream: Stream,
    worker: Serializer,
    serialized: Serialized,
    outcome: Outcome,
}

/// Makes larger and larger cells, call after call.
#[derive(Debug)]
pub struct pointmill_pooler {
    stream: Stream,
    worker: Pooler,
    hierarchy: Hierarchy,
    outcome: Outcome,
}

/// Cells that were lent.
struct LentCells {
    coords: Lent,
    batch: Option<(Lent, u64)>,
    count: Option<Buffer<u32>>,
}

impl LentCells {
    fn new(
        stream: &Stream,
        coords: *const pointmill_array,
        batch: *const pointmill_array,
        items: u64,
        count: *const pointmill_array,
    ) -> Result<Self> {
        Ok(Self {
            coords: lent(coords, Argument::Coords, stream)?,
            batch: lent_or_none(batch, Argument::Batch, stream)?.map(|batch| (batch, items)),
            count: counted(count, stream)?,
        })
    }

    fn cells(&self) -> Result<Cells<'_>> {
        let mut cells = Cells::new(self.coords.ints(Argument::Coords, &[3])?)?;
        if let Some((batch, items)) = &self.batch {
            cells = cells.batch(batch.ints(Argument::Batch, &[1])?, *items as usize)?;
        }
        Ok(self.count.as_ref().map_or(Ok(cells), |count| cells.counted(count))?)
    }
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_serialize_params_init(params: *mut pointmill_serialize_params) -> pointmill_status {
    defaults(params, pointmill_serialize_params::new)
}

/// A serializer whose work goes to the stream. Pass NULL to use the default parameters.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_serializer_create(
    stream: Option<&pointmill_stream>,
    params: *const pointmill_serialize_params,
    serializer: Option<&mut *mut pointmill_serializer>,
) -> pointmill_status {
    guard(|| {
        create(serializer, || {
            let stream = of(stream)?;
            let params = given_or(params, pointmill_serialize_params::new)?.params()?;
            let worker = Serializer::new(stream, &params)?;
            let outcome = Outcome::none("pointmill_serializer_run");
            Ok(pointmill_serializer { serialized: worker.output()?, worker, stream: stream.clone(), outcome })
        })
    })
}

/// Orders cells [V, 3] of i32, x, y, z. `batch` [V] is the item of each of `num_items`, or null.
/// `count` is a u32 that says how many of the rows there are, or null: with it and a given depth no
/// call waits.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_serializer_run(
    serializer: Option<&mut pointmill_serializer>,
    coords: *const pointmill_array,
    batch: *const pointmill_array,
    num_items: u64,
    count: *const pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_serializer { stream, worker, serialized, outcome } = some(serializer, "serializer")?;
        outcome.of(|| {
            let cells = LentCells::new(stream, coords, batch, num_items, count)?;
            Ok(worker.run(cells.cells()?, serialized)?)
        })
    })
}

/// An array of the last call, [k, V] for k curves: "codes" of u64, "order" and "inverse" of u32.
/// "count" [1] of u32.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_serializer_array(
    serializer: Option<&pointmill_serializer>,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_serializer { stream, serialized: s, outcome, .. } = some(serializer, "serializer")?;
        outcome.give(|| View::of(s, &[("count", s.num_cells())]), name, stream, array)
    })
}

/// Waits. Fails if cells of the last call are invalid, which a GPU finds late.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_serializer_check(serializer: Option<&pointmill_serializer>) -> pointmill_status {
    guard(|| Ok(some(serializer, "serializer")?.serialized.read().map(drop)?))
}

/// Destroys the serializer and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_serializer_destroy(serializer: Option<Box<pointmill_serializer>>) {
    destroy(serializer);
}

/// A pooler of `num_stages` stages. `strides` says how many times larger the cells of each are, powers
/// of two; `capacities` how many there is room for, or null for as many as rows come in.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pooler_create(
    stream: Option<&pointmill_stream>,
    strides: *const u32,
    capacities: *const u64,
    num_stages: u64,
    pooler: Option<&mut *mut pointmill_pooler>,
) -> pointmill_status {
    guard(|| {
        create(pooler, || {
            let stream = of(stream)?;
            let strides = list(strides, num_stages, "strides")?.to_vec();
            let room = if capacities.is_null() { None } else { Some(list(capacities, num_stages, "capacities")?) };
            let capacities = room.map(|room| room.iter().map(|&n| n as usize).collect());
            let worker = Pooler::new(stream, &PoolParams { strides, capacities })?;
            let (hierarchy, stream) = (worker.output()?, stream.clone());
            let outcome = Outcome::none("pointmill_pooler_run");
            Ok(pointmill_pooler { hierarchy, worker, stream, outcome })
        })
    })
}

/// Makes larger cells of those that a serializer ordered in its last call. No call waits.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pooler_run(
    pooler: Option<&mut pointmill_pooler>,
    serializer: Option<&pointmill_serializer>,
    coords: *const pointmill_array,
    batch: *const pointmill_array,
    num_items: u64,
) -> pointmill_status {
    guard(|| {
        let pointmill_pooler { stream, worker, hierarchy, outcome } = some(pooler, "pooler")?;
        outcome.of(|| {
            let serialized = &some(serializer, "serializer")?.serialized;
            let cells = LentCells::new(stream, coords, batch, num_items, std::ptr::null())?;
            Ok(worker.run(cells.cells()?, serialized, hierarchy)?)
        })
    })
}

/// An array of a stage of the last call, of V_in rows and V_out larger cells at most: "cluster" [V_in],
/// "indptr" [V_out + 1], "indices" [V_in], "head" [V_out], "grid_coord" [V_out, 3], "batch" [V_out] of
/// i32; "codes" of u64, "order" and "inverse" of u32, [k, V_out]; "counts" [3] of u32: larger cells,
/// those that there was no room for, and rows that came in.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pooler_array(
    pooler: Option<&pointmill_pooler>,
    stage: u64,
    name: *const c_char,
    array: *mut pointmill_array,
) -> pointmill_status {
    guard(|| {
        let pointmill_pooler { stream, hierarchy, outcome, .. } = some(pooler, "pooler")?;
        let stages = hierarchy.stages();
        let expected = format_args!("below {}", stages.len());
        let at = usize::try_from(stage).ok().filter(|&at| at < stages.len());
        let s = &stages[at.ok_or_else(|| Fault::new("stage", expected, stage))?];
        outcome.give(|| View::of(s, &[("counts", s.counts())]), name, stream, array)
    })
}

/// Destroys the pooler and frees its memory.
#[unsafe(no_mangle)]
pub extern "C" fn pointmill_pooler_destroy(pooler: Option<Box<pointmill_pooler>>) {
    destroy(pooler);
}
