//! Every rig with every body and every take: distance from the rig, pops, crossings and cost.

mod cache;
pub(crate) mod cell;
mod probes;
mod rigs;
pub(crate) mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use zygoma_face::body::Body;
use zygoma_face::model::{FaceModel, Landmarks};
use zygoma_face::run::{Performance, TouchScript};
use zygoma_face::shell::{BuildParams, RunParams, ShellBody};
use zygoma_face::tissue::{Tissue, TissueBody, TissueParams};
use zygoma_numerics::Budget;
use zygoma_rig::name_map::{MappedShapes, NameMap};
use zygoma_rig::suggest::{Suggestion, suggest};
use zygoma_rig::{Rig, Take};

use super::Report;
use crate::commands::input::read_take;
use cache::{Cache, Key};
use cell::{BodyKind, Cell, Measured};
use probes::Probed;
use rigs::NamedRig;

/// Frames per second.
const FPS: f64 = 60.0;

/// Longer takes are cut to their liveliest part of this length, s.
const LONGEST: f64 = 15.0;

/// The rigs, bodies and takes to measure.
pub(crate) struct Matrix<'a> {
    pub(crate) rigs: &'a [PathBuf],
    pub(crate) bodies: &'a [BodyKind],
    pub(crate) takes: &'a [String],
    /// Triangles of the simulated skin.
    pub(crate) triangles: usize,
    /// Where faces and finished cells are kept.
    pub(crate) cache: &'a Path,
}

impl Matrix<'_> {
    /// Measures every cell that is not cached yet, and returns all of them.
    pub(crate) fn run(&self) -> anyhow::Result<Report<Cell>> {
        let cache = Cache::new(self.cache)?;
        let mut report = Report::new();
        for named in rigs::find(self.rigs)? {
            let rig = match named.read() {
                Ok(rig) => rig,
                Err(problem) => {
                    eprintln!("left out: {problem:#}");
                    continue;
                }
            };
            let mut takes = Vec::new();
            for name in self.takes {
                takes.push(shortened(renamed(&rig, read_take(name, &rig, None)?)?));
            }
            for body in self.bodies {
                report.results.extend(self.cells(&cache, &named, &rig, *body, &takes)?);
            }
        }
        Ok(report)
    }

    /// The cells of one rig with one body.
    fn cells(
        &self,
        cache: &Cache,
        named: &NamedRig,
        rig: &Rig,
        body: BodyKind,
        takes: &[Take],
    ) -> anyhow::Result<Vec<Cell>> {
        let params = self.build_params(body);
        let mesh = rig.skin().fingerprint();
        // Built when the first take needs it.
        let mut made: Option<Result<Made, String>> = None;
        let mut cells = Vec::new();
        for take in takes {
            let key = Key { rig: named, mesh, body, take, params: &params };
            if let Some(cell) = cache.cell(&key) {
                cells.push(cell);
                continue;
            }
            let made = made.get_or_insert_with(|| {
                Made::new(cache, named, rig, body, &params).map_err(|problem| format!("{problem:#}"))
            });
            let measured = match made {
                Ok(made) => made.measure(rig, take, self.cache).map_err(|problem| format!("{problem:#}")),
                Err(problem) => Err(problem.clone()),
            };
            let cell = Cell {
                rig: named.name.clone(),
                body,
                take: take.name.clone(),
                misses: measured.as_ref().map_or_else(|_| vec!["error".to_owned()], |m| m.misses(body)),
                error: measured.as_ref().err().cloned(),
                measured: measured.ok(),
            };
            eprintln!("{}", table::line(&cell));
            cache.keep(&key, &cell)?;
            cells.push(cell);
        }
        Ok(cells)
    }

    fn build_params(&self, body: BodyKind) -> BuildParams {
        let params = BuildParams { triangles: self.triangles, ..BuildParams::default() };
        match body {
            BodyKind::Shell => params,
            // Tissue needs the shell's mesh, not its stiffness.
            BodyKind::Tissue => BuildParams { uniform_stiffness: Some(1.0), corrected: false, ..params },
        }
    }
}

