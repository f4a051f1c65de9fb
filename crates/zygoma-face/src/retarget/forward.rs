//! The forward simulation: deformation gradients and facial characteristics applied to the tissue of a target (AnaConDaR eq. 18, A.1 to A.6).

use glam::{DAffine3, DMat3, DVec3};
use zygoma_head::anatomy::Tie;
use zygoma_head::fit::Seat;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{
    Elements, GradientTarget, Handle, Prefactored, Row, SolveOptions, Solver, Stencil, System, Target,
    TriangleArea, row,
};

use super::characteristics::{Characteristics, Features, LEAST_AREA, area};
use super::params::RetargetParams;
use super::volume::{HeadVolume, from_rows, to_rows};

/// Tetrahedra with a gradient of their own.
type GradientTets = Elements<f32, GradientTarget, 4, 3, 10>;
/// Triangles between vertices of the skin, each carried by three nodes and set off by a point of its own.
type CarriedTriangles = Elements<f32, TriangleArea, 12, 2, 2>;
/// Vertices of the skin, carried in the same way.
type CarriedPoints = Elements<f32, Target, 4, 1, 4>;

/// Length of the L-BFGS history.
const HISTORY: usize = 6;
/// Iterations end when nothing moves by more, m.
const STILL: f64 = 1e-6;
/// Weight of lips that are brought together, relative to facial characteristics. Ours: the second run has to win.
const PARTED: f64 = 10.0;

/// A vertex of the skin that is brought to a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) vertex: u32,
    pub(super) place: DVec3,
}

/// A forward simulation of one head.
pub(super) struct Forward {
    system: System<f32>,
    global: Prefactored<f32>,
    solver: Solver<f32>,
    rows: Vec<u32>,
    gradients: Handle<GradientTets>,
    /// Elements of the gradients, by tetrahedron.
    elements: Vec<Option<usize>>,
    eyes: Handle<CarriedTriangles>,
    sockets: Handle<CarriedTriangles>,
    lips: Handle<CarriedPoints>,
    parted: Handle<CarriedPoints>,
    /// Vertices of the skin that have a row of their own, which holds how far they are off their carriers.
    offsets: Vec<u32>,
    parted_weight: f64,
    options: SolveOptions,
}

/// The input of a forward simulation.
pub(super) struct ForwardInput<'a> {
    /// For each tetrahedron its deformation gradient.
    pub(super) gradients: &'a [DMat3],
    /// The motion of the jaw.
    pub(super) jaw: &'a DAffine3,
    /// A first guess of the skin, which gives the details that are finer than the tissue: plain transfer.
    pub(super) detail: &'a [DVec3],
    pub(super) wanted: &'a Characteristics,
}

/// A solved target.
pub(super) struct Solved {
    /// Nodes of the tissue.
    pub(super) nodes: Vec<DVec3>,
    /// The shared skin.
    pub(super) skin: Vec<DVec3>,
    rows: Vec<Row<f32>>,
}

