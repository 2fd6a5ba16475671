//! Furthest samples, balls and nearest neighbours, on all devices.
use crate::{Draw, Named, everywhere};
use pointmill::points::{
    BallParams, BallPick, BallQuery, Balls, Fill, FurthestParams, FurthestPoints, FurthestSampler, Knn, KnnParams,
    Neighbours, Start,
};
use pointmill::{Result, Rows};

/// Points, and what is asked of them.
#[derive(Debug)]
struct Input {
    columns: usize,
    points: Vec<f32>,
    others: Vec<f32>,
    splits: [Option<Vec<usize>>; 2],
}

impl Input {
    fn new(mut draw: Draw<'_>, columns: usize, of_samples: bool) -> Self {
        let others = draw.part().near_rows(columns, 40, 0..0);
        let mut tail = draw.part();
        let points = draw.near_rows(columns, 90, 0..0);
        let n = points.len() / columns;
        let of_others = if of_samples { tail.below(40) } else { others.len() / columns };
        Self { columns, points, others, splits: [tail.splits(n), tail.splits(of_others)] }
    }

    fn rows(&self) -> Result<[Rows<'_>; 2]> {
        Ok([Rows::new(&self.points[..], self.columns)?, Rows::new(&self.others[..], self.columns)?])
    }

    fn splits(&self) -> [Option<&[usize]>; 2] {
        self.splits.each_ref().map(|splits| splits.as_deref())
    }
}

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let (which, columns) = (draw.below(3), 3 + draw.below(2));
    let number = draw.usual(&[1, 5, 33], &[0, u32::MAX]);
    let inputs = [draw.part(), Draw(draw.0)].map(|part| Input::new(part, columns, which == 0));
    let inputs = inputs.each_ref();
    match which {
        0 => {
            let start = draw.one(&[Start::First, Start::NearestToMean]);
            let params = FurthestParams { number, start };
            everywhere(
                inputs,
                false,
                |stream| {
                    let mut worker = FurthestSampler::new(stream, &params)?;
                    let out = worker.output()?;
                    Ok((out, move |input: &Input, out: &mut FurthestPoints| {
                        let [points, others] = input.rows()?;
                        // Features of as many rows, where there happen to be as many.
                        let features = (others.len() == points.len()).then_some(others);
                        worker.run(points, features, input.splits(), out)
                    }))
                },
                |out| Ok(vec![Named(vec![("rows", out.read()?.rows.into())])]),
            );
        }
        1 => {
            let radius = draw.value();
            let params = BallParams {
                radius: draw.usual(&[0.5, 2.0, 60.0], &[radius]),
                min_radius: draw.usual(&[0.0, 0.25], &[3.0, radius]),
                most: number,
                pick: draw.one(&[BallPick::First, BallPick::Nearest]),
                fill: draw.one(&[Fill::First, Fill::None]),
            };
            everywhere(
                inputs,
                false,
                |stream| {
                    let mut worker = BallQuery::new(stream, &params)?;
                    let out = worker.output()?;
                    Ok((out, move |input: &Input, out: &mut Balls| {
                        let [points, centres] = input.rows()?;
                        worker.run(points, centres, input.splits(), out)
                    }))
                },
                |out| {
                    let out = out.read()?;
                    Ok(vec![Named(vec![("rows", out.rows.into()), ("num_points", out.num_points.into())])])
                },
            );
        }
        _ => everywhere(
            inputs,
            false,
            |stream| {
                let mut worker = Knn::new(stream, &KnnParams { k: number })?;
                let out = worker.output()?;
                Ok((out, move |input: &Input, out: &mut Neighbours| {
                    let [points, queries] = input.rows()?;
                    worker.run(points, queries, input.splits(), out)
                }))
            },
            |out| {
                let out = out.read()?;
                Ok(vec![Named(vec![("rows", out.rows.into()), ("distances", out.squared_distances.into())])])
            },
        ),
    }
}
