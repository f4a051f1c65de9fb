//! A model as the page draws it.

use std::collections::HashMap;

use glam::{Vec2, Vec3};
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf;
use zygoma_rig::{JointRole, RigMesh, Source};

use super::coarse::coarser;
use super::{Model, Part};
use crate::container::Arrays;
use crate::protocol::{CoarseTriangles, Look, Scene, SceneMesh, SceneRange, kind};

impl Model {
    /// The message that shows the model. `same`: the page already shows another version of it.
    pub(crate) fn scene(&self, same: bool) -> Vec<u8> {
        let mut arrays = Arrays::default();
        let texture = match &self.rig.source {
            Source::Generated { texture: Some(texture) } => Some(arrays.add(texture)),
            _ => None,
        };
        let file_look = match &self.rig.source {
            // A file whose materials cannot be had is shown without them.
            Source::Gltf(document) => gltf::look(document, &Limits::default()).ok(),
            _ => None,
        };
        let materials = file_look.as_ref().map(|look| arrays.add(&look.materials));
        let mut meshes = Vec::new();
        for (index, (mesh, part)) in self.rig.meshes.iter().zip(&self.parts).enumerate() {
            let ranges = file_look.as_ref().and_then(|look| look.ranges.get(index));
            let is_skin = index == self.rig.skin;
            let look = if is_skin { Look::Skin } else { look_of(&mesh.name) };
            let range = |range: &gltf::MaterialRange| SceneRange {
                start: range.triangles.start,
                count: range.triangles.len(),
                material: range.material.map_or(-1, |material| material as i32),
                look,
            };
            let mut drawn = Drawn::new(mesh, part);
            let ranges: Vec<SceneRange> = match ranges {
                Some(ranges) => ranges.iter().map(range).collect(),
                None => drawn.sort_by_region(mesh),
            };
            // Another version of the same rig has the same triangles.
            let coarse =
                if same { None } else { coarser(mesh, part, &drawn.points, &drawn.triangles, &ranges) };
            meshes.push(SceneMesh {
                name: mesh.name.clone(),
                look,
                neutral: arrays.add(&part.neutral),
                points: arrays.add(&drawn.points),
                uvs: drawn.uvs.as_ref().map(|uvs| arrays.add(uvs)),
                triangles: arrays.add(drawn.triangles.as_flattened()),
                coarse: coarse
                    .map(|(triangles, ranges)| CoarseTriangles { triangles: arrays.add(&triangles), ranges }),
                ranges,
                regions: is_skin.then(|| arrays.add(&self.regions.of_point)),
            });
        }
        let all = || self.parts.iter().flat_map(|part| &part.neutral).copied();
        let pivot = self.rig.pivot(JointRole::Head).unwrap_or_default().as_vec3();
        let header = Scene {
            name: self.rig.name.clone(),
            origin: self.origin,
            meshes,
            skin: self.rig.skin,
            controls: self.controls.entries.clone(),
            dials: self.dials.clone(),
            texture,
            materials,
            regions: self.regions.names.clone(),
            bounds: [all().reduce(Vec3::min), all().reduce(Vec3::max)]
                .map(|corner| corner.unwrap_or_default().to_array()),
            pivot: pivot.to_array(),
            same,
        };
        arrays.into_message(kind::SCENE, &header)
    }
}

/// A mesh whose vertices have one texture coordinate each.
struct Drawn {
    points: Vec<u32>,
    uvs: Option<Vec<Vec2>>,
    triangles: Vec<[u32; 3]>,
}

