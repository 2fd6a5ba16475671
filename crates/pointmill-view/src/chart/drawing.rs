//! Lines, dots and words that become an SVG or an image.

use crate::layout::FRAME;
use crate::line::{Pen, line};
use crate::{BACKGROUND, Image};
use std::fmt::Write;

/// Lines are drawn at so many times the size and shrunk.
const FINE: f64 = 2.0;

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What is drawn, in pixels from the upper left corner.
#[derive(Clone, Debug)]
enum Mark {
    Box { at: [f64; 2], size: [f64; 2], colour: [u8; 3] },
    Line { points: Vec<[f64; 2]>, width: f64, colour: [u8; 3] },
    Text { at: [f64; 2], text: String, anchor: Anchor, colour: [u8; 3] },
}

/// A picture that has not been drawn yet.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    width: u32,
    height: u32,
    marks: Vec<Mark>,
}

impl Drawing {
    /// A drawing of so many pixels; the sides are already validated.
    pub(crate) const fn new(width: u32, height: u32) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    pub(crate) fn filled(&mut self, at: [f64; 2], size: [f64; 2], colour: [u8; 3]) {
        self.marks.push(Mark::Box { at, size, colour });
    }

    pub(crate) fn line(&mut self, points: Vec<[f64; 2]>, width: f64, colour: [u8; 3]) {
        self.marks.push(Mark::Line { points, width, colour });
    }

    /// A dot of so many pixels across.
    pub(crate) fn dot(&mut self, [x, y]: [f64; 2], size: f64, colour: [u8; 3]) {
        self.filled([x - size / 2.0, y - size / 2.0], [size; 2], colour);
    }

    /// A line of text, its middle at the height of `at`; letters are 10 pixels wide.
    pub(crate) fn text(&mut self, at: [f64; 2], text: impl Into<String>, anchor: Anchor, colour: [u8; 3]) {
        let text = text.into().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.marks.push(Mark::Text { at, text, anchor, colour });
    }

    /// The drawing as SVG; a file of its own needs the name space, a page has it.
    pub(crate) fn svg(&self, is_file: bool) -> String {
        let space = if is_file { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
        let (w, h) = (self.width, self.height);
        let mut out = format!(
            "<svg{space} width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"monospace\" font-size=\"15\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n",
            hex(FRAME)
        );
        for mark in &self.marks {
            // A string takes everything.
            let _ = match mark {
                Mark::Box { at: [x, y], size: [w, h], colour } => {
                    let fill = hex(*colour);
                    writeln!(
                        out,
                        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{fill}\"/>"
                    )
                }
                Mark::Line { points, width, colour } => {
                    let points: Vec<_> = points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
                    let (points, stroke) = (points.join(" "), hex(*colour));
                    writeln!(
                        out,
                        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width:.1}\"/>"
                    )
                }
                Mark::Text { at: [x, y], text, anchor, colour } => {
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    // A third of the letters' height below the middle is where they stand.
                    let (y, fill, text) = (y + 5.0, hex(*colour), escaped(text));
                    writeln!(
                        out,
                        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{text}</text>"
                    )
                }
            };
        }
        out + "</svg>\n"
    }

    /// The drawing in pixels.
    pub(crate) fn image(&self) -> Image {
        let fine = |v: f64| v * FINE;
        let mut image = Image::filled(self.width * FINE as u32, self.height * FINE as u32, FRAME);
        for mark in &self.marks {
            match mark {
                Mark::Box { at, size, colour } => {
                    let [x, y] = at.map(|v| fine(v).round().max(0.0) as u32);
                    let [w, h] = size.map(|v| fine(v).round().max(1.0) as u32);
                    image.paste(&Image::filled(w, h, *colour), x, y);
                }
                Mark::Line { points, width, colour } => {
                    let pen = Pen { colour: *colour, width: fine(*width), cover: 1.0 };
                    for pair in points.windows(2) {
                        line(&mut image, pair[0].map(fine), pair[1].map(fine), pen);
                    }
                }
                Mark::Text { .. } => {}
            }
        }
        // Letters have their pixels, and stand over everything.
        let mut image = image.halved();
        for mark in &self.marks {
            if let Mark::Text { at: [x, y], text, anchor, colour } = mark {
                let width = 10.0 * text.chars().count() as f64;
                let left = match anchor {
                    Anchor::Start => *x,
                    Anchor::Middle => x - width / 2.0,
                    Anchor::End => x - width,
                };
                image.text(text, left.round() as i32, (y - 10.0).round() as i32, *colour);
            }
        }
        image
    }
}

/// The colour of a panel.
pub(super) const PANEL: [u8; 3] = BACKGROUND;

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_have_the_same_marks() {
        let mut drawing = Drawing::new(100, 40);
        drawing.filled([10.0, 5.0], [20.0, 10.0], [200, 0, 0]);
        drawing.line(vec![[0.0, 30.0], [50.0, 30.0], [100.0, 30.0]], 2.0, [0, 200, 0]);
        drawing.text([50.0, 20.0], "a<b &\n", Anchor::Middle, [0, 0, 200]);
        let image = drawing.image();
        assert_eq!((image.get(15, 8), image.get(60, 30), image.get(99, 0)), ([200, 0, 0], [0, 200, 0], FRAME));
        assert!(image.rgb().as_chunks::<3>().0.contains(&[0, 0, 200]));
        let svg = drawing.svg(true);
        let wanted = [
            "<rect x=\"10.0\" y=\"5.0\" width=\"20.0\" height=\"10.0\" fill=\"#c80000\"/>",
            "<polyline points=\"0.0,30.0 50.0,30.0 100.0,30.0\" fill=\"none\" stroke=\"#00c800\" stroke-width=\"2.0\"/>",
            "<text x=\"50.0\" y=\"25.0\" text-anchor=\"middle\" fill=\"#0000c8\">a&lt;b &amp; </text>",
        ];
        assert!(wanted.iter().all(|line| svg.contains(line)), "{svg}");
    }
}
