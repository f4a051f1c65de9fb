//! The inverse simulation: the closest state to a wanted skin that anatomy allows, T = φ†(S, p) (Thesis ch. 3 eq. 8 and 15).

use glam::DVec3;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_numerics::NotPositiveDefinite;
use zygoma_physics::projective::{
    Attachments, Changed, CorotatedTets, CorotatedVolume, Elements, Handle, Plane, Prefactored, RigidBody,
    Row, SolveOptions, SolveReport, Solver, Stencil, StrainLimit, System, Target, TriangleStrain,
    VertexBeyond, VolumeTarget, position, row,
};

use super::build::{Anatomical, JAW_POINTS};
use crate::volume::Layout;

type StretchedTets = Elements<f32, StrainLimit, 4, 3, 3>;
type SkinTriangles = Elements<f32, TriangleStrain, 3, 2, 1>;
type CraniumPlanes = Elements<f32, Plane, 1, 1, 5>;
type JawSprings = Elements<f32, Target, 5, 1, 4>;
type JawPlanes = Elements<f32, Plane, 5, 1, 5>;
type ClosedLips = Elements<f32, Target, 2, 1, 4>;
type LandmarkTargets = Elements<f32, Target, 3, 1, 4>;

/// Weight that keeps the points that stand for the jaw in one rigid body, N/m. Ours, as those below.
const RIGID: f64 = 3e4;
/// Weight of the jaw's known pose at each of its points, N/m: tissue moves it by less than a tenth of a millimetre.
const POSED: f64 = 3e4;
/// Weight that keeps lips closed that are closed at rest, N/m for each pair of points.
const CLOSED: f64 = 50.0;
/// Tissue that no expression moves, such as the scalp, is bound to its bone by this many times as much.
const BOUND: f64 = 30.0;
/// Length of the L-BFGS history.
const HISTORY: usize = 8;

/// The variable part of an inverse simulation.
#[derive(Clone)]
pub(super) struct Setup {
    /// Vertices of the surface that are exactly at their targets.
    pub(super) is_held: Vec<bool>,
    /// Factor of the pull of each vertex of the surface to its target; 0 leaves it free.
    pub(super) pull: Vec<f64>,
    /// Factor of strain around each vertex: 1 for passive tissue.
    pub(super) passive: Vec<f64>,
    /// Volume that each tetrahedron should have, relative to rest.
    pub(super) growth: Vec<f64>,
    /// Length that the skin around each vertex should have, relative to rest.
    pub(super) skin_growth: Vec<f64>,
    /// Factor of the skin's stiffness around each vertex.
    pub(super) skin_stiffness: Vec<f64>,
    /// The place on the bone of each tie, at rest.
    pub(super) feet: Vec<DVec3>,
    /// Pairs of points of the two lips that stay as they are at rest.
    pub(super) closed: Vec<[u32; 2]>,
    /// Points that are pulled to places of their own.
    pub(super) landmarks: Vec<Carried>,
}

/// A point that the tissue's surface carries, and the weight of its pull, N/m.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    pub(super) vertices: [u32; 3],
    pub(super) barycentric: [f64; 3],
    pub(super) weight: f64,
}

impl Setup {
    /// The head as it is.
    pub(super) fn of(model: &Anatomical) -> Self {
        Self {
            is_held: model.surface.is_held.clone(),
            pull: model.pull.clone(),
            passive: model.passive.clone(),
            growth: vec![1.0; model.tets.len()],
            skin_growth: vec![1.0; model.skin_count()],
            skin_stiffness: model.skin_stiffness.clone(),
            feet: model.ties.iter().map(|tie| model.rest[tie.vertex as usize]).collect(),
            closed: Vec::new(),
            landmarks: Vec::new(),
        }
    }

    /// Passive tissue with free skin.
    pub(super) fn relaxed(model: &Anatomical) -> Self {
        Self { pull: vec![0.0; model.skin_count()], passive: model.cartilage.clone(), ..Self::of(model) }
    }

    /// The whole surface exactly at its targets: the plain rig, with its interior solved.
    pub(super) fn held(model: &Anatomical) -> Self {
        Self { is_held: vec![true; model.skin_count()], ..Self::of(model) }
    }
}