/// A take whose tracks are renamed to the shapes suggested for a rig with unknown names.
fn renamed(rig: &Rig, take: Take) -> anyhow::Result<Take> {
    let tracks: BTreeMap<String, MappedShapes> = suggest(rig, &take)
        .into_iter()
        .filter(|suggestion| !suggestion.shapes.is_empty())
        .map(|Suggestion { track, shapes }| (track, MappedShapes::Weighted(shapes.into_iter().collect())))
        .collect();
    Ok(if tracks.is_empty() { take } else { NameMap { tracks }.apply(rig, &take)? })
}

/// The liveliest part of a long take.
fn shortened(take: Take) -> Take {
    if take.duration() > LONGEST { take.liveliest(LONGEST) } else { take }
}

/// A rig that is ready to perform its takes.
struct Made {
    face: FaceModel,
    places: Landmarks,
    tissue: Option<Arc<Tissue>>,
}

impl Made {
    fn new(
        cache: &Cache,
        named: &NamedRig,
        rig: &Rig,
        body: BodyKind,
        params: &BuildParams,
    ) -> anyhow::Result<Self> {
        let face = match body {
            BodyKind::Shell => cache.face(named, rig, params)?,
            BodyKind::Tissue => FaceModel::of_rig(rig, params.triangles, &Budget::default())?,
        };
        let tissue = match body {
            BodyKind::Shell => None,
            BodyKind::Tissue => Some(Arc::new(Tissue::new(&face, &TissueParams::default())?)),
        };
        Ok(Self { places: Landmarks::new(&face), face, tissue })
    }

    fn measure(&self, rig: &Rig, take: &Take, folder: &Path) -> anyhow::Result<Measured> {
        match &self.tissue {
            None => {
                let params = RunParams { sleep_after: None, normals: false, ..RunParams::default() };
                let mut body = ShellBody::new(&self.face, params)?;
                self.perform(&mut body, BodyKind::Shell, rig, take, folder)
            }
            Some(tissue) => {
                let mut body = TissueBody::new(tissue.clone())?;
                self.perform(&mut body, BodyKind::Tissue, rig, take, folder)
            }
        }
        .with_context(|| format!("take {}", take.name))
    }

    fn perform(
        &self,
        body: &mut dyn Body,
        kind: BodyKind,
        rig: &Rig,
        take: &Take,
        folder: &Path,
    ) -> anyhow::Result<Measured> {
        let began = Instant::now();
        let mut probed = Probed::new(kind, &self.face, &self.places, FPS);
        let touches = TouchScript::default();
        let performance = Performance {
            face: &self.face,
            places: &self.places,
            rig,
            take,
            markers: None,
            materials: None,
            edit_of: None,
            touches: &touches,
            hands: None,
            fps: FPS,
            folder,
        };
        let outcome = performance.run(body, &mut probed)?;
        let measured = probed.measured(&outcome, take, &self.places);
        Ok(Measured { seconds: began.elapsed().as_secs_f64(), ..measured })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_head::{Head, HeadOptions, Level};

    #[test]
    fn a_rig_with_names_of_its_own_performs_too() {
        let mut rig = Head::new(&HeadOptions::sampled(1, Level::Low)).rig();
        let take = rig.takes.iter().find(|take| take.name == "speech").unwrap().clone();
        assert_eq!(renamed(&rig, take.clone()).unwrap(), take);
        for mesh in &mut rig.meshes {
            for shape in mesh.shapes.iter_mut().filter(|shape| shape.name == "jawOpen") {
                shape.name = "h_expressions.MouthOpen_h".to_owned();
            }
        }
        let renamed = renamed(&rig, take).unwrap();
        assert!(renamed.weights.iter().any(|track| track.shape == "h_expressions.MouthOpen_h"));
    }
}
