//! Frames as bytes.
//!
//! All numbers are little-endian, all parts start at multiples of 4:
//!
//! | part | layout |
//! |---|---|
//! | header | `u32` kind, number, last input, flags, body; `f32` face time, take time; `f32` × 7 head pose (x y z w, x y z); `f32` milliseconds of encoding; `u32` number of stages, weights, touches, contacts, sections |
//! | stages | `f32` milliseconds of each stage of the body |
//! | weights | `f32` per control |
//! | touches | `u32` id, `f32` × 3 place, `f32` × 3 force on the skin in N, `f32` depth in m |
//! | contacts | `u32` point of the skin, `f32` force in N |
//! | sections | `u32` mesh, kind, points; `f32` scale; `i16` × what its kind has per point, padded |
//!
//! A surface has 3 numbers per point, which is at its neutral + scale × these. A change of volume (det F − 1) has 1, and the least
//! one where there is no tissue; corners of a cut have 4, the place and the change of volume; ends of springs and contacts have 3, the place; joints of a hand have 4, the place and the radius.
//! Changes of volume are in [`VOLUME_STEP`]s, places are scale × their numbers. The scale follows the largest displacement, so the rounding error is
//! at most 1/65534 of that: below a micrometre for an ordinary expression, at half the bytes of floats.

use glam::Vec3;

use crate::protocol::{kind, section};

/// The header of a frame, without what is counted or measured while it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FrameHeader {
    pub(crate) number: u32,
    pub(crate) input: u32,
    pub(crate) flags: u32,
    /// Index of the body among those that the page was sent.
    pub(crate) body: u32,
    pub(crate) face_time: f32,
    pub(crate) take_time: f32,
    pub(crate) pose: [f32; 7],
}

/// Words of the header.
pub(crate) mod word {
    pub(crate) const ENCODING: usize = 14;
    pub(crate) const STAGES: usize = 15;
    pub(crate) const WEIGHTS: usize = 16;
    pub(crate) const TOUCHES: usize = 17;
    pub(crate) const CONTACTS: usize = 18;
    pub(crate) const SECTIONS: usize = 19;
    /// All of them.
    pub(crate) const COUNT: usize = 20;
}

/// A finger, as a frame reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TouchReport {
    pub(crate) id: u32,
    pub(crate) place: Vec3,
    pub(crate) force: Vec3,
    pub(crate) depth: f32,
}

/// The unit of changes of volume: they are sent from −3.2 to 3.2.
pub(crate) const VOLUME_STEP: f32 = 1e-4;

/// A change of volume in its unit; the least number for none.
fn volume_number(change: f32) -> i16 {
    if change.is_nan() {
        return i16::MIN;
    }
    // A value out of range is clamped to an end of it, which is not the mark for none.
    ((change / VOLUME_STEP).round() as i16).max(-i16::MAX)
}

/// A frame being written.
#[derive(Debug)]
pub(crate) struct FrameWriter {
    bytes: Vec<u8>,
    sections: u32,
}

impl FrameWriter {
    /// Starts with everything but the sections.
    pub(crate) fn new(
        header: &FrameHeader,
        stages: &[f32],
        weights: &[f32],
        touches: &[TouchReport],
        contacts: &[(u32, f32)],
        room: usize,
    ) -> Self {
        let mut writer = Self { bytes: Vec::with_capacity(room), sections: 0 };
        writer.whole(&[kind::FRAME, header.number, header.input, header.flags, header.body]);
        writer.floats(&[header.face_time, header.take_time]);
        writer.floats(&header.pose);
        writer.floats(&[0.0]);
        let counts = [stages.len(), weights.len(), touches.len(), contacts.len(), 0];
        writer.whole(&counts.map(|count| count as u32));
        writer.floats(stages);
        writer.floats(weights);
        for touch in touches {
            writer.whole(&[touch.id]);
            writer.floats(&touch.place.to_array());
            writer.floats(&touch.force.to_array());
            writer.floats(&[touch.depth]);
        }
        for (point, force) in contacts {
            writer.whole(&[*point]);
            writer.floats(&[*force]);
        }
        writer
    }

