//! Pictures of the built-in head's anatomy.

use glam::{DVec3, Vec3};
use zygoma_geometry::TriMesh;
use zygoma_geometry::cut::{Plane, clipped, section};
use zygoma_geometry::tets::TetMesh;
use zygoma_head::Head;
use zygoma_head::anatomy::cut_away::solid_section;
use zygoma_head::anatomy::{Anatomy, Surface as Closed};
use zygoma_picture::{
    Camera, Finish, Image, Paint, RenderOptions, Rgb, Scene, Surface, View, color, grid, render,
};

/// Colours of tissue and bone in cross-section.
const CUT_BONE: Rgb = [0.93, 0.88, 0.76];
const TISSUE: Rgb = [0.78, 0.42, 0.38];
/// Colours of fat and of the skull wrap.
const FAT: Rgb = [0.90, 0.78, 0.52];
const SKULL_WRAP: Rgb = [0.62, 0.58, 0.52];

/// A surface ready to be drawn.
struct Drawn {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    color: Rgb,
    finish: Finish,
    opacity: f32,
}

fn drawn(positions: &[DVec3], triangles: &[[u32; 3]], color: Rgb, finish: Finish) -> Drawn {
    let positions = positions.iter().map(|p| p.as_vec3()).collect();
    Drawn { positions, triangles: triangles.to_vec(), color, finish, opacity: 1.0 }
}

fn piece(piece: &TriMesh, color: Rgb, finish: Finish) -> Drawn {
    drawn(&piece.positions, &piece.triangles, color, finish)
}

/// Draws the bones, tissue and wraps of a head, whole and cut open.
pub(crate) fn anatomy_sheet(head: &Head, size: usize) -> anyhow::Result<Image> {
    let anatomy = Anatomy::new(head);
    let middle = Plane { point: DVec3::new(2e-4, 0.0, 0.0), normal: DVec3::X };
    let level = Plane { point: DVec3::new(0.0, 0.048, 0.0), normal: DVec3::Y };
    let three_quarter_far = View { yaw: 62.0, pitch: 4.0 };
    let above = View { yaw: 30.0, pitch: 48.0 };
    let scenes = [
        (bones(head, &anatomy), View::FRONT, "bones"),
        (bones(head, &anatomy), View::THREE_QUARTER, "bones"),
        (under_skin(head, &anatomy), View::THREE_QUARTER, "under the skin"),
        (half_open(head, &anatomy, &middle, false), three_quarter_far, "left skin away"),
        (half_open(head, &anatomy, &middle, true), View::SIDE, "cut in the middle"),
        (layers(&anatomy, &level), above, "wraps cut above the eyes"),
    ];
    let mut pictures = Vec::new();
    for (surfaces, view, name) in &scenes {
        pictures.push((picture(surfaces, *view, size)?, *name));
    }
    Ok(grid(&pictures, 3))
}

fn picture(surfaces: &[Drawn], view: View, size: usize) -> anyhow::Result<Image> {
    let scene = Scene::new(surfaces.iter().map(|d| {
        Surface::new(&d.positions, &d.triangles)
            .painted(Paint::Plain(d.color), d.finish)
            .with_opacity(d.opacity)
    }));
    let options = RenderOptions::sized(size, size);
    Ok(render(&scene, &Camera::framing_points(view, &scene.points(), options.aspect()), &options)?)
}

fn bones(head: &Head, anatomy: &Anatomy) -> Vec<Drawn> {
    let bone = |closed: &Closed| drawn(&closed.positions, &closed.triangles, color::BONE, Finish::Matte);
    let teeth = head.parts.iter().filter(|part| part.name.starts_with("teeth"));
    let teeth = teeth.map(|part| drawn(&part.positions, &part.triangles, color::TEETH, Finish::Wet));
    [bone(&anatomy.cranium.surface), bone(&anatomy.mandible.surface)].into_iter().chain(teeth).collect()
}

fn under_skin(head: &Head, anatomy: &Anatomy) -> Vec<Drawn> {
    let mut all = bones(head, anatomy);
    let skin = drawn(&head.skin.positions, &head.skin.triangles, color::SKIN, Finish::Skin);
    all.push(Drawn { opacity: 0.38, ..skin });
    all
}

/// Skin and tissue of one half of the head, with whole or cut bones.
fn half_open(head: &Head, anatomy: &Anatomy, plane: &Plane, cut_bones: bool) -> Vec<Drawn> {
    let cut = |closed: &Closed| {
        piece(&clipped(&closed.positions, &closed.triangles, plane), color::BONE, Finish::Matte)
    };
    let mut all = if cut_bones {
        let mut all = vec![cut(&anatomy.cranium.surface), cut(&anatomy.mandible.surface)];
        // Offset slightly in front of the tissue, some of which continues into the bone.
        let front = Plane { point: plane.point + 2e-4 * plane.normal, ..*plane };
        for bone in [&anatomy.cranium, &anatomy.mandible] {
            all.push(piece(&solid_section(&bone.surface, &front, 6e-4), CUT_BONE, Finish::Matte));
        }
        let is_hair = |name: &str| ["lashes", "brows", "hair"].iter().any(|hair| name.starts_with(hair));
        for part in head.parts.iter().filter(|part| !is_hair(part.name)) {
            let color = match part.name {
                name if name.starts_with("eye") => color::EYE,
                name if name.starts_with("teeth") => color::TEETH,
                _ => color::GUMS,
            };
            all.push(piece(&clipped(&part.positions, &part.triangles, plane), color, Finish::Wet));
        }
        all
    } else {
        bones(head, anatomy)
    };
    let skin = clipped(&head.skin.positions, &head.skin.triangles, plane);
    all.push(piece(&skin, color::SKIN, Finish::Skin));
    all.push(piece(&cut_tissue(&anatomy.fill, plane), TISSUE, Finish::Matte));
    all
}

/// Cross-section of the soft tissue.
fn cut_tissue(mesh: &TetMesh, plane: &Plane) -> TriMesh {
    section(&mesh.positions, &mesh.tets, plane).piece
}

fn layers(anatomy: &Anatomy, plane: &Plane) -> Vec<Drawn> {
    let [soft, muscle] = [&anatomy.soft_tissue, &anatomy.muscle].map(|mesh| cut_tissue(mesh, plane));
    let skull = clipped(&anatomy.skull_wrap.positions, &anatomy.skull_wrap.triangles, plane);
    let skin = clipped(&anatomy.skin_wrap.positions, &anatomy.skin_wrap.triangles, plane);
    let bone = clipped(&anatomy.cranium.surface.positions, &anatomy.cranium.surface.triangles, plane);
    vec![
        piece(&soft, FAT, Finish::Matte),
        piece(&muscle, TISSUE, Finish::Matte),
        piece(&skin, color::SKIN, Finish::Skin),
        piece(&skull, SKULL_WRAP, Finish::Matte),
        piece(&bone, color::BONE, Finish::Matte),
    ]
}
