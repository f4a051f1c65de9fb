//! A rest shape with its material.

use glam::DVec3;
use zygoma_geometry::tets::volume;

use crate::projective::{ExtendedStVk, StVkTets, Stencil};

/// A tetrahedron with less than this fraction of its first volume has no stiffness: its shape says nothing. Ours.
const FLAT: f64 = 0.01;

/// Lamé's constants, Pa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lame {
    /// μ, against a change of shape.
    pub mu: f64,
    /// λ, against a change of volume.
    pub lambda: f64,
}

/// A rest shape with its material.
#[derive(Clone, Debug, PartialEq)]
pub struct RestShape {
    /// X, m.
    pub(super) positions: Vec<DVec3>,
    /// Lamé's constants of each tetrahedron.
    pub(super) materials: Vec<Lame>,
    tets: std::sync::Arc<[[u32; 4]]>,
    /// Volume of each tetrahedron in the first shape, m³.
    volumes: std::sync::Arc<[f64]>,
}

impl RestShape {
    /// The first rest shape of a solid.
    pub(super) fn new(positions: &[DVec3], tets: &[[u32; 4]], materials: &[Lame]) -> Self {
        let volume = |tet: &[u32; 4]| volume(tet.map(|v| positions[v as usize]));
        Self {
            volumes: tets.iter().map(volume).collect(),
            positions: positions.to_vec(),
            materials: materials.to_vec(),
            tets: tets.into(),
        }
    }

    /// X, m.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// The elements of a system over displacements.
    pub(super) fn elements(&self) -> StVkTets<f32> {
        let mut elements = StVkTets::new();
        for index in 0..self.tets.len() {
            let (stencil, stiffness) = self.element(index).unwrap_or_else(|| self.nothing(index));
            elements.push(&stencil, stiffness);
        }
        elements
    }

    /// Changes such elements to this rest shape.
    pub(super) fn write(&self, elements: &mut StVkTets<f32>) {
        for index in 0..self.tets.len() {
            match self.element(index) {
                Some((stencil, stiffness)) => {
                    elements.set_stencil(index, &stencil);
                    elements.set_parameters(index, stiffness);
                }
                None => elements.set_parameters(index, ExtendedStVk::new(0.0, 0.0, 0.0)),
            }
        }
    }

    /// The stencil and the stiffness of a tetrahedron; `None` where it is flat or inverted.
    fn element(&self, index: usize) -> Option<(Stencil<4, 3>, ExtendedStVk)> {
        let stencil = Stencil::tetrahedron(&self.positions, self.tets[index])?;
        let Lame { mu, lambda } = self.materials[index];
        (stencil.size > FLAT * self.volumes[index])
            .then(|| (stencil, ExtendedStVk::new(stencil.size, mu, lambda)))
    }

    /// An element without stiffness.
    fn nothing(&self, index: usize) -> (Stencil<4, 3>, ExtendedStVk) {
        let stencil = Stencil { vertices: self.tets[index], coefficients: [[0.0; 4]; 3], size: 0.0 };
        (stencil, ExtendedStVk::new(0.0, 0.0, 0.0))
    }

    /// Mass of each free vertex for a density, from the first shape; no vertex is without.
    pub(super) fn masses(&self, free: usize, density: f64) -> Vec<f64> {
        let mut masses = vec![0.0; self.positions.len()];
        for (tet, volume) in self.tets.iter().zip(self.volumes.iter()) {
            tet.iter().for_each(|v| masses[*v as usize] += 0.25 * density * volume);
        }
        let least = masses.iter().copied().filter(|mass| *mass > 0.0).fold(f64::INFINITY, f64::min);
        masses.truncate(free);
        let least = if least.is_finite() { least } else { 1.0 };
        masses.iter().map(|mass| mass.max(least)).collect()
    }

    /// Flags the free vertices that nothing holds: no tetrahedra connect them to a fixed vertex or to a spring.
    pub(super) fn floating(&self, free: usize, springs: &[f64]) -> Vec<bool> {
        let is_held = |v: usize| v >= free || springs.get(v).is_some_and(|stiffness| *stiffness > 0.0);
        let mut held: Vec<bool> = (0..self.positions.len()).map(is_held).collect();
        loop {
            let mut grew = false;
            for tet in self.tets.iter() {
                let count = tet.iter().filter(|v| held[**v as usize]).count();
                if (1..4).contains(&count) {
                    tet.iter().for_each(|v| held[*v as usize] = true);
                    grew = true;
                }
            }
            if !grew {
                break;
            }
        }
        held[..free].iter().map(|held| !held).collect()
    }
}