/// Groups of elements that change from solve to solve.
#[derive(Clone, Copy)]
struct Groups {
    targets: Handle<Attachments<f32>>,
    jaw_pose: Handle<Attachments<f32>>,
    jaw: Handle<RigidBody>,
    jaw_planes: Handle<JawPlanes>,
    landmarks: Handle<LandmarkTargets>,
}

/// An inverse simulation in progress.
#[derive(Clone)]
pub(super) struct Inverse {
    pub(super) system: System<f32>,
    groups: Groups,
    pub(super) global: Prefactored<f32>,
    solver: Solver<f32>,
    /// Row of each vertex: free ones first.
    rows: Vec<u32>,
    /// Surface vertices in the order of their targets in the system, and the element of each.
    pulled: Vec<u32>,
    /// Normals of the jaw's planes at rest.
    jaw_normals: Vec<DVec3>,
    jaw_rest: [DVec3; JAW_POINTS],
    pub(super) x: Vec<Row<f32>>,
    options: SolveOptions,
}

impl Inverse {
    /// Prepares a head at rest.
    pub(super) fn new(model: &Anatomical, setup: &Setup) -> Result<Self, NotPositiveDefinite> {
        let Layout { rows, free, .. } = model.layout(&setup.is_held);
        let mut system = System::new(rows.len(), free);
        let assembled = Assembly { model, setup, rows: &rows }.add_to(&mut system);
        let (groups, pulled, jaw_normals) = assembled.expect("every row is one of the system's");
        let mut x = vec![[0.0; 4]; rows.len()];
        rows.iter().zip(&model.rest).for_each(|(r, p)| x[*r as usize] = row(*p));
        let global = Prefactored::new(&system.matrix(&vec![0.0; free]), &[])?;
        let options = SolveOptions {
            iterations: model.params.iterations,
            history: HISTORY,
            least_motion: 1e-3 * model.params.least_motion,
            ..SolveOptions::default()
        };
        let mut inverse = Self {
            solver: Solver::new(&system),
            jaw_rest: model.jaw_points().map(|v| model.rest[v as usize]),
            system,
            groups,
            global,
            rows,
            pulled,
            jaw_normals,
            x,
            options,
        };
        inverse.set_forces(model.forces.iter().copied());
        Ok(inverse)
    }

    /// Sets the constant force on each vertex, N.
    pub(super) fn set_forces(&mut self, forces: impl IntoIterator<Item = DVec3>) {
        let free = self.system.free_count();
        for (own, force) in self.rows.iter().zip(forces).filter(|(own, _)| (**own as usize) < free) {
            self.system.forces[*own as usize] = row(force);
        }
    }

    /// Position of a vertex.
    pub(super) fn at(&self, vertex: usize) -> DVec3 {
        position(&self.x[self.rows[vertex] as usize])
    }

    /// Positions of the first vertices.
    pub(super) fn positions(&self, count: usize) -> Vec<DVec3> {
        (0..count).map(|vertex| self.at(vertex)).collect()
    }

    /// Moves a vertex.
    pub(super) fn place(&mut self, vertex: usize, at: DVec3) {
        self.x[self.rows[vertex] as usize] = row(at);
    }

    /// The motion of the jaw.
    pub(super) fn jaw(&self) -> RigidMotion {
        self.system.group(self.groups.jaw).motion(&self.x)
    }

    /// Sets the wanted surface and the jaw's pose, and moves vertices along as a first guess.
    pub(super) fn aim(&mut self, model: &Anatomical, targets: &[DVec3], pose: &RigidMotion) {
        let group = self.system.group_mut(self.groups.targets);
        for (element, vertex) in self.pulled.iter().enumerate() {
            let mut parameters = group.parameters(element);
            let target = targets[*vertex as usize];
            let way = target - DVec3::from_array(parameters.target);
            parameters.target = target.to_array();
            group.set_parameters(element, parameters);
            let place = &mut self.x[self.rows[*vertex as usize] as usize];
            *place = row(position(place) + way);
        }
        let free = self.system.free_count();
        for (vertex, target) in targets.iter().enumerate() {
            let own = self.rows[vertex] as usize;
            if own >= free {
                self.x[own] = row(*target);
            }
        }
        self.pose_jaw(model, pose);
    }