    fn whole(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    fn floats(&mut self, numbers: &[f32]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    /// Adds a surface by its displacements.
    pub(crate) fn section(&mut self, mesh: u32, kind: u32, displacements: &[Vec3]) {
        let scale = scale_of(displacements.iter().copied());
        self.whole(&[mesh, kind, displacements.len() as u32]);
        self.floats(&[scale]);
        let per_scale = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let start = self.bytes.len();
        self.bytes.resize(start + 6 * displacements.len(), 0);
        for (out, displacement) in self.bytes[start..].as_chunks_mut::<6>().0.iter_mut().zip(displacements) {
            let [x, y, z] = (per_scale * *displacement).to_array().map(|c| (c.round() as i16).to_le_bytes());
            *out = [x[0], x[1], y[0], y[1], z[0], z[1]];
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.sections += 1;
    }

    /// Adds changes of volume, one for each point of a mesh.
    pub(crate) fn volumes(&mut self, mesh: u32, changes: impl ExactSizeIterator<Item = f32>) {
        let points = changes.len();
        self.packed([mesh, section::VOLUME, points as u32], VOLUME_STEP, changes.map(volume_number));
    }

    /// Adds places.
    pub(crate) fn places(&mut self, kind: u32, places: &[Vec3]) {
        let scale = scale_of(places.iter().copied());
        let numbers = places.iter().flat_map(|place| numbers(*place, scale));
        self.packed([0, kind, places.len() as u32], scale, numbers);
    }

    /// Adds places with changes of volume.
    pub(crate) fn cut(&mut self, corners: &[(Vec3, f32)]) {
        let scale = scale_of(corners.iter().map(|(place, _)| *place));
        let corner = |(place, change): &(Vec3, f32)| {
            let [x, y, z] = numbers(*place, scale);
            [x, y, z, volume_number(*change)]
        };
        let count = corners.len() as u32;
        self.packed([0, section::CUT, count], scale, corners.iter().flat_map(corner));
    }

    /// Adds the joints of a hand: places and radii.
    pub(crate) fn hand(&mut self, side: u32, joints: &[(Vec3, f32)]) {
        let scale = scale_of(joints.iter().map(|(place, radius)| place.abs().max(Vec3::splat(*radius))));
        let joint = |(place, radius): &(Vec3, f32)| {
            let ([x, y, z], [radius, ..]) = (numbers(*place, scale), numbers(Vec3::splat(*radius), scale));
            [x, y, z, radius]
        };
        self.packed([side, section::HAND, joints.len() as u32], scale, joints.iter().flat_map(joint));
    }

    fn packed(&mut self, head: [u32; 3], scale: f32, numbers: impl Iterator<Item = i16>) {
        self.whole(&head);
        self.floats(&[scale]);
        numbers.for_each(|number| self.bytes.extend(number.to_le_bytes()));
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.sections += 1;
    }

    /// The finished frame. The time of encoding is known only now.
    pub(crate) fn finish(mut self, encoding: f32) -> Vec<u8> {
        let mut set = |word: usize, bytes: [u8; 4]| self.bytes[4 * word..][..4].copy_from_slice(&bytes);
        set(word::ENCODING, encoding.to_le_bytes());
        set(word::SECTIONS, self.sections.to_le_bytes());
        self.bytes
    }
}

/// The step in which the largest of some places has the largest number.
pub(crate) fn scale_of(places: impl Iterator<Item = Vec3>) -> f32 {
    let largest = places.map(|place| place.abs().max_element()).fold(0.0, f32::max);
    if largest.is_finite() { largest / 32767.0 } else { 0.0 }
}

/// A place in steps.
pub(crate) fn numbers(place: Vec3, scale: f32) -> [i16; 3] {
    let per_scale = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    (per_scale * place).to_array().map(|c| c.round() as i16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_BYTES: usize = 4 * word::COUNT;

    #[test]
    fn displacements_survive_to_within_half_a_step() {
        let moved = [Vec3::ZERO, Vec3::new(0.011, -0.02, 3e-7), Vec3::new(-0.004, 0.0, 0.0199)];
        let touch = TouchReport { id: 3, place: Vec3::X, force: Vec3::Y, depth: 0.004 };
        let mut writer =
            FrameWriter::new(&FrameHeader::default(), &[1.5, 2.5], &[0.5], &[touch], &[(7, 0.25)], 0);
        let start = writer.bytes.len();
        assert_eq!(start, HEADER_BYTES + 8 + 4 + 32 + 8);
        writer.section(2, 0, &moved);
        let bytes = writer.finish(2.0);
        let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(float(4 * word::ENCODING), 2.0);
        assert_eq!([float(HEADER_BYTES), float(HEADER_BYTES + 4)], [1.5, 2.5]);
        let scale = float(start + 12);
        for (index, wanted) in moved.iter().flat_map(Vec3::to_array).enumerate() {
            let at = start + 16 + 2 * index;
            let found = scale * f32::from(i16::from_le_bytes([bytes[at], bytes[at + 1]]));
            assert!((found - wanted).abs() <= 0.51 * scale, "{found} is not {wanted}");
        }
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn a_face_at_rest_has_no_displacement() {
        let mut writer = FrameWriter::new(&FrameHeader::default(), &[], &[], &[], &[], 0);
        writer.section(0, 0, &[Vec3::ZERO; 5]);
        let bytes = writer.finish(0.0);
        assert!(bytes[HEADER_BYTES + 12..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn cuts_springs_and_changes_of_volume_come_back() {
        let mut writer = FrameWriter::new(&FrameHeader::default(), &[], &[], &[], &[], 0);
        writer.volumes(4, [0.25, f32::NAN, -9.0].into_iter());
        writer.cut(&[(Vec3::new(0.1, -0.05, 0.02), -0.125)]);
        writer.places(section::STICKY, &[Vec3::X, Vec3::Y]);
        let bytes = writer.finish(0.0);
        let whole = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let number = |at: usize| i16::from_le_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!(whole(4 * word::SECTIONS), 3);
        let volumes = HEADER_BYTES;
        assert_eq!([whole(volumes), whole(volumes + 4), whole(volumes + 8)], [4, section::VOLUME, 3]);
        assert_eq!([16, 18, 20].map(|at| number(volumes + at)), [2500, i16::MIN, -i16::MAX]);
        let cut = volumes + 24;
        assert_eq!([whole(cut + 4), whole(cut + 8)], [section::CUT, 1]);
        let scale = f32::from_bits(whole(cut + 12));
        assert!((scale * f32::from(number(cut + 18)) + 0.05).abs() < scale);
        assert_eq!(number(cut + 22), -1250);
        let springs = cut + 24;
        assert_eq!([whole(springs + 4), whole(springs + 8)], [section::STICKY, 2]);
        assert_eq!(bytes.len(), springs + 16 + 12);
    }
}
