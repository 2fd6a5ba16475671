//! What surfaces give back of the light.

/// A surface to the sensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Material {
    /// Share of the light that comes back, 0..1.
    pub(crate) albedo: f64,
    /// How much of that is lost on a grazing ray: 0 for foliage and reflectors, near 1 for smooth
    /// paint.
    pub(crate) gloss: f64,
    /// Share of the rays that never come back.
    pub(crate) loss: f64,
}

impl Material {
    const fn new(albedo: f64, gloss: f64, loss: f64) -> Self {
        Self { albedo, gloss, loss }
    }

    pub(crate) const ASPHALT: Self = Self::new(0.22, 0.45, 0.004);
    pub(crate) const PAVING: Self = Self::new(0.42, 0.45, 0.004);
    pub(crate) const KERB: Self = Self::new(0.55, 0.45, 0.004);
    pub(crate) const MARKING: Self = Self::new(0.95, 0.15, 0.002);
    pub(crate) const GLASS: Self = Self::new(0.12, 0.9, 0.55);
    pub(crate) const RUBBER: Self = Self::new(0.07, 0.4, 0.06);
    pub(crate) const LEAVES: Self = Self::new(0.5, 0.1, 0.01);
    pub(crate) const BARK: Self = Self::new(0.3, 0.4, 0.01);
    pub(crate) const CLOTH: Self = Self::new(0.45, 0.3, 0.01);
    pub(crate) const SKIN: Self = Self::new(0.5, 0.3, 0.01);
    pub(crate) const STEEL: Self = Self::new(0.5, 0.5, 0.01);
    pub(crate) const REFLECTOR: Self = Self::new(1.0, 0.0, 0.0);

    /// Plaster or brick of a house.
    pub(crate) const fn wall(albedo: f64) -> Self {
        Self::new(albedo, 0.5, 0.003)
    }

    /// The paint of a car. Dark paint loses more rays.
    pub(crate) fn paint(albedo: f64) -> Self {
        Self::new(albedo, 0.75, 0.01 + 0.12 * (1.0 - albedo) * (1.0 - albedo))
    }

    /// What the sensor reads, 0..1, for a ray that met the surface under `facing` (cosine of
    /// incidence) at `range` metres.
    pub(crate) fn intensity(&self, facing: f64, range: f64) -> f64 {
        let angle = 1.0 - self.gloss * (1.0 - facing);
        // The sensor corrects for range, but not fully.
        let fade = 1.0 / (1.0 + range * range * (1.0 / (90.0 * 90.0)));
        self.albedo * angle * fade
    }
}
