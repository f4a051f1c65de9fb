//! States of an enriched face, as stored in a recording.

use zygoma_physics::projective::Row;
use zygoma_physics::rebalanced::Lame;

use super::run::EnrichedBody;
use crate::body::head_path::HeadPath;
use crate::model::Section;

impl EnrichedBody {
    /// Everything that a step depends on but what touches the face.
    pub(super) fn to_section(&self) -> Section {
        let mut section = Section::default();
        section.add("displacements", 4, self.solid.displacements.as_flattened());
        section.add("velocities", 4, self.solid.velocities.as_flattened());
        section.add("forces", 4, self.solid.forces().as_flattened());
        let materials: Vec<f64> = self.materials.iter().flat_map(|m| [m.mu, m.lambda]).collect();
        section.add("materials", 2, &materials);
        section.add("weights", 1, &self.weights[1]);
        section.add("rest_weights", 1, &self.rest_weights);
        if let Some([_, now]) = &self.material_weights {
            section.add("material_weights", 1, now);
        }
        section.add("head", 1, &self.path.to_numbers());
        section.add("behind", 1, &[self.behind]);
        section
    }

    /// Takes a stored state.
    pub(super) fn continue_from(&mut self, state: &Section) -> Result<(), String> {
        let rows = |name: &str, count: usize| -> Result<Vec<Row<f32>>, String> {
            let numbers: Vec<f32> = state.exactly(name, 4 * count)?;
            if numbers.iter().any(|number| !number.is_finite()) {
                return Err(format!("array {name} has a number that is not finite"));
            }
            Ok(numbers.as_chunks::<4>().0.to_vec())
        };
        let (all, free) = (self.solid.displacements.len(), self.solid.velocities.len());
        let (displacements, velocities) = (rows("displacements", all)?, rows("velocities", free)?);
        let forces = rows("forces", free)?;
        let materials: Vec<f64> = state.exactly("materials", 2 * self.materials.len())?;
        let weights: Vec<f32> = state.exactly("weights", self.weights[1].len())?;
        let rest_weights: Vec<f32> = state.exactly("rest_weights", weights.len())?;
        let of_materials: Option<Vec<f32>> = state.exactly("material_weights", weights.len()).ok();
        let path = HeadPath::from_numbers(&state.numbers("head")?);
        let path =
            path.ok_or("the head's path has the wrong number of entries or a value that is not finite")?;
        let behind: Vec<f64> = state.exactly("behind", 1)?;
        if !(0.0..=self.step_time()).contains(&behind[0]) {
            return Err("its time lies outside a step".to_owned());
        }
        for (own, stored) in self.materials.iter_mut().zip(materials.as_chunks::<2>().0) {
            *own = Lame { mu: stored[0], lambda: stored[1] };
        }
        self.material_weights = of_materials.map(|weights| [weights.clone(), weights]);
        self.weights = [weights.clone(), weights];
        self.head = path.ends()[1];
        self.path = path;
        self.behind = behind[0];
        self.take_rest(&rest_weights);
        self.solid.displacements = displacements;
        self.solid.velocities = velocities;
        self.solid.set_forces_of_last_step(&forces);
        Ok(())
    }
}
