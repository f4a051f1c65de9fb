//! How firmly ligaments hold the skin.

use glam::DVec3;

use super::bone_attachment::smooth_step;

/// Factors of the attachment stiffness where no expression moves the skin and where one moves it far, and that distance as a fraction of
/// the face's height (4 mm at life size). Ours: a shaken scalp moves by a part of the motion of the cheeks.
const FIRM: f64 = 3.0;
const LOOSE: f64 = 0.3;
const MOVED: f64 = 0.015;

/// How far expressions move each skin vertex, from 0 (as on the scalp) to 1 (as at the cheeks). `moves` are displacements by shapes that move no
/// bone, m.
pub(crate) fn mobility<'a>(moves: impl Iterator<Item = &'a [DVec3]>, count: usize, height: f64) -> Vec<f64> {
    let mut farthest = vec![0.0_f64; count];
    for moves in moves {
        farthest.iter_mut().zip(moves).for_each(|(farthest, way)| *farthest = farthest.max(way.length()));
    }
    farthest.iter().map(|way| smooth_step(way / (MOVED * height))).collect()
}

/// Relative stiffness of the attachment below skin of some mobility: ligaments hold skin that muscles do not move over the bone.
pub(crate) fn attachment_at(mobility: f64) -> f64 {
    FIRM + mobility * (LOOSE - FIRM)
}
