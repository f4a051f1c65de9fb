//! The rig that is shown, with everything about it that a session needs and does not change.

mod coarse;
mod controls;
mod eyes;
mod regions;
mod scene;
mod takes;

use std::path::Path;
use std::sync::Arc;

use glam::Vec3;
use zygoma_face::model::FaceModel;
use zygoma_head::dials::{DIALS, DialSettings};
use zygoma_head::{Head, HeadOptions};
use zygoma_numerics::{Budget, Stop};
use zygoma_rig::evaluate::Evaluator;
use zygoma_rig::follow::Followers;
use zygoma_rig::formats::{self, Limits};
use zygoma_rig::name_map::NameMap;
use zygoma_rig::report::Report;
use zygoma_rig::weld::Weld;
use zygoma_rig::{Rig, RigMesh, Source};

use crate::protocol::{DialEntry, Origin};
pub(crate) use controls::Controls;
pub(crate) use eyes::Eye;
pub(crate) use regions::Regions;
pub(crate) use takes::BoundTake;

/// A rig that is shown.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) rig: Rig,
    pub(crate) origin: Origin,
    /// The meshes as they are sent and moved, in the rig's order.
    pub(crate) parts: Vec<Part>,
    pub(crate) controls: Controls,
    /// Meshes that ride on the skin where it is simulated.
    pub(crate) followers: Followers,
    /// Eyeballs that joints turn.
    pub(crate) eyes: Vec<Eye>,
    pub(crate) takes: Vec<Arc<BoundTake>>,
    /// The user's own names for its shapes.
    pub(crate) names: NameMap,
    pub(crate) regions: Regions,
    pub(crate) dials: Vec<DialEntry>,
    /// The built-in head, if it is one: its bones are known.
    head: Option<Box<Head>>,
    /// The face, if the file was one.
    pub(crate) face: Option<Arc<FaceModel>>,
}

/// One mesh, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) evaluator: Evaluator,
    /// For each vertex its point.
    pub(crate) point_of_vertex: Vec<u32>,
    /// One vertex of each point.
    pub(crate) vertex_of_point: Vec<u32>,
    /// Neutral of each point.
    pub(crate) neutral: Vec<Vec3>,
}

impl Part {
    fn new(mesh: &RigMesh, budget: &Budget) -> Result<Self, Stop> {
        let weld = Weld::within(mesh, budget)?;
        let vertex_of_point: Vec<u32> =
            (0..weld.point_count()).map(|point| weld.vertices_of_point(point)[0]).collect();
        let neutral = vertex_of_point.iter().map(|v| mesh.positions[*v as usize]).collect();
        Ok(Self {
            evaluator: Evaluator::new(mesh),
            point_of_vertex: weld.point_of_vertex,
            vertex_of_point,
            neutral,
        })
    }

    /// Whether any shape moves it.
    pub(crate) fn moves(&self) -> bool {
        self.evaluator.shape_count() > 0
    }

    /// How far each point is from its neutral.
    pub(crate) fn displacements(&self, positions: &[Vec3], out: &mut Vec<Vec3>) {
        out.clear();
        let points = self.vertex_of_point.iter().zip(&self.neutral);
        out.extend(points.map(|(vertex, neutral)| positions[*vertex as usize] - *neutral));
    }
}

/// Which built-in head to show.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HeadChoice {
    pub(crate) seed: u32,
    /// Dials that are set, by name.
    pub(crate) dials: Vec<(String, f64)>,
}

