//! The elements of tissue, and their parameters in an expression.

use glam::DVec3;
use zygoma_physics::projective::{
    Attachments, CorotatedTets, Elements, Handle, Precision, Row, ShapedCorotatedVolume, ShapedTets, Stencil,
    System, Target, VolumeTarget, position,
};

use super::build::Tissue;
use super::contraction::ContractedShape;
use super::params::Actuation;
use crate::volume::{Layout, Tie};

/// Thickness of skin without tissue below it, m. Ours.
const BARE_SKIN: f64 = 2e-3;
/// Smallest singular value of a target shape: elements that a combination of shapes crushes or inverts still have a valid target. Ours.
const SOUND: f64 = 0.1;

/// Edges of skin without tissue below it.
type BareEdges<T> = Elements<T, Target, 2, 1, 4>;

/// The elements of a system that change with the expression.
#[derive(Clone)]
pub(super) struct Expressed<T> {
    /// Tissue with target shapes: all of it, or, where forces drive it, the part that shapes compress.
    shaped: Handle<ShapedTets<T>>,
    /// Flags the prisms that are contracted now.
    is_short: Vec<bool>,
    /// Edges of skin without tissue below it.
    edges: Handle<BareEdges<T>>,
    /// Springs that hold vertices at targets, and those vertices.
    holds: Handle<Attachments<T>>,
    held: Vec<u32>,
}

impl Tissue {
    /// The elements, with vertices in the order of a layout.
    pub(super) fn system<T: Precision>(&self, layout: &Layout) -> (System<T>, Expressed<T>) {
        let positions = &self.tissue_mesh.mesh.positions;
        let rest: Vec<DVec3> = layout.vertices.iter().map(|v| positions[*v as usize]).collect();
        let element = |tet: &usize| {
            let corners = self.tissue_mesh.mesh.tets[*tet].map(|v| layout.rows[v as usize]);
            let stencil = Stencil::tetrahedron(&rest, corners)?;
            let [strain, volume] = self.stiffness.of_element(&self.tissue_mesh.skin_corners(*tet));
            let mut weights = self.tissue_mesh.materials[*tet].corotated_volume(stencil.size);
            weights.strain_weight *= strain;
            weights.volume_weight *= volume;
            Some((stencil, weights))
        };
        let (mut tets, mut shaped) = (CorotatedTets::new(), ShapedTets::new());
        let all = 0..self.tissue_mesh.mesh.tets.len();
        let (plain, pulled): (Vec<usize>, Vec<usize>) = match self.params.actuation {
            Actuation::Shapes => (Vec::new(), all.collect()),
            Actuation::Forces => (
                all.filter(|tet| !self.shortening.has(*tet)).collect(),
                self.shortening.tets.iter().map(|tet| *tet as usize).collect(),
            ),
        };
        for (stencil, weights) in plain.iter().filter_map(element) {
            tets.push(&stencil, weights);
        }
        for (stencil, weights) in pulled.iter().filter_map(element) {
            let weights = [weights.strain_weight, weights.volume_weight];
            shaped.push(&stencil, shaped_parameters(weights, &ContractedShape::NOT));
        }
        let mut edges = BareEdges::new();
        for ends in &self.bare_edges {
            let stencil = Stencil::edge(&rest, ends.map(|v| layout.rows[v as usize]));
            edges.push(&stencil, self.bare_edge(*ends, |v| positions[v as usize]));
        }
        let is_held = |vertex: &u32| self.hold_stiffness(*vertex as usize) > 0.0;
        let held: Vec<u32> = (0..positions.len() as u32).filter(is_held).collect();
        let mut holds = Attachments::new();
        for vertex in held.iter().map(|vertex| *vertex as usize) {
            holds.push(&Stencil::vertex(layout.rows[vertex]), self.hold(vertex, positions[vertex]));
        }
        let mut system = System::new(layout.rows.len(), layout.free);
        let fits = "the layout has a row for every vertex";
        system.add(tets).expect(fits);
        let expressed = Expressed {
            shaped: system.add(shaped).expect(fits),
            is_short: vec![false; self.shortening.prism_count()],
            edges: system.add(edges).expect(fits),
            holds: system.add(holds).expect(fits),
            held,
        };
        (system, expressed)
    }

