//! Panels beside each other, with titles above and a legend below: how a scene becomes a picture.

use crate::caption::{digits, shortened};
use crate::colour::value_tone;
use crate::framing::at_an_angle;
use crate::layout::{FAINT, FRAME, INK, LEGEND, MARGIN, POINT, Panel, STILL, Sheet, areas, entry};
use crate::ndt::facing_key;
use crate::raster::{Shot, Tones, draw, tone};
use crate::scene::{Paint, Scene};
use crate::{Camera, Gif, Image, MAX_SIDE, ViewError};

/// Most frames of an animation, up to five megabytes each until they are written, and how long the
/// first and the last of more than two are shown.
pub(crate) const MOST_FRAMES: usize = 120;
const HELD_MS: u32 = 1500;
/// The most pixels of a bar that tells the scale, with its text.
const BAR: usize = 300;
/// The part of the places that may be outside of a view on each side.
const STRAYS: f64 = 0.005;

impl Scene {
    /// A picture of the scene, with its title, a legend and bars that tell the scale: 1600 x 900 or
    /// 1600 x 1000 pixels. Where a subject has its panels side by side, so has the picture; any
    /// other scene is seen at an angle.
    pub fn picture(&self) -> Image {
        self.compose(&self.still, 0, &Tones::new(self))
    }

    /// An animation: a picture of each frame. Of more than 120 frames as many are shown, evenly
    /// spaced.
    pub fn animation(&self) -> Gif {
        let tones = Tones::new(self);
        let last = self.frames().saturating_sub(1);
        let shown = self.frames().min(MOST_FRAMES);
        let mut gif = Gif::new(self.frame_ms);
        for k in 0..shown {
            let frame = if shown > 1 { k * last / (shown - 1) } else { 0 };
            let is_held = shown > 2 && (k == 0 || k + 1 == shown);
            let ms = if is_held { HELD_MS.max(self.frame_ms) } else { self.frame_ms };
            gif.push_for(self.compose(&self.moving, frame, &tones), ms).expect("all frames have one size");
        }
        gif
    }

    /// The layers that are shown at a frame, without titles, seen by a camera.
    ///
    /// # Errors
    /// A side of 0 or more than half of [`MAX_SIDE`] pixels.
    ///
    /// ```
    /// use pointmill_core::Aabb;
    /// use pointmill_view::{BACKGROUND, Camera, Layer, Paint, Scene};
    /// let mut scene = Scene::new("", Paint::Own);
    /// scene.push(Layer::boxes("boxes", &[[0.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0]]).colour([255, 200, 0]));
    /// let camera = Camera::birds_eye_sideways(Aabb::new([-5.0; 3], [5.0; 3]));
    /// let image = scene.draw(&camera, 0, [100, 100])?;
    /// assert_ne!(image.get(65, 50), BACKGROUND); // the line to the front, 2 m ahead
    /// assert_eq!(image.get(40, 50), BACKGROUND); // behind the centre
    /// # Ok::<(), pointmill_view::ViewError>(())
    /// ```
    pub fn draw(&self, camera: &Camera, frame: usize, size: [u32; 2]) -> Result<Image, ViewError> {
        let [width, height] = size;
        if size.iter().any(|side| !(1..=MAX_SIDE / 2).contains(side)) {
            return Err(ViewError::Size { width, height });
        }
        Ok(draw(
            self,
            &Tones::new(self),
            &Shot { camera, frame, keeps: false, names: &[], size, point: POINT, pen: 1.0, is_shaded: false },
        ))
    }

    fn compose(&self, sheet: &Sheet, frame: usize, tones: &Tones) -> Image {
        if sheet.panels.is_empty() {
            let camera = at_an_angle(&[&self.places(frame, &[])], STRAYS);
            let panels = vec![Panel::new(areas(STILL, &[(1, 1)])[0], camera, &[])];
            return self.compose(&Sheet { size: STILL, panels, ..sheet.clone() }, frame, tones);
        }
        let [width, height] = sheet.size;
        let mut picture = Image::filled(width, height, FRAME);
        let mut titles = sheet.titles.clone();
        if titles.is_empty() {
            let mut frames: Vec<usize> = sheet.panels.iter().map(|panel| panel.frame.unwrap_or(frame)).collect();
            frames.dedup();
            titles = frames.iter().take(2).filter_map(|frame| self.frames.get(*frame).cloned()).collect();
        }
        if titles.is_empty() {
            titles = vec![self.title.clone()];
        }
        for (k, title) in titles.iter().enumerate() {
            let (x, room) = (width / titles.len() as u32 * k as u32, width / titles.len() as u32);
            picture.text(&shortened(title, room - 24), (x + MARGIN + 6) as i32, 9, INK);
        }
        for panel in &sheet.panels {
            picture.paste(&self.panel(panel, frame, tones), panel.area[0], panel.area[1]);
        }
        self.legend(&mut picture, sheet, tones);
        picture
    }