impl Model {
    /// The built-in head of one person. `painted` is the texture of an earlier head, used again where it looks the same.
    pub(crate) fn built_in(choice: &HeadChoice, painted: Option<&Model>) -> Result<Self, String> {
        let mut settings = DialSettings::default();
        for (name, value) in &choice.dials {
            settings.set(name, *value).map_err(|error| error.to_string())?;
        }
        let options = HeadOptions { seed: u64::from(choice.seed), dials: settings, ..HeadOptions::default() };
        let head = Head::new(&options);
        let dials: Vec<DialEntry> = DIALS
            .iter()
            .map(|dial| DialEntry {
                name: dial.name.to_owned(),
                about: dial.about.to_owned(),
                value: head.dials.get(dial.name),
            })
            .collect();
        let same_colours = |earlier: &&Model| {
            let tone = |dials: &[DialEntry]| -> Vec<f64> {
                dials.iter().filter(|dial| dial.name.ends_with("_tone")).map(|dial| dial.value).collect()
            };
            tone(&earlier.dials) == tone(&dials)
        };
        let texture = match painted.filter(same_colours).map(|earlier| &earlier.rig.source) {
            Some(Source::Generated { texture }) => texture.clone(),
            _ => head.texture().to_png(),
        };
        let regions = Regions::of_head(&head);
        let rig = head.rig_with_texture(texture);
        let model = Self::new(rig, Origin::BuiltIn, Some(regions), dials, &Budget::default())
            .map_err(|stop| stop.to_string())?;
        Ok(Self { head: Some(Box::new(head)), ..model })
    }

    /// A rig or a face from a file or folder, unless the budget is over before it is ready.
    pub(crate) fn read(path: &Path, limits: &Limits, budget: &Budget) -> Result<Self, String> {
        let is_face = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"));
        if is_face {
            let face = FaceModel::read(path, limits).map_err(|error| error.to_string())?;
            return Self::of_face(face, budget).map_err(|stop| stop.to_string());
        }
        let rig = formats::read_rig(path, limits).map_err(|error| error.to_string())?;
        Self::new(rig, Origin::Rig, None, Vec::new(), budget).map_err(|stop| stop.to_string())
    }

    /// A built face, whose file has the skin alone.
    pub(crate) fn of_face(face: FaceModel, budget: &Budget) -> Result<Self, Stop> {
        let mut model = Self::new(face.stand_in(), Origin::Face, None, Vec::new(), budget)?;
        model.face = Some(Arc::new(face));
        Ok(model)
    }

    fn new(
        rig: Rig,
        origin: Origin,
        regions: Option<Regions>,
        dials: Vec<DialEntry>,
        budget: &Budget,
    ) -> Result<Self, Stop> {
        let parts: Vec<Part> =
            rig.meshes.iter().map(|mesh| Part::new(mesh, budget)).collect::<Result<_, Stop>>()?;
        let regions = regions.unwrap_or_else(|| Regions::of_shapes(rig.skin(), &parts[rig.skin]));
        let controls = Controls::new(&rig);
        Ok(Self {
            followers: Followers::new(&rig),
            eyes: Eye::find(&rig, &parts, &controls),
            controls,
            takes: takes::of_rig(&rig, &NameMap::default()).into_iter().map(Arc::new).collect(),
            names: NameMap::default(),
            regions,
            dials,
            head: None,
            face: None,
            parts,
            origin,
            rig,
        })
    }

    /// The same with the user's own names for its shapes.
    ///
    /// # Errors
    /// If the rig has none of the shapes that the map names.
    pub(crate) fn with_names(self, names: NameMap) -> Result<Self, String> {
        names.check(&self.rig).map_err(|error| error.to_string())?;
        let takes = takes::of_rig(&self.rig, &names).into_iter().map(Arc::new).collect();
        Ok(Self { takes, names, ..self })
    }

    /// The options of the built-in head, if it is one.
    pub(crate) fn built_in_options(&self) -> Option<&HeadOptions> {
        self.head.as_ref().map(|head| &head.options)
    }

    /// Finds what is inside its face, as far as it is known.
    pub(crate) fn look_inside(&self, face: &mut FaceModel) {
        match &self.head {
            Some(head) => face.look_inside_head(&self.rig, head),
            None => face.look_inside(&self.rig),
        }
    }

    /// The validation report, as JSON.
    pub(crate) fn report(&self) -> serde_json::Value {
        serde_json::to_value(Report::new(&self.rig)).unwrap_or_default()
    }
}