impl Forward {
    /// Prepares a head whose shared skin is `skin`. Lips may be brought together at the vertices `lips`.
    pub(super) fn new(
        volume: &HeadVolume,
        skin: &[DVec3],
        lips: &[u32],
        params: &RetargetParams,
    ) -> Result<Self, NotPositiveDefinite> {
        let (rows, free) = volume.order(|v| matches!(volume.ties[v], Tie::Flesh | Tie::Skin));
        let features = Features::get();
        let mut offsets: Vec<u32> =
            features.eyes.iter().chain(&features.sockets).flatten().copied().collect();
        offsets.extend(features.lips.iter().chain(lips));
        offsets.sort_unstable();
        offsets.dedup();
        let mut system = System::new(rows.len() + offsets.len(), free);
        let known = "every row is one of the system's";
        let carrier = Carrier { volume, rows: &rows, offsets: &offsets };

        let mut gradients = GradientTets::new();
        let mut elements = Vec::with_capacity(volume.tets.len());
        for tet in &volume.tets {
            elements.push(Stencil::tetrahedron(&volume.rest, *tet).map(|mut stencil| {
                let weight = params.gradient * stencil.size / volume.mean_volume;
                stencil.vertices = tet.map(|v| rows[v as usize]);
                gradients
                    .push(&stencil, GradientTarget { weight, gradient: DMat3::IDENTITY.to_cols_array_2d() });
                gradients.len() - 1
            }));
        }
        let gradients = system.add(gradients).expect(known);
        let strip = |triangles: &[[u32; 3]]| {
            let mean = triangles.iter().map(|t| area(skin, *t)).sum::<f64>() / triangles.len().max(1) as f64;
            let mut group = CarriedTriangles::new();
            for t in triangles {
                let (stencil, size) = carrier.triangle(skin, *t);
                let is_sound = size > LEAST_AREA * mean;
                let weight = if is_sound { params.characteristics * size / mean } else { 0.0 };
                group.push(&stencil, TriangleArea { weight, area: 1.0 });
            }
            group
        };
        let eyes = system.add(strip(&features.eyes)).expect(known);
        let sockets = system.add(strip(&features.sockets)).expect(known);
        let mut contour = CarriedPoints::new();
        let weight = params.characteristics / volume.edge_squared();
        for v in &features.lips {
            contour.push(&carrier.point(*v), Target { weight, target: skin[*v as usize].to_array() });
        }
        let contour = system.add(contour).expect(known);
        let parted = system.add_transient(CarriedPoints::new()).expect(known);
        let candidates =
            carrier.nodes_of(lips).into_iter().filter(|r| (*r as usize) < free).collect::<Vec<u32>>();
        let global = Prefactored::new(&system.matrix(&vec![0.0; free]), &candidates)?;
        let options = SolveOptions {
            iterations: params.iterations,
            history: HISTORY,
            least_motion: STILL,
            ..SolveOptions::default()
        };
        Ok(Self {
            solver: Solver::new(&system),
            system,
            global,
            rows,
            gradients,
            elements,
            eyes,
            sockets,
            lips: contour,
            parted,
            offsets,
            parted_weight: PARTED * params.characteristics.max(1.0) / volume.edge_squared(),
            options,
        })
    }

    /// Solves for a target (AnaConDaR eq. 10).
    pub(super) fn solve(&mut self, volume: &HeadVolume, rest: &[DVec3], input: &ForwardInput<'_>) -> Solved {
        self.aim(input);
        let displacements: Vec<DVec3> = input.detail.iter().zip(rest).map(|(p, rest)| *p - *rest).collect();
        let start = volume.placed(&displacements, input.jaw);
        let mut x = vec![[0.0; 4]; self.system.vertex_count()];
        to_rows(&self.rows, &start, &mut x);
        // How far the detailed skin is off what its carriers say: this part is not simulated.
        let off: Vec<DVec3> =
            volume.skin.on_fill.iter().zip(input.detail).map(|(seat, p)| *p - seat.mix(&start)).collect();
        for (place, v) in self.offsets.iter().enumerate() {
            x[self.rows.len() + place] = row(off[*v as usize]);
        }
        self.part(&[], volume);
        self.run(volume, &off, x)
    }

    /// Solves again with vertices of the lips brought to places (AnaConDaR §3.3.2, forward simulation, step 3).
    pub(super) fn solve_parted(&mut self, volume: &HeadVolume, solved: &Solved, placed: &[Placed]) -> Solved {
        let off: Vec<DVec3> = volume
            .skin
            .on_fill
            .iter()
            .zip(&solved.skin)
            .map(|(seat, p)| *p - seat.mix(&solved.nodes))
            .collect();
        self.part(placed, volume);
        self.run(volume, &off, solved.rows.clone())
    }

    fn run(&mut self, volume: &HeadVolume, off: &[DVec3], mut x: Vec<Row<f32>>) -> Solved {
        self.solver.minimise(&self.system, None, &mut self.global, &self.options, &mut x);
        let nodes = from_rows(&self.rows, &x);
        let skin = volume.skin.on_fill.iter().zip(off).map(|(seat, off)| seat.mix(&nodes) + *off).collect();
        Solved { nodes, skin, rows: x }
    }

