//! The worst moment of a simulation: pictures of it, and a clip around it.

use glam::Vec3;
use zygoma_picture::{Bounds, Clip, Image, Report, View, grid, side_by_side};
use zygoma_rig::binding::Binding;
use zygoma_rig::frames::Frames;

use super::simulation::ReportInput;
use crate::pictures::{Portrait, Shot};

/// Pixels of one picture, and of one frame of the clip.
const SIZE: usize = 320;
const CLIP: usize = 260;
/// Length of the clip around the worst moment, in seconds, and its frames per second.
const AROUND: f64 = 0.75;
const CLIP_FPS: u16 = 15;
/// Half size of the close-up around the worst vertex, in heights.
const CLOSE: f32 = 0.16;

impl ReportInput<'_> {
    /// The frame with the largest deviation from the rig among those without contact, or among all if there is always contact.
    fn worst_frame(&self) -> Option<usize> {
        let frames = || self.outcome.deviations.iter().enumerate();
        let worst = |untouched: bool| {
            let counted = frames().filter(|(_, d)| !(untouched && d.touched));
            counted.max_by(|(_, a), (_, b)| a.worst.total_cmp(&b.worst)).map(|(frame, _)| frame)
        };
        worst(true).or_else(|| worst(false))
    }

    /// Adds the worst frame beside the plain rig, whole and as a close-up, and a clip around it.
    pub(crate) fn add_worst(&self, page: &mut Report) -> anyhow::Result<()> {
        let Some(frame) = self.worst_frame() else { return Ok(()) };
        let shown = Shown {
            input: self,
            portrait: Portrait::new(self.rig)?,
            binding: Binding::new(self.rig, self.take),
        };
        let fps = self.outcome.frames.fps();
        let found = self.outcome.deviations[frame];
        let at = self.face.neutral[found.vertex as usize];
        let around = Vec3::splat(CLOSE * self.face.height as f32);
        let close = Some(Bounds { low: at - around, high: at + around });
        let front = View::FRONT;
        let aside = View { yaw: 40.0_f32.copysign(at.x), pitch: 5.0 };
        let views = [(front, None), (aside, None), (front, close), (aside, close)];
        let mut rows = [Vec::new(), Vec::new()];
        for (view, focus) in views {
            let [simulated, plain] = shown.pair(frame, view, focus, SIZE)?;
            rows[0].push((simulated, format!("{:.2} s", frame as f64 / fps)));
            rows[1].push((plain, "the plain rig".to_owned()));
        }
        page.section("The worst frame").figure(
            &grid(&rows.concat(), views.len()),
            &format!(
                "Where the surface is farthest from the rig: {:.2} mm at {:.2} s. The simulated face above, the plain rig below.",
                1e3 * found.worst,
                frame as f64 / fps
            ),
        )?;
        let count = self.outcome.deviations.len();
        let step = (fps / f64::from(CLIP_FPS)).round().max(1.0) as usize;
        let reach = (AROUND * fps) as usize;
        let frames = (frame.saturating_sub(reach)..(frame + reach + 1).min(count)).step_by(step);
        let mut pictures = Vec::new();
        for frame in frames {
            let pair = shown.pair(frame, front, None, CLIP)?;
            pictures.push(side_by_side(&pair.each_ref()));
        }
        let fps = (fps / step as f64).round() as u16;
        page.clip(&Clip::new(pictures, fps)?, "Around that moment: the simulated face, and the plain rig.")?;
        Ok(())
    }
}

/// The subject of the pictures.
struct Shown<'a> {
    input: &'a ReportInput<'a>,
    portrait: Portrait<'a>,
    binding: Binding,
}

impl Shown<'_> {
    /// Draws the simulated face and the plain rig in a frame.
    fn pair(
        &self,
        frame: usize,
        view: View,
        focus: Option<Bounds>,
        size: usize,
    ) -> anyhow::Result<[Image; 2]> {
        let input = self.input;
        let mut surfaces = self.portrait.at(&self.binding, input.take, input.time(frame));
        let plain = self.portrait.shoot(&Shot { surfaces: &surfaces, props: &[], view, focus, size })?;
        surfaces[input.rig.skin] = input.outcome.frames.frame(frame)?;
        let props = input.props(frame);
        let simulated =
            self.portrait.shoot(&Shot { surfaces: &surfaces, props: &props, view, focus, size })?;
        Ok([simulated, plain])
    }
}
