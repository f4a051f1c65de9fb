//! Whole rigs: the shapes and takes of one carried to another.

use glam::{DVec3, Vec3};
use zygoma_geometry::topology::connected_parts;
use zygoma_rig::follow::Followers;
use zygoma_rig::weld::Weld;
use zygoma_rig::{Rig, RigMesh, Shape, SparseDeltas, arkit};

use super::carry::{CarryReport, RetargetError};
use super::head::{Expression, RetargetHead};
use super::method::{Known, Method, Retargeting};
use super::params::RetargetParams;

/// Share of a part's points that lie where lower teeth are: above, the part moves with the jaw. Ours.
const ON_JAW: f64 = 0.3;
/// Offsets below this are rounding, m.
const UNMOVED: f32 = 2e-6;

/// A rig whose expressions are carried, with its head.
pub struct SourceFace<'a> {
    rig: &'a Rig,
    head: RetargetHead,
    shapes: Vec<Vec<Vec3>>,
}

impl<'a> SourceFace<'a> {
    /// A rig and its registered head.
    pub fn new(rig: &'a Rig, head: RetargetHead) -> Self {
        let skin = rig.skin();
        let shapes = skin.shapes.iter().map(|shape| shape.deltas.to_dense(skin.positions.len())).collect();
        Self { rig, head, shapes }
    }

    /// The registered head.
    pub fn head(&self) -> &RetargetHead {
        &self.head
    }

    /// Number of shapes of the skin.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// The expression at the weights of the skin's shapes.
    pub fn expression(&mut self, weights: &[f32]) -> Expression {
        let mut offsets = vec![Vec3::ZERO; self.rig.skin().positions.len()];
        for (weight, shape) in weights.iter().zip(&self.shapes).filter(|(weight, _)| **weight != 0.0) {
            offsets.iter_mut().zip(shape).for_each(|(sum, by)| *sum += *weight * *by);
        }
        self.head.expression(&offsets, weights)
    }

    /// The expression of a surface with the rig's vertices; the motion of the whole head is taken away.
    pub fn expression_of_surface(&mut self, surface: &[Vec3]) -> Expression {
        self.head.expression_of_surface(&self.rig.skin().positions, surface)
    }

    /// The shape that another one is sculpted on: `mouthClose` is made for an open jaw.
    pub fn base_shape(&self, shape: usize) -> Option<usize> {
        let is = |shape: usize, name: &str| arkit::is(&self.rig.skin().shapes[shape].name, name);
        let open = || (0..self.shapes.len()).find(|other| is(*other, "jawOpen"));
        is(shape, "mouthClose").then(open).flatten()
    }

    /// The expressions of all shapes, each by itself.
    pub fn shapes(&mut self) -> Vec<Expression> {
        let count = self.shapes.len();
        let one =
            |shape: usize| (0..count).map(|other| f32::from(u8::from(other == shape))).collect::<Vec<f32>>();
        (0..count).map(|shape| self.expression(&one(shape))).collect()
    }

    /// The expression of one shape alone, or on top of the shape that it is sculpted on.
    pub fn shape(&mut self, shape: usize) -> Expression {
        let mut weights = vec![0.0; self.shapes.len()];
        weights[shape] = 1.0;
        if let Some(base) = self.base_shape(shape) {
            weights[base] = 1.0;
        }
        self.expression(&weights)
    }
}

/// Displacements of all vertices of one mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedMesh {
    /// Index into [`Rig::meshes`] of the target.
    pub mesh: usize,
    /// In rig space.
    pub offsets: Vec<Vec3>,
}

/// A shape of the source in the target's rig.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedShape {
    /// The source's name for it.
    pub name: String,
    /// The meshes that it moves, the skin first.
    pub meshes: Vec<CarriedMesh>,
}

/// A target rig that takes over expressions.
pub struct RigRetarget<'a> {
    target: &'a Rig,
    head: RetargetHead,
    retargeting: Retargeting,
    followers: Followers,
    /// For each other mesh which of its vertices move with the jaw.
    on_jaw: Vec<(usize, Vec<bool>)>,
}

impl<'a> RigRetarget<'a> {
    /// Prepares a target for the expressions of a source.
    pub fn new(
        source: &SourceFace<'_>,
        target: &'a Rig,
        head: RetargetHead,
        method: Method,
        known: Known<'_>,
        params: &RetargetParams,
    ) -> Result<Self, RetargetError> {
        let retargeting = Retargeting::new(&source.head, &head, method, known, params)?;
        let others = (0..target.meshes.len()).filter(|mesh| *mesh != target.skin);
        let on_jaw = others.map(|mesh| (mesh, on_jaw(&target.meshes[mesh], &head))).collect();
        Ok(Self { followers: Followers::new(target), target, head, retargeting, on_jaw })
    }

    /// The target's registered head.
    pub fn head(&self) -> &RetargetHead {
        &self.head
    }

    /// Carries expressions between the registered skins.
    pub fn retargeting(&mut self) -> &mut Retargeting {
        &mut self.retargeting
    }