    /// Sets the places of landmarks, as far as the surface carries them.
    pub(super) fn aim_landmarks(&mut self, targets: &[DVec3]) {
        let group = self.system.group_mut(self.groups.landmarks);
        for (element, target) in targets.iter().enumerate() {
            let mut parameters = group.parameters(element);
            parameters.target = target.to_array();
            group.set_parameters(element, parameters);
        }
    }

    /// Returns to rest.
    pub(super) fn reset(&mut self, model: &Anatomical) {
        self.aim(model, &model.targets(&[]), &RigidMotion::IDENTITY);
        for (vertex, rest) in model.rest.iter().enumerate() {
            self.place(vertex, *rest);
        }
    }

    fn pose_jaw(&mut self, model: &Anatomical, pose: &RigidMotion) {
        let before = self.jaw();
        let back = before.rotation.inverse();
        let carry = |p: DVec3| pose.apply(back * (p - before.translation));
        for tie in model.ties.iter().filter(|tie| tie.on_jaw) {
            let moved = carry(self.at(tie.vertex as usize));
            self.place(tie.vertex as usize, moved);
        }
        let group = self.system.group_mut(self.groups.jaw_pose);
        for (element, rest) in self.jaw_rest.iter().enumerate() {
            let mut parameters = group.parameters(element);
            parameters.target = pose.apply(*rest).to_array();
            group.set_parameters(element, parameters);
        }
        for (vertex, rest) in model.jaw_points().iter().zip(self.jaw_rest) {
            self.place(*vertex as usize, pose.apply(rest));
        }
        self.turn_jaw_normals(pose);
    }

    fn turn_jaw_normals(&mut self, pose: &RigidMotion) {
        let group = self.system.group_mut(self.groups.jaw_planes);
        for (element, normal) in self.jaw_normals.iter().enumerate() {
            let mut parameters = group.parameters(element);
            parameters.normal = (pose.rotation * *normal).to_array();
            group.set_parameters(element, parameters);
        }
    }

    /// Rows of the surface's vertices.
    pub(super) fn skin_rows(&self, model: &Anatomical) -> Vec<u32> {
        self.rows[..model.skin_count()].to_vec()
    }

    /// All rows, with the surface's vertices at given places.
    pub(super) fn rows_at(&self, surface: &[DVec3]) -> Vec<Row<f32>> {
        let mut rows = self.x.clone();
        surface.iter().zip(&self.rows).for_each(|(at, own)| rows[*own as usize] = row(*at));
        rows
    }

    /// Moves towards the minimum.
    pub(super) fn solve(&mut self) -> SolveReport {
        self.solver.minimise(&self.system, None, &mut self.global, &self.options, &mut self.x)
    }

    /// Announces that contacts will change.
    pub(super) fn release_transients(&mut self) {
        self.solver.release_transients(&self.system, &self.x);
    }

    /// Goes on after contacts have changed.
    pub(super) fn solve_on(&mut self) -> SolveReport {
        let options = SolveOptions { changed: Changed::Transients, ..self.options };
        self.solver.minimise(&self.system, None, &mut self.global, &options, &mut self.x)
    }

    /// Moves to the minimum, however long it takes.
    pub(super) fn solve_to(&mut self, iterations: usize, least_motion: f64) -> SolveReport {
        let options = SolveOptions { iterations, least_motion, ..self.options };
        self.solver.minimise(&self.system, None, &mut self.global, &options, &mut self.x)
    }
}

/// The mean of values at the corners of an element.
pub(super) fn mean_at(values: &[f64], corners: &[u32]) -> f64 {
    corners.iter().map(|v| values[*v as usize]).sum::<f64>() / corners.len() as f64
}

/// The energies of a head (Thesis ch. 3 eq. 15).
struct Assembly<'a> {
    model: &'a Anatomical,
    setup: &'a Setup,
    rows: &'a [u32],
}