    fn panel(&self, panel: &Panel, frame: usize, tones: &Tones) -> Image {
        let [_, _, width, height] = panel.area;
        let (frame, size) = (panel.frame.unwrap_or(frame), [width, height]);
        let Panel { names, point, pen, keeps, is_shaded, .. } = panel;
        let camera = panel.cameras.get(frame).unwrap_or(&panel.camera);
        let shot = Shot { camera, frame, keeps: *keeps, names, size, point: *point, pen: *pen, is_shaded: *is_shaded };
        let mut image = draw(self, tones, &shot);
        let view = camera.view(width, height);
        for (place, letter) in &panel.marks {
            if let Some(at) = view.project(*place) {
                image.text(letter, at.x as i32 + 4, at.y as i32 - 20, INK);
            }
        }
        // In letters as large as leave room for the bar.
        if 10 * panel.label.len() + BAR < width as usize {
            image.text(&panel.label, 8, height as i32 - 24, INK);
        } else {
            image.small_text(&panel.label, 8, height as i32 - 16, INK);
        }
        if camera.is_parallel() {
            scale_bar(&mut image, [width - 10, height - 24], view.pixels_per_metre(1.0), &self.units[0]);
        }
        image
    }

    /// The colours of heights, those of layers and others, from left to right.
    fn legend(&self, picture: &mut Image, sheet: &Sheet, tones: &Tones) {
        type Tone = fn(f64) -> [u8; 3];
        let y = picture.height() - LEGEND + 8;
        let mut x = MARGIN + 6;
        let ramp: Option<([String; 2], Tone, u32)> = match self.paint {
            Paint::Height => {
                let [low, high] = tones.heights.map(|z| format!("{:.1}", z + self.about[2]));
                Some(([low, format!("{high} {}", self.units[1])], tone, 160))
            }
            Paint::Intensity => {
                let [low, high] = tones.intensities.map(digits);
                let length = if picture.width() < STILL[0] { 60 } else { 160 };
                Some(([low, format!("{high}+ {}", self.values)], value_tone, length))
            }
            _ => None,
        };
        if let Some(([low, high], tone, length)) = ramp {
            picture.text(&low, x as i32, y as i32, FAINT);
            x += 10 * low.len() as u32 + 12;
            for k in 0..length {
                picture.paste(&Image::filled(1, 10, tone(f64::from(k) / f64::from(length - 1))), x + k, y + 5);
            }
            x += length + 12;
            picture.text(&high, x as i32, y as i32, FAINT);
            x += 10 * high.len() as u32 + 26;
        }
        if sheet.has_facings {
            x = facing_key(picture, x, y);
        }
        let is_seen = |name: &str| sheet.panels.iter().any(|p| p.names.is_empty() || p.names.contains(&name));
        let mut keys: Vec<([u8; 3], &str)> = Vec::new();
        for layer in self.layers.iter().filter(|layer| layer.is_shown && is_seen(&layer.name)) {
            let key = layer.colour.map(|colour| (colour, &*layer.name));
            keys.extend(key.filter(|key| keys.iter().all(|other| other.1 != key.1)));
        }
        for (colour, name) in keys.into_iter().chain(sheet.keys.iter().copied()) {
            x = entry(picture, x, y, colour, name);
        }
    }
}

/// Draws a bar of a round number of a unit that is 60 to 200 pixels long, its right end at `x`, its
/// text left of it.
pub(crate) fn scale_bar(picture: &mut Image, [x, y]: [u32; 2], pixels: f64, unit: &str) {
    let lengths = (-3..7).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * libm::pow(10.0, f64::from(e))));
    let Some(length) = lengths.into_iter().find(|m| (60.0..=200.0).contains(&(m * pixels))) else { return };
    let wide = (length * pixels + 0.5) as u32;
    picture.paste(&Image::filled(wide, 3, INK), x - wide, y + 9);
    for end in [x - wide, x - 3] {
        picture.paste(&Image::filled(3, 11, INK), end, y + 5);
    }
    let text = format!("{length} {unit}");
    picture.text(&text, (x - wide) as i32 - 12 - 10 * text.len() as i32, y as i32, INK);
}