    fn aim(&mut self, input: &ForwardInput<'_>) {
        let group = self.system.group_mut(self.gradients);
        for (element, gradient) in self.elements.iter().zip(input.gradients) {
            let Some(element) = element else { continue };
            let weight = group.parameters(*element).weight;
            group.set_parameters(*element, GradientTarget { weight, gradient: gradient.to_cols_array_2d() });
        }
        for (handle, ratios) in [(self.eyes, &input.wanted.eyes), (self.sockets, &input.wanted.sockets)] {
            let group = self.system.group_mut(handle);
            for (element, ratio) in ratios.iter().enumerate() {
                let weight = group.parameters(element).weight;
                group.set_parameters(element, TriangleArea { weight, area: *ratio });
            }
        }
        let group = self.system.group_mut(self.lips);
        for (element, place) in input.wanted.lips.iter().enumerate() {
            let weight = group.parameters(element).weight;
            group.set_parameters(element, Target { weight, target: place.to_array() });
        }
    }

    /// Replaces the vertices that are brought together.
    fn part(&mut self, placed: &[Placed], volume: &HeadVolume) {
        let stencils: Vec<_> = {
            let carrier = Carrier { volume, rows: &self.rows, offsets: &self.offsets };
            placed.iter().map(|placed| carrier.point(placed.vertex)).collect()
        };
        let group = self.system.group_mut(self.parted);
        group.clear();
        for (stencil, placed) in stencils.iter().zip(placed) {
            group.push(stencil, Target { weight: self.parted_weight, target: placed.place.to_array() });
        }
        let rows = self.system.transient_rows();
        if self.global.set_transient(&rows).is_err() {
            // Without the constraints in its matrix the solve only converges more slowly.
            let none = self.global.set_transient(&[]);
            debug_assert!(none.is_ok(), "no constraint leaves the matrix as it was");
        }
    }
}

/// Vertices of the skin as mixtures of rows: three nodes of the tissue and the vertex's own offset.
struct Carrier<'a> {
    volume: &'a HeadVolume,
    rows: &'a [u32],
    offsets: &'a [u32],
}

impl Carrier<'_> {
    fn seat(&self, v: u32) -> ([u32; 4], [f64; 4]) {
        let Seat { corners, barycentric: [a, b, c] } = self.volume.skin.on_fill[v as usize];
        let [i, j, k] = corners.map(|node| self.rows[node as usize]);
        let own = self.offsets.binary_search(&v).map_or(i, |place| (self.rows.len() + place) as u32);
        ([i, j, k, own], [a, b, c, 1.0])
    }

    fn point(&self, v: u32) -> Stencil<4, 1> {
        let (vertices, weights) = self.seat(v);
        Stencil { vertices, coefficients: [weights], size: 1.0 }
    }

    /// The stencil of a triangle and its area; a flat one has none, and pulls at nothing.
    fn triangle(&self, skin: &[DVec3], t: [u32; 3]) -> (Stencil<12, 2>, f64) {
        let seats = t.map(|v| self.seat(v));
        let vertices = std::array::from_fn(|k| seats[k / 4].0[k % 4]);
        let Some(plain) = Stencil::triangle(skin, t) else {
            return (Stencil { vertices, coefficients: [[0.0; 12]; 2], size: 0.0 }, 0.0);
        };
        let coefficients =
            plain.coefficients.map(|row| std::array::from_fn(|k| row[k / 4] * seats[k / 4].1[k % 4]));
        (Stencil { vertices, coefficients, size: plain.size }, plain.size)
    }

    /// Rows of the nodes that carry some vertices.
    fn nodes_of(&self, vertices: &[u32]) -> Vec<u32> {
        let nodes = vertices.iter().flat_map(|v| self.volume.skin.on_fill[*v as usize].corners);
        let mut rows: Vec<u32> = nodes.map(|node| self.rows[node as usize]).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}