    /// Moves attachments with skin and bone, for the given weights and displacements of the skin.
    pub(super) fn stand<T: Precision>(
        &self,
        weights: &[f32],
        moved: &[DVec3],
        system: &mut System<T>,
        expressed: &Expressed<T>,
    ) {
        let pose = self.jaw_pose(weights);
        self.put(&|vertex| self.attached_place(weights, moved, &pose, vertex), system, expressed);
    }

    /// As [`stand`](Self::stand), and contracts the tissue that the rig compresses.
    pub(super) fn express<T: Precision>(
        &self,
        weights: &[f32],
        moved: &[DVec3],
        system: &mut System<T>,
        expressed: &mut Expressed<T>,
    ) {
        let shaped = system.group_mut(expressed.shaped);
        let target = |v: u32| self.target(moved, v as usize);
        self.shortening.each(target, |prism, tets, shortened| {
            let is_short = *shortened != ContractedShape::NOT;
            // Most tissue is uncompressed most of the time.
            if is_short || expressed.is_short[prism] {
                for tet in tets {
                    let ShapedCorotatedVolume { strain_weight, volume_weight, .. } = shaped.parameters(tet);
                    shaped.set_parameters(tet, shaped_parameters([strain_weight, volume_weight], shortened));
                }
            }
            expressed.is_short[prism] = is_short;
        });
        self.stand(weights, moved, system, expressed);
    }

    /// Sets the targets of all elements to the displaced rows: there the tissue is free of strain.
    pub(super) fn aim<T: Precision>(
        &self,
        displacements: &[Row<T>],
        system: &mut System<T>,
        expressed: &Expressed<T>,
    ) {
        system.group_mut(expressed.shaped).take_shapes(displacements, SOUND);
        let place = |vertex: usize| {
            self.tissue_mesh.mesh.positions[vertex]
                + position(&displacements[self.layout.rows[vertex] as usize])
        };
        self.put(&place, system, expressed);
    }

    /// Sets the targets of attachments and of edges of bare skin, given the positions of the vertices.
    fn put<T: Precision>(
        &self,
        place: &impl Fn(usize) -> DVec3,
        system: &mut System<T>,
        expressed: &Expressed<T>,
    ) {
        let edges = system.group_mut(expressed.edges);
        for (edge, ends) in self.bare_edges.iter().enumerate() {
            edges.set_parameters(edge, self.bare_edge(*ends, |v| place(v as usize)));
        }
        let holds = system.group_mut(expressed.holds);
        for (hold, vertex) in expressed.held.iter().map(|vertex| *vertex as usize).enumerate() {
            holds.set_parameters(hold, self.hold(vertex, place(vertex)));
        }
    }

    /// Target of an edge of skin without tissue below it. Such skin would fold under the forces of the shapes, so it keeps the form that
    /// they give it.
    fn bare_edge(&self, [a, b]: [u32; 2], at: impl Fn(u32) -> DVec3) -> Target {
        let weight = self.params.material().sheet_strain_weight(BARE_SKIN);
        Target { weight, target: (at(a) - at(b)).to_array() }
    }

    /// Target of the spring that holds a vertex.
    fn hold(&self, vertex: usize, at: DVec3) -> Target {
        Target { weight: self.hold_stiffness(vertex), target: at.to_array() }
    }

    /// Stiffness of the spring that holds a vertex, N/m: ligaments to the bone, and on skin the tone of the muscles where forces drive
    /// it.
    fn hold_stiffness(&self, vertex: usize) -> f64 {
        let above = self.tissue_mesh.above[vertex] as usize;
        let per_area = match (self.tissue_mesh.ties[vertex], self.params.actuation) {
            // With no element around it, nothing else would hold it.
            _ if self.is_alone[vertex] => self.params.attachment(),
            _ if self.surface.is_loose[above] => 0.0,
            (Tie::Ligaments { .. }, _) => self.params.attachment() * self.stiffness.attachment[above],
            (Tie::Skin, Actuation::Forces) => self.params.tone,
            _ => 0.0,
        };
        per_area * self.surface.areas[above]
    }
}

/// Parameters of an element with a target shape and volume.
pub(super) fn shaped_parameters(
    [strain_weight, volume_weight]: [f64; 2],
    goal: &ContractedShape,
) -> ShapedCorotatedVolume {
    let volume = VolumeTarget { determinant: goal.volume, cube_root: goal.edge };
    ShapedCorotatedVolume { strain_weight, volume_weight, volume, shape: goal.shape.to_cols_array_2d() }
}
