//! The topics of a bag.

use super::cloud::{Column, listed, notes};
use crate::batch::prelude::*;
use crate::inputs::open_bag;
use pointmill_io::bag::{Bag, TimeOrigin};
use pointmill_io::{IoError, ReadOptions, escape};
use serde::Serialize;
use std::path::Path;

/// A topic of a bag.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Topic {
    /// The name of the topic.
    name: String,
    /// The type of its messages.
    r#type: String,
    /// The number of its messages.
    messages: u64,
    /// When its first message was recorded, in nanoseconds since 1970.
    first_ns: u64,
    /// When its last message was recorded, in nanoseconds since 1970.
    last_ns: u64,
    /// How its clouds lie in their messages, as the first says; null for other topics.
    layout: Option<Layout>,
}

/// The layout of a cloud in a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Layout {
    /// The frame that x, y, z are in.
    frame: String,
    /// Rows of an organized cloud, else 1.
    height: u32,
    /// Points of a row.
    width: u32,
    /// Bytes of a point.
    point_step: u32,
    /// The fields, in order.
    columns: Vec<Column>,
    /// The field with the times of points; null without one.
    times: Option<TimesField>,
    /// What is odd about the first message.
    #[serde(skip)]
    warnings: Vec<String>,
}

/// The field with the times of points.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TimesField {
    /// The name of the field.
    name: String,
    /// Its unit: `s`, `ms`, `us` or `ns`.
    unit: &'static str,
    /// What decides the unit: `name`, the name of the column; `format`, the format of the file; `type`, the
    /// name and the type of the column; `epoch`, values of 18 digits or more; or `span`, how long the points
    /// take.
    unit_source: &'static str,
    /// What it counts from: `stamp`, the stamp of the cloud, or `epoch`, the start of 1970.
    origin: &'static str,
}

impl Topic {
    /// The name and the number of clouds; `None` of a topic of other messages.
    pub(super) fn clouds(&self) -> Option<String> {
        self.layout.as_ref()?;
        Some(format!("{} ({} clouds)", escape(&self.name), grouped(self.messages as usize)))
    }

    /// For people.
    pub(super) fn lines(&self) -> Vec<String> {
        let seconds = (self.last_ns - self.first_ns) as f64 * 1e-9;
        let (name, kind) = (escape(&self.name), escape(&self.r#type));
        let messages = format!("{} messages in {seconds:.3} s", grouped(self.messages as usize));
        let mut lines = vec![format!("topic      {name}  {kind}, {messages}")];
        if let Some(Layout { frame, height, width, point_step, columns, times, .. }) = &self.layout {
            let frame = escape(frame);
            lines.push(format!("  first    {height} x {width} points of {point_step} bytes in `{frame}`"));
            lines.push(format!("  columns  {}: {}", columns.len(), listed(columns)));
            let line = |t: &TimesField| {
                format!(
                    "  times    `{}` in {} (by the {}), from the {}",
                    escape(&t.name),
                    t.unit,
                    t.unit_source,
                    t.origin
                )
            };
            lines.extend(times.as_ref().map(line));
        }
        lines
    }
}

/// The topics of a bag, the milliseconds that they took, and what is odd.
pub(super) fn look(path: &Path, options: &ReadOptions) -> Result<(&'static str, Vec<Topic>, f64, Notes), IoError> {
    let ((bag, topics), read_ms) = timed(|| {
        let bag = open_bag(path, options)?;
        let topics = topics(&bag)?;
        Ok::<_, IoError>((bag, topics))
    })?;
    let cut = bag.cut().map(|e| format!("the bag was cut: {e}"));
    let damage = bag.damage().map(|detail| format!("the bag is damaged: {detail}"));
    let salvaged = bag.damage().map(|_| bag.topics().iter().map(|topic| topic.count).sum());
    let layouts = topics.iter().filter_map(|topic| topic.layout.as_ref());
    let odd = layouts.flat_map(|layout| layout.warnings.iter().cloned());
    let warnings = cut.into_iter().chain(damage).chain(odd).collect();
    Ok((bag.format().as_str(), topics, read_ms, Notes { warnings, salvaged }))
}

/// The topics of a bag. The layout of clouds is that of the first message.
fn topics(bag: &Bag) -> Result<Vec<Topic>, IoError> {
    let topic = |topic: &pointmill_io::bag::Topic| {
        let layout = if topic.cloud_encoding().is_some() { bag.layout(topic)? } else { None };
        Ok(Topic {
            name: topic.name.clone(),
            r#type: topic.schema_name.clone(),
            messages: topic.count,
            first_ns: topic.first_ns,
            last_ns: topic.last_ns,
            layout: layout.map(|layout| Layout {
                frame: layout.frame,
                height: layout.height,
                width: layout.width,
                point_step: layout.point_step,
                columns: layout.fields.iter().map(|f| Column::of(&f.name, f.dtype.as_str())).collect(),
                warnings: notes(&layout.warnings).warnings,
                times: layout.times.map(|times| TimesField {
                    unit: times.unit.as_str(),
                    unit_source: times.unit_source.as_str(),
                    origin: TimeOrigin::of(&times).as_str(),
                    name: times.name,
                }),
            }),
        })
    };
    bag.topics().iter().map(topic).collect()
}
