//! Overlaps of boxes, suppression, and points in boxes, on all devices.
use crate::{Draw, Named, everywhere};
use pointmill::boxes::{BoxIou, Candidates, IouKind, IouParams, NmsMetric, NmsParams, Pairs, Suppressor};
use pointmill::roi_pool::{BoxParams, PointsInBoxes, Scene};
use pointmill::{BoxOrigin, Buffer, Ints, Result, Rows, Stream};

/// Boxes with what a call takes beside them.
#[derive(Debug)]
struct Input {
    boxes: Vec<f32>,
    others: Vec<f32>,
    scores: Vec<f32>,
    classes: Option<Vec<i32>>,
    splits: Option<Vec<usize>>,
}

impl Input {
    fn new(mut draw: Draw<'_>, columns: usize) -> Self {
        let (with_classes, wrong) = (draw.below(2) == 0, usize::from(draw.below(16) == 15));
        let others = draw.part().near_rows(columns, 40, if columns == 7 { 3..6 } else { 0..0 });
        let mut tail = draw.part();
        let boxes = draw.near_rows(7, 40, 3..6);
        let n = boxes.len() / 7;
        let splits = tail.splits(n);
        let classes = with_classes.then(|| (0..n + wrong).map(|_| tail.usual(&[0, 1, 2, i32::MAX], &[1])).collect());
        let mut scores = tail.near_rows(1, n, 0..0);
        scores.resize(n, 0.25);
        Self { boxes, others, scores, classes, splits }
    }
}

/// Boxes as they are, or as they are on a device.
fn given<'a>(host: &'a [f32], device: &'a Buffer<f32>, lent: bool) -> Result<Rows<'a>> {
    if lent { Rows::on_device(device, host.len() / 7, 7) } else { Rows::new(host, 7) }
}

/// Runs the target on the bytes of one input.
pub fn run(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let (kind, lent) = (draw.below(4), draw.below(2) == 0);
    let origin = draw.one(&[BoxOrigin::BottomCenter, BoxOrigin::Center]);
    let threshold = {
        let odd = draw.value();
        draw.usual(&[0.0, 0.1, 0.5, 1.0], &[odd, -0.5])
    };
    let (choice, pairs) = (draw.below(3), draw.one(&[Pairs::All, Pairs::All, Pairs::All, Pairs::Aligned]));
    let margin = {
        let odd = draw.value();
        draw.usual(&[0.0, 0.5, odd.abs()], &[odd])
    };
    let most = [None, None, Some(1), Some(5), Some(u32::MAX)];
    let nms = NmsParams {
        metric: [NmsMetric::Bev, NmsMetric::Volume, NmsMetric::Circle][choice],
        threshold,
        score_threshold: [None, Some(0.0), Some(draw.value())][draw.below(3)],
        pre_max: draw.usual(&most, &[Some(0)]),
        post_max: draw.usual(&most, &[Some(0)]),
        origin,
    };
    let iou = IouParams { kind: [IouKind::Bev, IouKind::Volume, IouKind::Giou][choice], pairs, origin };
    let columns = if kind == 3 { 3 } else { 7 };
    let inputs = [Input::new(draw.part(), columns), Input::new(draw, columns)];

    let suppress = |stream: &Stream| {
        let (stream, mut worker) = (stream.clone(), Suppressor::new(stream, &nms)?);
        Ok((worker.output()?, move |input: &Input, out: &mut _| {
            let boxes = stream.upload(&input.boxes)?;
            let classes = stream.upload(input.classes.as_deref().unwrap_or_default())?;
            let mut candidates = Candidates::new(given(&input.boxes, &boxes, lent)?, Rows::new(&input.scores, 1)?);
            if let Some(host) = &input.classes {
                let ids = if lent { Ints::on_device(&classes, host.len())? } else { Ints::from(&host[..]) };
                candidates = candidates.classes(ids);
            }
            worker.run(input.splits.iter().fold(candidates, |all, splits| all.batch(splits)), out)
        }))
    };
    let measure = |stream: &Stream| {
        let (stream, mut worker) = (stream.clone(), BoxIou::new(stream, &iou)?);
        Ok(((stream.alloc(0)?, 0, worker.lists()?), move |input: &Input, (out, len, lists): &mut (_, usize, _)| {
            let [a, b] = [stream.upload(&input.boxes)?, stream.upload(&input.others)?];
            let (rows, others) = (given(&input.boxes, &a, lent)?, given(&input.others, &b, lent)?);
            if kind == 1 {
                return worker.overlaps(rows, others, threshold, lists);
            }
            *len = 0;
            worker.iou(rows, others, out)?;
            *len = rows.len() * if pairs == Pairs::All { others.len() } else { 1 };
            Ok(())
        }))
    };
    let locate = |stream: &Stream| {
        let mut worker = PointsInBoxes::new(stream, BoxParams { origin, margin })?;
        let out = (worker.lists()?, worker.lists()?, stream.alloc(0)?, 0);
        Ok((out, move |input: &Input, (all, crop, bits, len): &mut (_, _, _, usize)| {
            let scene = Scene::new(Rows::new(&input.boxes, 7)?, Rows::new(&input.others, 3)?);
            worker.all(scene, all)?;
            worker.crop(scene, crop)?;
            worker.bits(scene, bits)?;
            *len = input.others.len() / 3 * (input.boxes.len() / 7).div_ceil(32);
            Ok(())
        }))
    };
    match kind {
        0 => everywhere(inputs.each_ref(), lent, suppress, |out| Ok(vec![out.read()?])),
        1 | 2 => everywhere(inputs.each_ref(), lent, measure, |(out, len, lists)| {
            let (all, (i, j, iou)) = (out.read(*len)?, lists.read()?);
            Ok(vec![Named(vec![("all", all.into()), ("i", i.into()), ("j", j.into()), ("iou", iou.into())])])
        }),
        _ => everywhere(inputs.each_ref(), lent, locate, |(all, crop, bits, len)| {
            let ((splits, boxes), (starts, points)) = (all.read()?, crop.read()?);
            let lists = vec![
                ("splits", splits.into()),
                ("boxes", boxes.into()),
                ("starts", starts.into()),
                ("points", points.into()),
                ("bits", bits.read(*len)?.into()),
            ];
            Ok(vec![Named(lists)])
        }),
    }
}
