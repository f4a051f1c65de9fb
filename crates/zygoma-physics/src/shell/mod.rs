//! A thin elastic shell: springs along edges, bending across them, and actuation towards a target.
//!
//! The model of *Interactive Facial Animation* (IFA), §3.1. Lengths are in units where the face is 1 m high. [`Shell`] is the rest shape,
//! [`Stiffness`] is fitted, [`ShellParams`] are for users. A [`Stepper`] simulates motion; an [`EquilibriumProblem`] is solved for a static
//! [`Equilibrium`].

mod elastic;
#[cfg(target_arch = "x86_64")]
mod elastic_avx2;
mod elements;
mod equilibrium;
mod equilibrium_problem;
mod length_energy;
mod matrix;
mod params;
mod stepper;
#[cfg(test)]
mod test_shells;

use glam::DVec3;
use zygoma_geometry::{TriMeshError, check_mesh};

pub use elements::{Bend, Spring};
pub use equilibrium::Equilibrium;
pub use equilibrium_problem::{EquilibriumProblem, Weights, imbalance};
use matrix::step_matrix;
pub use params::ShellParams;
pub use stepper::{FrameMotion, StepMatrices, StepOrder, Stepper};

/// The simulation mesh at rest and its elastic elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    /// Vertices at rest.
    pub rest: Vec<DVec3>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Voronoi area of every vertex at rest (mixed where triangles are obtuse).
    pub area: Vec<f64>,
    /// One spring per edge, sorted by its ends.
    pub springs: Vec<Spring>,
    /// One bending element per edge between two triangles, in the order of the springs.
    pub bends: Vec<Bend>,
}

/// Stiffness per vertex, N/m. The value of an element is the mean of its vertices'.
#[derive(Clone, Debug, PartialEq)]
pub struct Stiffness {
    /// κ^s, resistance to stretching.
    pub strain: Vec<f64>,
    /// κ^b, resistance to bending.
    pub bending: Vec<f64>,
}

/// A mesh that cannot be a shell.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShellError {
    /// The arrays do not make a mesh.
    #[error(transparent)]
    Mesh(#[from] TriMeshError),
    /// A triangle without area.
    #[error("triangle {0} has no area; remesh the surface or remove the triangle")]
    Degenerate(usize),
    /// A vertex in no triangle, which would have no stiffness.
    #[error("vertex {0} belongs to no triangle; remove it")]
    Loose(usize),
}

impl Shell {
    /// The shell of a mesh in its rest shape.
    pub fn new(rest: Vec<DVec3>, triangles: Vec<[u32; 3]>) -> Result<Self, ShellError> {
        check(&rest, &triangles)?;
        let area = elements::voronoi_areas(&rest, &triangles);
        if let Some(loose) = area.iter().position(|a| *a <= 0.0) {
            return Err(ShellError::Loose(loose));
        }
        let edges = elements::edges(&triangles);
        let springs = edges.iter().map(|edge| Spring::new(&rest, edge.ends)).collect();
        let bends = edges.iter().filter_map(|edge| Bend::new(&rest, edge)).collect();
        Ok(Self { rest, triangles, area, springs, bends })
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.rest.len()
    }
}

impl Stiffness {
    /// The same stiffness everywhere.
    pub fn uniform(vertex_count: usize, strain: f64, bending: f64) -> Self {
        Self { strain: vec![strain; vertex_count], bending: vec![bending; vertex_count] }
    }

    /// κ^s of a spring: the mean of its ends.
    pub fn of_spring(&self, spring: &Spring) -> f64 {
        mean(&self.strain, &spring.ends)
    }

    /// κ^b of a bending element: the mean of its four vertices.
    pub fn of_bend(&self, bend: &Bend) -> f64 {
        mean(&self.bending, &bend.vertices)
    }
}

fn mean(values: &[f64], vertices: &[u32]) -> f64 {
    vertices.iter().map(|v| values[*v as usize]).sum::<f64>() / vertices.len() as f64
}

fn check(rest: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), ShellError> {
    check_mesh(rest, triangles)?;
    for (triangle, corners) in triangles.iter().enumerate() {
        let [a, b, c] = corners.map(|v| rest[v as usize]);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        // Flatter than a thousandth of a degree: heights and cotangents would be noise.
        if (b - a).cross(c - a).length() <= 1e-5 * longest * longest {
            return Err(ShellError::Degenerate(triangle));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_meshes_are_named() {
        let square = vec![DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y];
        let shell = |triangles: &[[u32; 3]]| Shell::new(square.clone(), triangles.to_vec());
        assert_eq!(
            shell(&[[0, 1, 7]]).unwrap_err(),
            TriMeshError::BadIndex { triangle: 0, vertex: 7, count: 4 }.into()
        );
        assert_eq!(shell(&[[0, 1, 2], [0, 1, 1]]).unwrap_err(), ShellError::Degenerate(1));
        assert_eq!(shell(&[[0, 1, 2]]).unwrap_err(), ShellError::Loose(3));
        let mut broken = square.clone();
        broken[2].x = f64::NAN;
        assert_eq!(Shell::new(broken, vec![[0, 1, 2]]).unwrap_err(), TriMeshError::NotFinite(2).into());
    }

    #[test]
    fn element_stiffness_is_the_mean_of_its_vertices() {
        let square = vec![DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y];
        let shell = Shell::new(square, vec![[0, 1, 2], [0, 2, 3]]).unwrap();
        assert_eq!((shell.springs.len(), shell.bends.len()), (5, 1));
        let stiffness = Stiffness { strain: vec![1.0, 2.0, 4.0, 8.0], bending: vec![1.0, 3.0, 5.0, 7.0] };
        assert_eq!(shell.springs[1].ends, [0, 2]);
        assert_eq!(stiffness.of_spring(&shell.springs[1]), 2.5);
        assert_eq!(stiffness.of_bend(&shell.bends[0]), 4.0);
    }
}
