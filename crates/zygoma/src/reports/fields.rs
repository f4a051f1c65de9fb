//! Pictures of fields over a face.

use glam::Vec3;
use zygoma_face::model::FaceModel;
use zygoma_picture::{
    Camera, ColorMap, Image, Legend, RenderOptions, Scale, Scene, Surface, View, render, side_by_side,
};

/// A field over a face's skin.
pub(crate) struct Field<'a> {
    /// One value for each vertex of the whole mesh; NaN where there is none.
    pub(crate) values: Vec<f32>,
    pub(crate) title: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) scale: Scale,
}

/// Interpolates values of the shell to the whole mesh, in `scale`; NaN off the skin.
pub(crate) fn on_mesh(face: &FaceModel, shell: &[f64], scale: Scale) -> Vec<f32> {
    let to = |value: f64| if scale == Scale::Log { value.max(f64::MIN_POSITIVE).ln() } else { value };
    let from = |value: f64| if scale == Scale::Log { value.exp() } else { value };
    let embedded = face.embedding.vertices.iter().zip(&face.embedding.weights);
    let value = |(corners, weights): (&[u32; 3], &[f32; 3])| {
        if weights.iter().sum::<f32>() < 0.999 {
            return f32::NAN;
        }
        from((0..3).map(|i| f64::from(weights[i]) * to(shell[corners[i] as usize])).sum()) as f32
    };
    embedded.map(value).collect()
}

impl Field<'_> {
    /// The values at the ends of the colour map: 0 to the maximum, or on a log scale the 1st to the 99th percentile.
    fn range(&self) -> [f32; 2] {
        let mut known: Vec<f32> = self.values.iter().copied().filter(|v| v.is_finite()).collect();
        known.sort_by(f32::total_cmp);
        let at = |fraction: f32| known.get((fraction * known.len() as f32) as usize).copied().unwrap_or(0.0);
        match self.scale {
            Scale::Linear => [0.0, known.last().copied().unwrap_or(1.0).max(f32::MIN_POSITIVE)],
            Scale::Log => {
                let low = at(0.01).max(f32::MIN_POSITIVE);
                [low, at(0.99).max(1.001 * low)]
            }
        }
    }

    /// Draws the field on a surface from several sides, with a legend.
    pub(crate) fn draw(
        &self,
        positions: &[Vec3],
        triangles: &[[u32; 3]],
        views: &[View],
        size: usize,
    ) -> anyhow::Result<Image> {
        let range = self.range();
        let scaled =
            |value: f32| if self.scale == Scale::Log { value.max(f32::MIN_POSITIVE).ln() } else { value };
        let values: Vec<f32> =
            self.values.iter().map(|v| if v.is_finite() { scaled(*v) } else { *v }).collect();
        let shown: Vec<[u32; 3]> =
            triangles.iter().filter(|t| t.iter().any(|v| values[*v as usize].is_finite())).copied().collect();
        let scene = Scene::new([Surface::new(positions, &shown).with_field(
            values,
            range.map(scaled),
            ColorMap::Sequential,
        )]);
        let options = RenderOptions::sized(size, size);
        let mut pictures = Vec::new();
        for view in views {
            let camera = Camera::framing_points(*view, &scene.points(), options.aspect());
            pictures.push(render(&scene, &camera, &options)?);
        }
        let legend = Legend {
            map: ColorMap::Sequential,
            range,
            title: self.title,
            unit: self.unit,
            scale: self.scale,
        };
        pictures.push(legend.draw(size));
        Ok(side_by_side(&pictures.iter().collect::<Vec<_>>()))
    }
}
