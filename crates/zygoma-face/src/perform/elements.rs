//! The elements that flesh is made of, and what an expression changes about them.

use glam::DVec3;
use zygoma_physics::projective::{
    Attachments, Elements, Handle, Precision, ShapedTets, Stencil, System, Target, TissueTets,
};

use super::shortening::Shortened;
use super::tissue::{Layout, Tissue};

/// Thickness of skin without flesh, m. Ours.
const BARE_SKIN: f64 = 2e-3;

/// Edges of skin without flesh.
type BareEdges<T> = Elements<T, Target, 2, 1, 4>;

/// The elements of a system that change with the expression.
pub(super) struct Expressed<T> {
    /// The flesh that shapes squeeze, and which of its prisms are short now.
    shaped: Handle<ShapedTets<T>>,
    is_short: Vec<bool>,
    /// Edges of skin without flesh.
    edges: Handle<BareEdges<T>>,
    /// What skin and underside are held by.
    holds: Handle<Attachments<T>>,
}

impl Tissue {
    /// The elements, with vertices in the order of a layout.
    pub(super) fn system<T: Precision>(&self, layout: &Layout) -> (System<T>, Expressed<T>) {
        let positions = &self.flesh.mesh.positions;
        let rest: Vec<DVec3> = layout.vertices.iter().map(|v| positions[*v as usize]).collect();
        let element = |tet: &[u32; 4]| {
            let stencil = Stencil::tetrahedron(&rest, tet.map(|v| layout.rows[v as usize]))?;
            let [strain, volume] = self.stiffness.of_element(tet);
            let mut weights = self.params.material().tissue(stencil.size, 1.0);
            weights[0] *= strain;
            weights[1] *= volume;
            Some((stencil, weights))
        };
        let (mut tets, mut shaped) = (TissueTets::new(), ShapedTets::new());
        for (index, tet) in self.flesh.mesh.tets.iter().enumerate() {
            if !self.shortening.has(index)
                && let Some((stencil, weights)) = element(tet)
            {
                tets.push(&stencil, weights);
            }
        }
        for index in &self.shortening.tets {
            if let Some((stencil, [strain, volume, ..])) = element(&self.flesh.mesh.tets[*index as usize]) {
                shaped.push(&stencil, shaped_parameters([strain, volume], &Shortened::NOT));
            }
        }
        let mut edges = BareEdges::new();
        for ends in &self.bare_edges {
            let stencil = Stencil::edge(&rest, ends.map(|v| layout.rows[v as usize]));
            edges.push(&stencil, self.bare_edge(*ends, |v| positions[v as usize]));
        }
        let mut holds = Attachments::new();
        for vertex in 0..2 * self.skin_count() {
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
        };
        (system, expressed)
    }

    /// Tells the attachments where skin and bone are, and the flesh that is squeezed how short it is, for some weights by which the rig moves the
    /// skin.
    pub(super) fn express<T: Precision>(
        &self,
        weights: &[f32],
        moved: &[DVec3],
        system: &mut System<T>,
        expressed: &mut Expressed<T>,
    ) {
        let target = |v: u32| self.target(moved, v as usize);
        let shaped = system.group_mut(expressed.shaped);
        self.shortening.each(target, |prism, tets, shortened| {
            let is_short = *shortened != Shortened::NOT;
            // Most flesh is not squeezed most of the time.
            if is_short || expressed.is_short[prism] {
                for tet in tets {
                    let [strain, volume, ..] = shaped.parameters(tet);
                    shaped.set_parameters(tet, shaped_parameters([strain, volume], shortened));
                }
            }
            expressed.is_short[prism] = is_short;
        });
        let edges = system.group_mut(expressed.edges);
        for (edge, ends) in self.bare_edges.iter().enumerate() {
            edges.set_parameters(edge, self.bare_edge(*ends, target));
        }
        let holds = system.group_mut(expressed.holds);
        let (skin, pose) = (self.skin_count(), self.jaw_pose(weights));
        for vertex in 0..skin {
            holds.set_parameters(vertex, self.hold(vertex, self.target(moved, vertex)));
            let below = self.attachment(weights, &pose, vertex);
            holds.set_parameters(skin + vertex, self.hold(skin + vertex, below));
        }
    }

    /// Parameters of an edge of skin without flesh. Alone, skin would fold under the forces of the shapes, so it keeps the form that they give it.
    fn bare_edge(&self, [a, b]: [u32; 2], at: impl Fn(u32) -> DVec3) -> [f64; 4] {
        let DVec3 { x, y, z } = at(a) - at(b);
        [self.params.material().sheet_strain_weight(BARE_SKIN), x, y, z]
    }

    /// Parameters of what holds a vertex somewhere: the tone of the muscles for the skin, the bone for what lies below it.
    fn hold(&self, vertex: usize, at: DVec3) -> [f64; 4] {
        let skin = self.skin_count();
        let stiffness = match vertex {
            _ if self.is_loose[vertex % skin] => 0.0,
            _ if vertex < skin => self.params.tone,
            _ => self.params.attachment * self.stiffness.attachment[vertex - skin],
        };
        [stiffness * self.areas[vertex % skin], at.x, at.y, at.z]
    }
}

/// Parameters of an element that is pulled to a shape and to its volume.
pub(super) fn shaped_parameters([strain, volume]: [f64; 2], goal: &Shortened) -> [f64; 10] {
    let [x, y, z] = goal.shape.to_cols_array_2d();
    [strain, volume, goal.volume, goal.edge, x[0], y[1], z[2], y[2], z[0], x[1]]
}