    /// Displacements of the target's skin in an expression of the source.
    pub fn frame(&mut self, expression: &Expression) -> Result<(Vec<Vec3>, CarryReport), RetargetError> {
        let (carried, report) = self.retargeting.carry(expression)?;
        Ok((self.head.displacements(&carried), report))
    }

    /// All meshes of the target in an expression of its own.
    fn meshes(&mut self, carried: &Expression) -> Vec<CarriedMesh> {
        let offsets = self.head.displacements(carried);
        let skin = self.target.skin();
        let posed: Vec<Vec3> = skin.positions.iter().zip(&offsets).map(|(p, by)| *p + *by).collect();
        let jaw = self.head.jaw_motion(carried);
        let still = vec![0.0; skin.shapes.len()];
        let mut meshes = vec![CarriedMesh { mesh: self.target.skin, offsets }];
        for (mesh, on_jaw) in &self.on_jaw {
            let rest = &self.target.meshes[*mesh].positions;
            let mut positions = rest.clone();
            if let Some(rider) = self.followers.riders().iter().find(|rider| rider.mesh() == *mesh) {
                rider.ride(&still, &posed, &mut positions);
            }
            if let Some(jaw) = jaw {
                let moved = positions.iter_mut().zip(on_jaw).filter(|(_, on_jaw)| **on_jaw);
                moved.for_each(|(p, _)| *p = jaw.transform_point3(p.as_dvec3()).as_vec3());
            }
            let offsets = positions.iter().zip(rest).map(|(p, rest)| *p - *rest).collect();
            meshes.push(CarriedMesh { mesh: *mesh, offsets });
        }
        meshes
    }

    /// A shape of the source in the target.
    pub fn shape(
        &mut self,
        source: &mut SourceFace<'_>,
        shape: usize,
    ) -> Result<(CarriedShape, CarryReport), RetargetError> {
        let (carried, report) = self.retargeting.carry(&source.shape(shape))?;
        let mut meshes = self.meshes(&carried);
        if let Some(base) = source.base_shape(shape) {
            let (base, _) = self.retargeting.carry(&source.shape(base))?;
            for (mesh, base) in meshes.iter_mut().zip(self.meshes(&base)) {
                mesh.offsets.iter_mut().zip(&base.offsets).for_each(|(offset, base)| *offset -= *base);
            }
        }
        for offset in meshes.iter_mut().flat_map(|mesh| &mut mesh.offsets).filter(|o| o.length() < UNMOVED) {
            *offset = Vec3::ZERO;
        }
        meshes.retain(|mesh| mesh.mesh == self.target.skin || mesh.offsets.iter().any(|o| *o != Vec3::ZERO));
        Ok((CarriedShape { name: source.rig.skin().shapes[shape].name.clone(), meshes }, report))
    }

    /// The target with carried shapes. They replace shapes of the same meaning and keep the target's names for these; all others are added.
    pub fn rig_with(&self, shapes: &[CarriedShape]) -> Rig {
        let mut rig = self.target.clone();
        for shape in shapes {
            let own = rig.skin().shapes.iter().find(|own| same(&own.name, &shape.name));
            let name = own.map_or_else(|| shape.name.clone(), |own| own.name.clone());
            for (index, mesh) in rig.meshes.iter_mut().enumerate() {
                let carried = shape.meshes.iter().find(|carried| carried.mesh == index);
                let deltas =
                    carried.map(|carried| SparseDeltas::from_dense(&carried.offsets)).unwrap_or_default();
                match mesh.shapes.iter_mut().find(|own| same(&own.name, &shape.name)) {
                    Some(own) => own.deltas = deltas,
                    None if carried.is_some() => mesh.shapes.push(Shape { name: name.clone(), deltas }),
                    None => {}
                }
            }
        }
        rig
    }
}

/// Whether two names mean the same shape.
fn same(a: &str, b: &str) -> bool {
    let known = |name: &str| arkit::recognise(name).map(|found| (found.shape, found.half));
    arkit::bare_key(a) == arkit::bare_key(b) || known(a).is_some_and(|shape| Some(shape) == known(b))
}

/// Which vertices of a mesh move with the jaw: all of a connected part, or none.
fn on_jaw(mesh: &RigMesh, head: &RetargetHead) -> Vec<bool> {
    let weld = Weld::new(mesh);
    let points: Vec<DVec3> = weld.gather(&mesh.positions).iter().map(|p| p.as_dvec3()).collect();
    let (parts, count) = connected_parts(points.len(), &weld.triangles(mesh));
    let mut sums = vec![[0.0; 2]; count];
    for (part, is_tooth) in parts.iter().zip(head.on_jaw(&points)) {
        sums[*part as usize][0] += 1.0;
        sums[*part as usize][1] += f64::from(u8::from(is_tooth));
    }
    let flags: Vec<bool> =
        parts.iter().map(|part| sums[*part as usize]).map(|[all, teeth]| teeth > ON_JAW * all).collect();
    weld.spread(&flags)
}