impl Assembly<'_> {
    /// Adds all energies; returns the groups that change, the pulled vertices, and the normals of the jaw's planes.
    fn add_to(&self, system: &mut System<f32>) -> Result<(Groups, Vec<u32>, Vec<DVec3>), VertexBeyond> {
        self.add_tissue(system)?;
        system.add(self.skin())?;
        self.add_cranium(system)?;
        let (jaw_springs, jaw_planes, jaw_normals) = self.jaw_ties();
        system.add(jaw_springs)?;
        let jaw_planes = system.add(jaw_planes)?;
        let points = self.model.jaw_points();
        let at_rest = points.map(|v| self.model.rest[v as usize]);
        let jaw = system.add(RigidBody::new(&points.map(|v| self.rows[v as usize]), &at_rest, RIGID))?;
        let jaw_pose = system.add(self.attachments(points.iter().map(|v| (*v, POSED))))?;
        system.add(self.attachments(
            self.model.deep.iter().map(|(v, volume)| (*v, self.model.params.anchor() * volume)),
        ))?;
        system.add(self.closed_lips())?;
        let landmarks = system.add(self.landmarks())?;
        let pulled: Vec<u32> = (0..self.model.skin_count() as u32).filter(|v| self.is_pulled(*v)).collect();
        let targets = system.add(self.attachments(pulled.iter().map(|v| (*v, self.pull(*v)))))?;
        Ok((Groups { targets, jaw_pose, jaw, jaw_planes, landmarks }, pulled, jaw_normals))
    }

    /// Soft tissue and muscles (Thesis ch. 3 eq. 10 and 12). They grow in all directions alike.
    fn add_tissue(&self, system: &mut System<f32>) -> Result<(), VertexBeyond> {
        let model = self.model;
        let (mut tets, mut stretched) = (CorotatedTets::new(), StretchedTets::new());
        for ((tet, is_muscle), growth) in model.tets.iter().zip(&model.is_muscle).zip(&self.setup.growth) {
            let Some(mut stencil) = Stencil::tetrahedron(&model.rest, *tet) else { continue };
            let smaller = 1.0 / growth.cbrt();
            stencil.coefficients.iter_mut().flatten().for_each(|c| *c *= smaller);
            stencil.vertices = tet.map(|v| self.rows[v as usize]);
            let size = stencil.size * growth;
            let mut weights = model.params.weights(*is_muscle);
            weights.strain *= self.passive(tet);
            let limit = model.params.tissue_stretch;
            let is_limited = !is_muscle && limit > 1.0;
            let strain = if is_limited { 0.0 } else { weights.strain * size };
            let volume = VolumeTarget::REST;
            tets.push(
                &stencil,
                CorotatedVolume { strain_weight: strain, volume_weight: weights.volume * size, volume },
            );
            if is_limited {
                // The clamp is continuous, unlike the indicator of Thesis ch. 3 eq. 10; volume resists compression.
                let weight = weights.strain * size;
                stretched.push(&stencil, StrainLimit { weight, low: 0.0, high: limit });
            }
        }
        system.add(tets)?;
        system.add(stretched)?;
        Ok(())
    }

    /// The skin (Thesis ch. 3 eq. 11).
    fn skin(&self) -> SkinTriangles {
        let mut triangles = SkinTriangles::new();
        for t in &self.model.surface.triangles {
            let Some(mut stencil) = Stencil::triangle(&self.model.rest, *t) else { continue };
            let length = mean_at(&self.setup.skin_growth, t);
            let weight = self.model.params.skin_weight() * mean_at(&self.setup.skin_stiffness, t);
            stencil.coefficients.iter_mut().flatten().for_each(|c| *c /= length);
            stencil.vertices = t.map(|v| self.rows[v as usize]);
            let size = stencil.size * length * length;
            triangles.push(&stencil, TriangleStrain { weight: weight * self.passive(t) * size });
        }
        triangles
    }

    /// Ties to the cranium, which is at rest.
    fn add_cranium(&self, system: &mut System<f32>) -> Result<(), VertexBeyond> {
        let (mut springs, mut planes) = (Attachments::new(), CraniumPlanes::new());
        let [normal_weight, slide_weight] = self.model.params.bone_weights();
        for (tie, foot) in self.model.ties.iter().zip(&self.setup.feet).filter(|(tie, _)| !tie.on_jaw) {
            let stencil = Stencil::vertex(self.rows[tie.vertex as usize]);
            let weight = slide_weight * tie.area * self.binding(tie.vertex);
            springs.push(&stencil, Target { weight, target: foot.to_array() });
            let plane = Plane {
                weight: normal_weight * tie.area,
                normal: tie.normal.to_array(),
                offset: tie.normal.dot(*foot),
            };
            planes.push(&stencil, plane);
        }
        system.add(springs)?;
        system.add(planes)?;
        Ok(())
    }

    /// Ties to the jaw: the vector from the bone's point to the tissue's.
    fn jaw_ties(&self) -> (JawSprings, JawPlanes, Vec<DVec3>) {
        let (mut springs, mut planes, mut normals) = (JawSprings::new(), JawPlanes::new(), Vec::new());
        let [normal_weight, slide_weight] = self.model.params.bone_weights();
        let [a, b, c, d] = self.model.jaw_points().map(|v| self.rows[v as usize]);
        for (tie, foot) in self.model.ties.iter().zip(&self.setup.feet).filter(|(tie, _)| tie.on_jaw) {
            let [wa, wb, wc, wd] = self.model.jaw_weights(*foot);
            let stencil = Stencil {
                vertices: [self.rows[tie.vertex as usize], a, b, c, d],
                coefficients: [[1.0, -wa, -wb, -wc, -wd]],
                size: 1.0,
            };
            let weight = slide_weight * tie.area * self.binding(tie.vertex);
            springs.push(&stencil, Target { weight, target: [0.0; 3] });
            let weight = normal_weight * tie.area;
            planes.push(&stencil, Plane { weight, normal: tie.normal.to_array(), offset: 0.0 });
            normals.push(tie.normal);
        }
        (springs, planes, normals)
    }

    fn closed_lips(&self) -> ClosedLips {
        let mut lips = ClosedLips::new();
        for pair in &self.setup.closed {
            let mut stencil = Stencil::edge(&self.model.rest, *pair);
            let [target] = stencil.sample(&self.model.rest);
            stencil.vertices = pair.map(|v| self.rows[v as usize]);
            lips.push(&stencil, Target { weight: CLOSED, target: target.to_array() });
        }
        lips
    }

    /// Landmarks at rest (Thesis ch. 4 eq. 22).
    fn landmarks(&self) -> LandmarkTargets {
        let mut targets = LandmarkTargets::new();
        for point in &self.setup.landmarks {
            let mut stencil =
                Stencil { vertices: point.vertices, coefficients: [point.barycentric], size: 1.0 };
            let [target] = stencil.sample(&self.model.rest);
            stencil.vertices = point.vertices.map(|v| self.rows[v as usize]);
            targets.push(&stencil, Target { weight: point.weight, target: target.to_array() });
        }
        targets
    }

    /// Mean factor of strain over the corners of an element.
    fn passive(&self, corners: &[u32]) -> f64 {
        mean_at(&self.setup.passive, corners)
    }

    /// How firmly tissue sits on its bone: loosely while it is active, firmly where no expression moves it.
    fn binding(&self, vertex: u32) -> f64 {
        let above = self.model.above[vertex as usize];
        self.passive(&[vertex]) * (1.0 + BOUND * (1.0 - self.model.surface.nerves[above as usize]))
    }

    fn is_pulled(&self, vertex: u32) -> bool {
        let v = vertex as usize;
        !self.setup.is_held[v] && !self.model.is_alone[v] && self.setup.pull[v] > 0.0
    }

    /// The pull of a vertex of the surface to its target (Thesis ch. 3 eq. 14), by its area.
    fn pull(&self, vertex: u32) -> f64 {
        let v = vertex as usize;
        self.setup.pull[v] * self.model.params.target_weight() * self.model.surface.areas[v]
    }

    /// Vertices pulled to their rest, with their weights.
    fn attachments(&self, vertices: impl Iterator<Item = (u32, f64)>) -> Attachments<f32> {
        let mut attachments = Attachments::new();
        for (vertex, weight) in vertices {
            let target = self.model.rest[vertex as usize].to_array();
            attachments.push(&Stencil::vertex(self.rows[vertex as usize]), Target { weight, target });
        }
        attachments
    }
}