impl Drawn {
    fn new(mesh: &RigMesh, part: &Part) -> Self {
        let Some(uvs) = &mesh.uvs else {
            let triangles = mesh.faces.triangles();
            return Self { points: part.point_of_vertex.clone(), uvs: None, triangles };
        };
        let Some(corners) = &uvs.corners else {
            let triangles = mesh.faces.triangles();
            let points = part.point_of_vertex.clone();
            return Self { points, uvs: Some(uvs.coordinates.clone()), triangles };
        };
        // A vertex on a seam is drawn once for each of its texture coordinates.
        let mut drawn = Self { points: Vec::new(), uvs: None, triangles: Vec::new() };
        let mut coordinates = Vec::new();
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        for face in 0..mesh.faces.len() {
            let range = mesh.faces.range(face);
            let of_corner: Vec<u32> = range
                .map(|corner| {
                    let (vertex, uv) = (mesh.faces.corners()[corner], corners[corner]);
                    *known.entry((vertex, uv)).or_insert_with(|| {
                        drawn.points.push(part.point_of_vertex[vertex as usize]);
                        coordinates.push(uvs.coordinates.get(uv as usize).copied().unwrap_or_default());
                        drawn.points.len() as u32 - 1
                    })
                })
                .collect();
            for pair in of_corner.windows(2).skip(1) {
                drawn.triangles.push([of_corner[0], pair[0], pair[1]]);
            }
        }
        drawn.uvs = Some(coordinates);
        drawn
    }

    /// Puts triangles that look alike together, where the file names regions, and leaves out what only special materials can draw.
    fn sort_by_region(&mut self, mesh: &RigMesh) -> Vec<SceneRange> {
        let of_vertex = |vertex: u32| {
            let region = mesh.regions.iter().find(|region| region.vertices.contains(&(vertex as usize)));
            region.map_or(Some(Look::Skin), |region| look_of_region(&region.name))
        };
        let looks: Vec<Option<Look>> = mesh.faces.triangles().iter().map(|t| of_vertex(t[0])).collect();
        if mesh.regions.is_empty() || looks.len() != self.triangles.len() {
            return Vec::new();
        }
        let (mut sorted, mut ranges) = (Vec::new(), Vec::new());
        for look in [Look::Skin, Look::Gums, Look::Teeth, Look::Eye] {
            let start = sorted.len();
            let alike = self.triangles.iter().zip(&looks).filter(|(_, found)| **found == Some(look));
            sorted.extend(alike.map(|(triangle, _)| *triangle));
            let count = sorted.len() - start;
            if count > 0 {
                ranges.push(SceneRange { start, count, material: -1, look });
            }
        }
        self.triangles = sorted;
        ranges
    }
}

/// The look of a region of ICT-FaceKit; `None` for sheets over the eye and lashes, which are shaped by pictures that it does not have.
fn look_of_region(name: &str) -> Option<Look> {
    Some(match name {
        "lacrimal_fluid" | "eye_blend" | "eye_occlusion" | "eyelashes" => return None,
        "gums_and_tongue" | "mouth_socket" => Look::Gums,
        "teeth" => Look::Teeth,
        "eyeballs" => Look::Eye,
        _ => Look::Skin,
    })
}

/// The look of a mesh, by its name.
fn look_of(name: &str) -> Look {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["lash", "brow", "hair", "beard"]) {
        Look::Hair
    } else if has(&["eye", "cornea", "sclera", "iris"]) {
        Look::Eye
    } else if has(&["tooth", "teeth"]) {
        Look::Teeth
    } else if has(&["gum", "tongue", "mouth", "caruncle"]) {
        Look::Gums
    } else {
        Look::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HeadChoice;

    #[test]
    fn every_corner_keeps_its_place_and_texture_coordinate() {
        let model = Model::built_in(&HeadChoice::default(), None).unwrap();
        for (mesh, part) in model.rig.meshes.iter().zip(&model.parts) {
            let drawn = Drawn::new(mesh, part);
            assert_eq!(drawn.triangles.len(), mesh.faces.triangle_count());
            let uvs = mesh.uvs.as_ref().unwrap();
            let own = |corner: usize| mesh.faces.corners()[corner];
            let coordinate =
                |corner: usize| uvs.corners.as_ref().map_or(own(corner), |corners| corners[corner]);
            for (corner, vertex) in drawn.triangles.as_flattened().iter().enumerate() {
                let vertex = *vertex as usize;
                let wanted = uvs.coordinates[coordinate(corner) as usize];
                assert_eq!(drawn.uvs.as_ref().unwrap()[vertex], wanted);
                let at = part.neutral[drawn.points[vertex] as usize];
                assert_eq!(at, mesh.positions[own(corner) as usize]);
            }
        }
    }
}
