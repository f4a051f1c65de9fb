//! Tissue as a tetrahedral mesh under a skin, with the tie of each vertex and the material of each element.

use zygoma_geometry::tets::TetMesh;
use zygoma_physics::projective::Material;

use super::VolumeError;
use super::tissue_skin::TissueSkin;

/// The constraint on a vertex of tissue, besides the elements around it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tie {
    /// No constraint.
    #[default]
    Free,
    /// On the skin, whose position expressions define.
    Skin,
    /// Held by ligaments, as a spring to the bone below.
    Ligaments {
        /// Fraction by which that bone follows the jaw: 0 stays with the cranium, 1 is the jaw itself.
        jaw: f64,
    },
    /// Fixed to the cranium, which is at rest in the head's frame.
    Cranium,
    /// Fixed to the lower jaw.
    Jaw,
}

/// A tetrahedral mesh to be simulated as tissue, in any order of vertices. Vertices that are tied to the skin lie on the rig's skin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TissueVolume {
    /// Vertices, m, and tetrahedra of positive volume.
    pub mesh: TetMesh,
    /// The tie of each vertex.
    pub ties: Vec<Tie>,
    /// The material of each tetrahedron; empty to use that of the parameters.
    pub materials: Vec<Material>,
}

/// Tissue under a [`TissueSkin`]. The skin's vertices come first, in its order, and no others are tied to the skin.
#[derive(Default)]
pub(crate) struct TissueMesh {
    pub(crate) mesh: TetMesh,
    /// The tie of each vertex.
    pub(crate) ties: Vec<Tie>,
    /// The vertex of the skin above each vertex; for the skin's own vertices, themselves.
    pub(crate) above: Vec<u32>,
    /// The material of each tetrahedron.
    pub(crate) materials: Vec<Material>,
    /// The skin's triangle directly above each tetrahedron, if there is one: such tetrahedra contract with it.
    pub(crate) triangle_above: Vec<Option<u32>>,
    /// Triangles of the skin without tetrahedra below them.
    pub(crate) bare: Vec<[u32; 3]>,
}

impl TissueMesh {
    /// Checks that its parts fit each other and the skin.
    pub(crate) fn check(&self, skin: &TissueSkin) -> Result<(), VolumeError> {
        let (count, vertices, tets) = (skin.positions.len(), self.mesh.positions.len(), self.mesh.tets.len());
        let refused = |problem: String| Err(VolumeError::Mesh(problem));
        if self.ties.len() != vertices || self.above.len() != vertices {
            return refused(format!("{vertices} vertices have {} ties", self.ties.len()));
        }
        if self.materials.len() != tets || self.triangle_above.len() != tets {
            return refused(format!("{tets} tetrahedra have {} materials", self.materials.len()));
        }
        if self.mesh.positions.get(..count) != Some(&skin.positions) {
            return refused("its first vertices are not those of the skin".to_owned());
        }
        for (vertex, (tie, above)) in self.ties.iter().zip(&self.above).enumerate() {
            let is_skin = vertex < count;
            if is_skin != (*tie == Tie::Skin) || *above as usize >= count {
                return refused(format!("vertex {vertex} is out of order: the skin must come first"));
            }
            if is_skin && *above as usize != vertex {
                return refused(format!("vertex {vertex} of the skin lies below another"));
            }
        }
        if let Some(vertex) = self.mesh.positions.iter().position(|p| !p.is_finite()) {
            return refused(format!("vertex {vertex} is not at a finite place"));
        }
        if self.mesh.tets.iter().flatten().any(|v| *v as usize >= vertices) {
            return refused("a tetrahedron has a corner that does not exist".to_owned());
        }
        match self.mesh.volumes().iter().position(|volume| *volume <= 0.0) {
            Some(tet) => refused(format!("tetrahedron {tet} is inverted or flat at rest")),
            None => Ok(()),
        }
    }

    /// Leaves the elements out whose corners are all on bones: they move as these do, and a jaw that nears the cranium crushes them.
    pub(crate) fn leave_bone_out(&mut self) {
        let is_bone = |v: &u32| matches!(self.ties[*v as usize], Tie::Cranium | Tie::Jaw);
        let kept: Vec<bool> = self.mesh.tets.iter().map(|tet| !tet.iter().all(is_bone)).collect();
        let mut is_kept = kept.iter();
        self.mesh.tets.retain(|_| is_kept.next() == Some(&true));
        let mut is_kept = kept.iter();
        self.materials.retain(|_| is_kept.next() == Some(&true));
        let mut is_kept = kept.iter();
        self.triangle_above.retain(|_| is_kept.next() == Some(&true));
    }

    /// The skin's vertices above the corners of a tetrahedron.
    pub(crate) fn skin_corners(&self, tet: usize) -> [u32; 4] {
        self.mesh.tets[tet].map(|v| self.above[v as usize])
    }
}
