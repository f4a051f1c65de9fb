//! A rig's head, registered: the shared skin in its shape, its anatomy, and the poses of its jaw.

use glam::{DVec3, Vec3};
use zygoma_geometry::rigid::fit_rigid_motion;
use zygoma_geometry::similarity::Similarity;
use zygoma_head::anatomy::FillDetail;
use zygoma_head::fit::{
    FitError, FitInput, FittedHead, JawPose, JawShapes, Registration, SharedSkin, SkinMap,
};
use zygoma_rig::{Rig, RigMesh, arkit};

use crate::model::built_in_head;
use crate::volume::{AnatomyOptions, fit_head};

/// A rig's head, registered with the built-in one.
pub struct RetargetHead {
    /// The shared skin in this head's shape, in its own frame, in metres.
    pub(super) rest: Vec<DVec3>,
    /// From that frame to the rig.
    pub(super) to_rig: Similarity,
    /// Bones and tissue in that frame; `None` where they do not fit under the skin.
    pub(super) anatomy: Option<FittedHead>,
    pub(super) jaw: JawShapes,
    pub(super) map: SkinMap,
    /// From the nose's bridge to the chin, m.
    pub(super) height: f64,
    refused: Option<FitError>,
}

impl RetargetHead {
    /// Registers a rig's head. Where no anatomy fits under its skin, the skin alone is used; where no head is found at all, it is refused.
    pub fn of_rig(rig: &Rig) -> Result<Self, FitError> {
        if let Some(head) = built_in_head(&rig.skin().name, &rig.skin().positions) {
            return Ok(Self::of_fitted(rig, FittedHead::built_in(&head.options, FillDetail::Coarse)));
        }
        match fit_head(rig, &AnatomyOptions::default()) {
            Ok(fitted) => Ok(Self::of_fitted(rig, fitted)),
            Err(problem @ FitError::Tangled { .. }) => Self::of_surface(rig, problem),
            Err(problem) => Err(problem),
        }
    }

    /// The head of a rig that was fitted before.
    pub fn of_fitted(rig: &Rig, fitted: FittedHead) -> Self {
        let back = fitted.to_mesh.inverse();
        let rest: Vec<DVec3> = fitted.skin.iter().map(|p| back.apply(*p)).collect();
        Self {
            map: SkinMap::new(rig.skin(), &rest, &fitted.to_mesh, Some(&fitted)),
            to_rig: fitted.to_mesh,
            jaw: JawShapes::of(rig, &fitted),
            height: height(&rest),
            rest,
            anatomy: Some(fitted),
            refused: None,
        }
    }

    /// The skin of a rig without anatomy.
    fn of_surface(rig: &Rig, problem: FitError) -> Result<Self, FitError> {
        let positions =
            |mesh: &RigMesh| -> Vec<DVec3> { mesh.positions.iter().map(|p| p.as_dvec3()).collect() };
        let others = rig.meshes.iter().enumerate().filter(|(index, _)| *index != rig.skin);
        let others: Vec<_> = others.map(|(_, mesh)| (positions(mesh), mesh.faces.triangles())).collect();
        let others: Vec<(&[DVec3], &[[u32; 3]])> = others.iter().map(|(p, t)| (&p[..], &t[..])).collect();
        let (skin, triangles) = (positions(rig.skin()), rig.skin().faces.triangles());
        let registration =
            Registration::new(&FitInput { others: &others, ..FitInput::new(&skin, &triangles) })?;
        let (rest, to_rig) = registration.registered();
        Ok(Self {
            map: SkinMap::new(rig.skin(), rest, to_rig, None),
            to_rig: *to_rig,
            jaw: JawShapes::default(),
            height: height(rest),
            rest: rest.to_vec(),
            anatomy: None,
            refused: Some(problem),
        })
    }

    /// Why there is no anatomy, where there is none.
    pub fn refused(&self) -> Option<&FitError> {
        self.refused.as_ref()
    }

    /// Mean and 95th percentile of the distances from the mesh's skin to the registered skin, in metres of a life-size head.
    pub fn registration(&self) -> [f64; 2] {
        let mut all = self.map.distances.clone();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        [mean, all.get(all.len() * 95 / 100).copied().unwrap_or(0.0)]
    }

    /// The expression that displacements of the rig's skin make, with the weights of the rig's shapes, which give the jaw's pose.
    pub fn expression(&mut self, offsets: &[Vec3], weights: &[f32]) -> Expression {
        let jaw = self.jaw.pose(weights);
        let motion = self.anatomy.as_ref().map(|fitted| jaw.motion(fitted.joint()));
        Expression { skin: self.map.posed(|v| offsets[v].as_dvec3(), motion.as_ref()), jaw }
    }

