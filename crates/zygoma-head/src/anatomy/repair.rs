//! Puts right what a warp may have pressed: bones too near to the skin, prisms turned inside out.

use glam::DVec3;
use rayon::prelude::*;
use zygoma_geometry::tets::volume;

use super::nearest::Nearest;
use super::prisms::{split_positions, tissue};
use super::{Anatomy, Bone};
use crate::Head;

/// Bone lies at least this deep, in metres: the required millimetre and some room.
const COVER: f64 = 1.3e-3;

/// Pushes bones under the neutral skin of their head, both sides alike.
pub(super) fn cover_bones(anatomy: &mut Anatomy, head: &Head) {
    let skin = Nearest::new(&head.skin.positions, &head.skin.triangles, |_| true);
    for bone in [&mut anatomy.cranium, &mut anatomy.mandible] {
        push_in(bone, &skin);
    }
}

fn push_in(bone: &mut Bone, skin: &Nearest) {
    const PASSES: usize = 3;
    let mirror = bone.surface.mirror.clone();
    let free: Vec<usize> =
        (0..mirror.len()).filter(|v| mirror[*v] as usize >= *v && !bone.ridge[*v]).collect();
    for _ in 0..PASSES {
        let positions = &bone.surface.positions;
        let moved: Vec<(usize, DVec3)> = free
            .par_iter()
            .filter_map(|v| {
                let p = positions[*v];
                let found = skin.find(p, COVER)?;
                (found.signed > -COVER).then(|| (*v, p - (found.signed + COVER) * found.normal))
            })
            .collect();
        if moved.is_empty() {
            break;
        }
        for (v, p) in moved {
            let other = mirror[v] as usize;
            bone.surface.positions[other] = DVec3::new(-p.x, p.y, p.z);
            bone.surface.positions[v] = if other == v { DVec3::new(0.0, p.y, p.z) } else { p };
        }
    }
}

/// Untangles prisms: layers under inverted ones are smoothed until none is left or nothing helps.
pub(super) fn wraps(anatomy: &mut Anatomy) {
    const SWEEPS: usize = 40;
    let triangles = anatomy.skin_wrap.triangles.clone();
    let count = anatomy.skin_wrap.positions.len();
    let mut neighbours: Vec<Vec<u32>> = Vec::new();
    let mut changed = false;
    for _ in 0..SWEEPS {
        let bad: Vec<usize> = (0..triangles.len()).filter(|t| !is_valid(anatomy, triangles[*t])).collect();
        if bad.is_empty() {
            break;
        }
        changed = true;
        if neighbours.is_empty() {
            neighbours = rings(count, &triangles);
        }
        let mut moving: Vec<u32> = bad.iter().flat_map(|t| triangles[*t]).collect();
        moving.extend(moving.clone().iter().flat_map(|v| neighbours[*v as usize].clone()));
        moving.extend(moving.clone().iter().map(|v| anatomy.skin_wrap.mirror[*v as usize]));
        moving.sort_unstable();
        moving.dedup();
        for inner in [1, 2] {
            let skin = &anatomy.skin_wrap.positions;
            let layer =
                if inner == 1 { &anatomy.muscle_wrap.positions } else { &anatomy.skull_wrap.positions };
            let smoothed: Vec<(u32, DVec3)> = moving
                .iter()
                .map(|v| {
                    let ring = &neighbours[*v as usize];
                    let offset = |w: u32| layer[w as usize] - skin[w as usize];
                    let mean = ring.iter().map(|w| offset(*w)).sum::<DVec3>() / ring.len().max(1) as f64;
                    (*v, skin[*v as usize] + offset(*v).lerp(mean, 0.5))
                })
                .collect();
            let layer = if inner == 1 {
                &mut anatomy.muscle_wrap.positions
            } else {
                &mut anatomy.skull_wrap.positions
            };
            for (v, p) in smoothed {
                layer[v as usize] = p;
            }
        }
    }
    if changed {
        let (skin, muscle, skull) =
            (&anatomy.skin_wrap.positions, &anatomy.muscle_wrap.positions, &anatomy.skull_wrap.positions);
        anatomy.soft_tissue = tissue(skin, muscle, &triangles);
        anatomy.muscle = tissue(muscle, skull, &triangles);
    }
}

fn rings(count: usize, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut rings = vec![Vec::new(); count];
    for t in triangles {
        for i in 0..3 {
            rings[t[i] as usize].push(t[(i + 1) % 3]);
        }
    }
    rings
}

fn is_valid(anatomy: &Anatomy, t: [u32; 3]) -> bool {
    let at = |layer: &super::Surface| t.map(|v| layer.positions[v as usize]);
    let (skin, muscle, skull) = (at(&anatomy.skin_wrap), at(&anatomy.muscle_wrap), at(&anatomy.skull_wrap));
    let positive = |tets: [[DVec3; 4]; 3]| tets.into_iter().all(|tet| volume(tet) > 0.0);
    positive(split_positions(t, skin, muscle)) && positive(split_positions(t, muscle, skull))
}
