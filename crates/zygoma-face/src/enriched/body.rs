//! An enriched face as a [`Body`].

use glam::Vec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::{Checked, Ranged};

use super::run::EnrichedBody;
use crate::body::{
    BadBodyParam, BadDrive, Body, BodyParam, Drive, Frame, GRAVITY, Stage, Touchable, gravity_axis,
    weights_of_carriers,
};
use crate::model::Section;

/// Parameters that can be changed between frames.
struct Live {
    rebalance: f64,
    gravity: [f64; 3],
}

impl Checked for Live {
    fn ranges(&self) -> Vec<Ranged> {
        let mut ranges = vec![Ranged::new("rebalance", self.rebalance, 0.0..=1.0)];
        ranges.extend(Ranged::vector("gravity", self.gravity, &GRAVITY));
        ranges
    }
}

impl Body for EnrichedBody {
    fn name(&self) -> &'static str {
        "enriched"
    }

    fn drive(&mut self, drive: Drive<'_>) -> Result<(), BadDrive> {
        match drive {
            Drive::Weights(weights) => self.set_weights(weights),
            Drive::Materials(weights) => self.set_material_weights(weights),
            Drive::Surface(_) | Drive::Markers(_) => return Err(drive.unsupported("an enriched face")),
        }
        Ok(())
    }

    fn set_head_pose(&mut self, pose: &RigidMotion) {
        if pose.is_finite() {
            self.head = *pose;
        }
    }

    fn settle(&mut self) {
        self.settle();
    }

    fn advance(&mut self, seconds: f64) -> Frame<'_> {
        self.run(seconds);
        self.frame_before(0.0)
    }

    fn checkpoint(&self) -> Option<Section> {
        Some(self.to_section())
    }

    fn resume(&mut self, state: &Section) -> Result<(), String> {
        self.continue_from(state)
    }

    fn touchable(&self) -> Option<&dyn Touchable> {
        Some(self)
    }

    fn touchable_mut(&mut self) -> Option<&mut dyn Touchable> {
        Some(self)
    }

    fn params(&self) -> Vec<BodyParam> {
        let rebalance = BodyParam::new("rebalance", self.rebalance, 0.0..=1.0);
        [rebalance].into_iter().chain(BodyParam::gravity(&self.gravity.to_array())).collect()
    }

    fn set_param(&mut self, name: &str, value: f64) -> Result<(), BadBodyParam> {
        let mut live = Live { rebalance: self.rebalance, gravity: self.gravity.to_array() };
        match (name, gravity_axis(name)) {
            ("rebalance", _) => live.rebalance = value,
            (_, Some(axis)) => live.gravity[axis] = value,
            _ => return Err(BadBodyParam::unknown("enriched", name, &self.params())),
        }
        live.check()?;
        (self.rebalance, self.gravity) = (live.rebalance, live.gravity.into());
        Ok(())
    }

    fn stages(&self) -> Vec<Stage> {
        let times = &self.times;
        Stage::list([
            ("dynamic", times.dynamic),
            ("static", times.statics),
            ("rest", times.rest),
            ("contact", times.contact),
            ("surface", times.output),
        ])
    }

    fn begin_moving(&mut self, seconds: f64) {
        self.begin_moving(seconds);
    }

    fn frame_before(&mut self, _seconds: f64) -> Frame<'_> {
        Frame { positions: &self.positions, asleep: false }
    }

    fn inverted(&self) -> Vec<u32> {
        self.inverted_elements()
    }

    fn return_to_rig(&mut self, weights: &[f32]) {
        self.return_skin(weights);
    }
}

impl EnrichedBody {
    /// Elements that are inverted now, although their rest shape is not.
    fn inverted_elements(&self) -> Vec<u32> {
        let rest = self.solid.rest().positions();
        let volume = |tet: &[u32; 4], displaced: bool| {
            let at = |v: u32| {
                let own = if displaced {
                    Vec3::from_slice(&self.solid.displacements[v as usize])
                } else {
                    Vec3::ZERO
                };
                rest[v as usize] + own.as_dvec3()
            };
            zygoma_geometry::tets::volume(tet.map(at))
        };
        let is_inverted = |tet: &[u32; 4]| volume(tet, true) <= 0.0 && volume(tet, false) > 0.0;
        (0..).zip(&self.enriched.tets).filter(|(_, tet)| is_inverted(tet)).map(|(index, _)| index).collect()
    }

    /// Blends displacements and velocities of the volume to 0, by a weight for each vertex of the whole mesh.
    fn return_skin(&mut self, weights: &[f32]) {
        let enriched = self.enriched.clone();
        let weights = weights_of_carriers(enriched.skin.embedding.iter(), weights, enriched.skin_rows.len());
        let mut kept = vec![1.0_f32; enriched.rest.len()];
        for (weight, row) in weights.iter().zip(&enriched.skin_rows) {
            kept[*row as usize] = (1.0 - weight).clamp(0.0, 1.0);
        }
        // Tissue goes back with the skin that it is next to.
        for tet in &enriched.tets {
            let least = tet.iter().map(|v| kept[*v as usize]).fold(1.0, f32::min);
            for v in tet.iter().filter(|v| !enriched.is_skin[**v as usize]) {
                kept[*v as usize] = kept[*v as usize].min(least);
            }
        }
        for (row, kept) in kept.iter().enumerate() {
            let scale = |values: &mut [f32; 4]| {
                values
                    .iter_mut()
                    .for_each(|value| *value = if value.is_finite() { kept * *value } else { 0.0 });
            };
            scale(&mut self.solid.displacements[row]);
            self.solid.velocities.get_mut(row).map(scale);
        }
    }
}