    /// The expression of a surface with the rig's vertices, such as a tracked mesh: the motion of the whole head is removed, and the chin gives the
    /// jaw's pose.
    pub fn expression_of_surface(&mut self, neutral: &[Vec3], surface: &[Vec3]) -> Expression {
        let mut skin = self.map.posed(|v| (surface[v] - neutral[v]).as_dvec3(), None);
        self.stabilise(&mut skin);
        let chin = SharedSkin::get().region("jaw_rigid");
        let pick = |points: &[DVec3]| chin.iter().map(|v| points[*v as usize]).collect::<Vec<DVec3>>();
        let jaw = self.anatomy.as_ref().map_or_else(JawPose::default, |fitted| {
            let back = self.to_rig.inverse();
            JawPose::of_chin(&pick(&self.rest), &pick(&skin), fitted.condyles().map(|p| back.apply(p)))
        });
        Expression { skin, jaw }
    }

    /// The expressions of a rig or a row of meshes of this person, with the vertices of this head's rig. Shapes with names that are known pose the
    /// jaw as those of a rig do; others are taken for surfaces of a performance.
    pub fn examples(&mut self, rig: &Rig) -> Vec<Expression> {
        let skin = rig.skin();
        let is_named = skin.shapes.iter().any(|shape| arkit::recognise(&shape.name).is_some());
        let jaws = self.anatomy.as_ref().filter(|_| is_named).map(|fitted| JawShapes::of(rig, fitted));
        let own = jaws.map(|jaws| std::mem::replace(&mut self.jaw, jaws));
        let mut found = Vec::with_capacity(skin.shapes.len());
        for (index, shape) in skin.shapes.iter().enumerate() {
            let offsets = shape.deltas.to_dense(skin.positions.len());
            found.push(if is_named {
                let mut weights = vec![0.0; skin.shapes.len()];
                weights[index] = 1.0;
                self.expression(&offsets, &weights)
            } else {
                let posed: Vec<Vec3> = skin.positions.iter().zip(&offsets).map(|(p, by)| *p + *by).collect();
                self.expression_of_surface(&skin.positions, &posed)
            });
        }
        if let Some(own) = own {
            self.jaw = own;
        }
        found
    }

    /// Takes the motion of the cranium, which its rigid skin shows, from a posed skin.
    fn stabilise(&self, skin: &mut [DVec3]) {
        let rigid = SharedSkin::get().region("cranium_rigid");
        let pick = |points: &[DVec3]| rigid.iter().map(|v| points[*v as usize]).collect::<Vec<DVec3>>();
        let home = fit_rigid_motion(&pick(skin), &pick(&self.rest));
        skin.iter_mut().for_each(|p| *p = home.apply(*p));
    }

    /// Displacements of the rig's skin in an expression of this head.
    pub fn displacements(&mut self, expression: &Expression) -> Vec<Vec3> {
        let field: Vec<DVec3> = expression.skin.iter().zip(&self.rest).map(|(p, rest)| *p - *rest).collect();
        let jaw = self.anatomy.as_ref().map(|fitted| expression.jaw.motion(fitted.joint()));
        self.map.write(&field, |p| jaw.map_or(p, |motion| motion.transform_point3(p)))
    }

    /// The motion of the jaw in the rig, in an expression of this head; `None` without anatomy.
    pub fn jaw_motion(&self, expression: &Expression) -> Option<glam::DAffine3> {
        let motion = expression.jaw.motion(self.anatomy.as_ref()?.joint());
        Some(self.to_rig.to_affine() * motion * self.to_rig.inverse().to_affine())
    }

    /// Which points of the rig move with its jaw bone; none without anatomy.
    pub fn on_jaw(&self, points: &[DVec3]) -> Vec<bool> {
        self.anatomy.as_ref().map_or_else(|| vec![false; points.len()], |fitted| fitted.lower_teeth(points))
    }
}

/// An expression of one head: its skin and its jaw, in the head's own frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The shared skin, posed.
    pub(super) skin: Vec<DVec3>,
    /// The jaw's pose.
    pub(super) jaw: JawPose,
}

/// From the bridge of the nose to the chin: unlike a bounding box it does not depend on hair and shoulders.
fn height(rest: &[DVec3]) -> f64 {
    const BRIDGE: usize = 27;
    const CHIN: usize = 8;
    let landmarks = &SharedSkin::get().places.landmarks;
    rest[landmarks[BRIDGE] as usize].distance(rest[landmarks[CHIN] as usize])
}
