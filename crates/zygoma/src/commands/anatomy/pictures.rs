//! A page with pictures of a fitted head.

use std::path::Path;

use glam::{DVec3, Vec3};
use zygoma_head::fit::FittedHead;
use zygoma_picture::Report as Page;
use zygoma_picture::{
    Camera, Finish, Image, Paint, RenderOptions, Rgb, Scene, Surface, View, color, grid, render,
};
use zygoma_rig::Rig;

use super::{Distances, Report, positions};

/// Pixels of one picture.
const SIZE: usize = 420;

struct Layer<'a> {
    positions: &'a [Vec3],
    triangles: &'a [[u32; 3]],
    color: Rgb,
    opacity: f32,
}

/// Writes `report.html` and `anatomy.png` into a folder.
pub(super) fn write(rig: &Rig, fitted: &FittedHead, report: &Report, folder: &Path) -> anyhow::Result<()> {
    zygoma_files::create_folder(folder)?;
    let sheet = sheet(rig, fitted)?;
    sheet.save(&folder.join("anatomy.png"))?;
    let mut page = Page::new(&format!("{}: anatomy", report.rig));
    page.figure(&sheet, "The mesh, the fitted skin, and the bones under it.")?;
    let line = |name: &str, d: &Distances| {
        vec![name.to_owned(), format!("{:.2}", d.mean), format!("{:.2}", d.p95), format!("{:.2}", d.worst)]
    };
    page.table(
        &["mm of a life-size head", "mean", "p95", "worst"],
        &[
            line("face to fitted skin", &report.registration_mm),
            line("face to the head of the dials alone", &report.by_dials_mm),
            line("ears", &report.ears_mm),
        ],
    );
    page.preformatted(&serde_json::to_string_pretty(report)?);
    Ok(page.save(&folder.join("report.html"))?)
}

/// All in the head's own frame, so that every picture looks from the same side.
fn sheet(rig: &Rig, fitted: &FittedHead) -> anyhow::Result<Image> {
    let back = fitted.to_mesh.inverse();
    let single = |points: &[DVec3]| points.iter().map(|p| back.apply(*p).as_vec3()).collect::<Vec<Vec3>>();
    let (mesh, mesh_triangles) = (single(&positions(rig.skin())), rig.skin().faces.triangles());
    let skin = single(&fitted.skin);
    let bones = [&fitted.anatomy.cranium.surface, &fitted.anatomy.mandible.surface];
    let bone_positions = bones.map(|bone| single(&bone.positions));
    let skin_layer =
        |opacity: f32| Layer { positions: &skin, triangles: &fitted.triangles, color: color::SKIN, opacity };
    let mesh_layer =
        || Layer { positions: &mesh, triangles: &mesh_triangles, color: color::SKIN, opacity: 1.0 };
    let bone_layers = || {
        let layer = |i: usize| Layer {
            positions: &bone_positions[i],
            triangles: &bones[i].triangles,
            color: color::BONE,
            opacity: 1.0,
        };
        vec![layer(0), layer(1)]
    };
    let under_skin = || bone_layers().into_iter().chain([skin_layer(0.35)]).collect();
    let scenes: [(Vec<Layer<'_>>, View, &str); 6] = [
        (vec![mesh_layer()], View::FRONT, "mesh"),
        (vec![skin_layer(1.0)], View::FRONT, "fitted"),
        (bone_layers(), View::FRONT, "bones"),
        (vec![mesh_layer()], View::THREE_QUARTER, "mesh"),
        (vec![skin_layer(1.0)], View::THREE_QUARTER, "fitted"),
        (under_skin(), View::THREE_QUARTER, "bones under the skin"),
    ];
    let options = RenderOptions::sized(SIZE, SIZE);
    let mut pictures = Vec::new();
    for (layers, view, name) in &scenes {
        let scene = Scene::new(layers.iter().map(|layer| {
            Surface::new(layer.positions, layer.triangles)
                .painted(Paint::Plain(layer.color), Finish::Matte)
                .with_opacity(layer.opacity)
        }));
        let camera = Camera::framing_points(*view, &skin, options.aspect());
        pictures.push((render(&scene, &camera, &options)?, *name));
    }
    Ok(grid(&pictures, 3))
}
