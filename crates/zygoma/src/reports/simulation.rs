//! The report of a simulation: its touches and its deviation from the rig.

use std::path::Path;

use glam::Vec3;
use zygoma_face::model::FaceModel;
use zygoma_geometry::TriMesh;
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_picture::{Bounds, Chart, Image, Line, Report, View, grid};
use zygoma_rig::binding::Binding;
use zygoma_rig::frames::Frames;
use zygoma_rig::{Rig, Take};

use crate::pictures::{Portrait, Shot};
use crate::props::{placed, prop_mesh};
use zygoma_face::run::{HandProp, Outcome, Prop, TouchScript};

/// Pixels of one picture.
const SIZE: usize = 360;

/// Half size of the close-up around a touch, in heights.
const CLOSE: f32 = 0.2;
/// The same around a hand.
const CLOSE_HAND: f32 = 0.32;

/// Number of key frames shown beside the plain rig.
const KEY_FRAMES: usize = 6;

/// Caption of the sheet of touches.
pub(crate) const TOUCHES: &str =
    "Each touch in the middle of its time, and the plain rig at the same moment.";

/// The performance that a report describes.
pub(crate) struct ReportInput<'a> {
    pub(crate) face: &'a FaceModel,
    pub(crate) rig: &'a Rig,
    pub(crate) take: &'a Take,
    pub(crate) touches: &'a TouchScript,
    pub(crate) outcome: &'a Outcome,
}

/// Writes the page to a folder.
pub(crate) fn write(folder: &Path, input: &ReportInput, lines: &[String]) -> anyhow::Result<()> {
    zygoma_files::create_folder(folder)?;
    let mut page = Report::new(&format!("zygoma simulate: {} performs {}", input.face.name, input.take.name));
    page.list(lines);
    input.add_worst(&mut page)?;
    input.add_touches(&mut page)?;
    input.add_deviation(&mut page);
    input.add_key_frames(&mut page)?;
    page.save(&folder.join("report.html"))?;
    Ok(())
}

impl ReportInput<'_> {
    /// Draws each touch at its middle, above the plain rig at the same moment.
    pub(crate) fn touch_pictures(&self, size: usize) -> anyhow::Result<Vec<[(Image, String); 2]>> {
        let portrait = Portrait::new(self.rig)?;
        let binding = Binding::new(self.rig, self.take);
        let mut pictures = Vec::new();
        for (touch, prop) in self.touches.touches.iter().zip(&self.outcome.props) {
            let frame = (0.5 * (touch.from + touch.to) * self.outcome.frames.fps()).round() as usize;
            let Some(pose) = prop.poses.get(frame).copied().flatten() else { continue };
            let surfaces = portrait.at(&binding, self.take, self.time(frame));
            let view = self.side_view(prop, &pose, &surfaces[self.rig.skin]);
            let tip = tip(prop, &pose);
            let around = Vec3::splat(CLOSE * self.face.height as f32);
            let focus = Some(Bounds { low: tip - around, high: tip + around });
            let mut touched = surfaces.clone();
            touched[self.rig.skin] = self.outcome.frames.frame(frame)?;
            let props = self.props(frame);
            let [touched, plain] = [(&touched, &props[..]), (&surfaces, &[])]
                .map(|(surfaces, props)| portrait.shoot(&Shot { surfaces, props, view, focus, size }));
            pictures.push([(touched?, touch.name.clone()), (plain?, "the plain rig then".to_owned())]);
        }
        for hand in &self.outcome.hands {
            pictures.extend(self.hand_picture(&portrait, &binding, hand, size)?);
        }
        Ok(pictures)
    }

    /// Draws a hand in the frame in which it reaches deepest into the plain rig, and the face without it.
    fn hand_picture(
        &self,
        portrait: &Portrait,
        binding: &Binding,
        hand: &HandProp,
        size: usize,
    ) -> anyhow::Result<Option<[(Image, String); 2]>> {
        let depth = |frame: usize| self.outcome.hand_measures[frame].map_or(0.0, |found| found.tracked.sum);
        let there = (0..hand.frame_count()).filter(|frame| hand.is_there(*frame));
        let Some(frame) = there.max_by(|a, b| depth(*a).total_cmp(&depth(*b))) else { return Ok(None) };
        let (Some([at, outward]), Some(mesh)) = (hand.reach(frame), hand.mesh(frame)) else {
            return Ok(None);
        };
        let mut surfaces = portrait.at(binding, self.take, self.time(frame));
        surfaces[self.rig.skin] = self.outcome.frames.frame(frame)?;
        let around = Vec3::splat(CLOSE_HAND * self.face.height as f32);
        let focus = Some(Bounds { low: at - around, high: at + around });
        let view = beside(outward);
        let mesh = [mesh];
        let [with, without] = [&mesh[..], &[]]
            .map(|props| portrait.shoot(&Shot { surfaces: &surfaces, props, view, focus, size }));
        Ok(Some([(with?, hand.name.clone()), (without?, "the face without the hand".to_owned())]))
    }

    pub(super) fn time(&self, frame: usize) -> f64 {
        self.take.start() + frame as f64 / self.outcome.frames.fps()
    }

    /// The meshes of the colliders that touch the face in a frame.
    pub(super) fn props(&self, frame: usize) -> Vec<TriMesh<Vec3>> {
        let placed = |prop: &Prop| {
            let pose = prop.poses.get(frame).copied().flatten()?;
            Some(placed(&prop_mesh(&prop.shape), &pose))
        };
        let hands = self.outcome.hands.iter().filter_map(|hand| hand.mesh(frame));
        self.outcome.props.iter().filter_map(placed).chain(hands).collect()
    }

    /// A view of a touch from the side, so that the collider does not hide the skin.
    fn side_view(&self, prop: &Prop, pose: &Pose, skin: &[Vec3]) -> View {
        let tip = tip(prop, pose);
        let reach = 0.06 * self.face.height as f32;
        let near: Vec<Vec3> = skin.iter().copied().filter(|p| p.distance(tip) < 2.0 * reach).collect();
        let middle = near.iter().sum::<Vec3>() / near.len().max(1) as f32;
        let outward = match prop.shape {
            ColliderShape::Capsule { .. } => pose.rotation * Vec3::Y,
            _ => (pose.translation - middle).normalize_or(Vec3::Z),
        };
        beside(outward)
    }

    /// Draws all touches on one sheet, each above the plain rig at the same moment; `None` if nothing touches.
    pub(crate) fn touch_sheet(&self) -> anyhow::Result<Option<Image>> {
        let pictures = self.touch_pictures(SIZE)?;
        if pictures.is_empty() {
            return Ok(None);
        }
        let columns = pictures.len().min(5);
        let mut sheet = Vec::new();
        for row in pictures.chunks(columns) {
            let (touched, plain): (Vec<_>, Vec<_>) =
                row.iter().map(|[touched, plain]| (touched.clone(), plain.clone())).unzip();
            for mut pictures in [touched, plain] {
                pictures.resize_with(columns, || (Image::filled(1, 1, [1.0; 3]), String::new()));
                sheet.extend(pictures);
            }
        }
        Ok(Some(grid(&sheet, columns)))
    }

    pub(crate) fn add_touches(&self, page: &mut Report) -> anyhow::Result<()> {
        if let Some(sheet) = self.touch_sheet()? {
            page.section("Colliders").figure(&sheet, TOUCHES)?;
        }
        Ok(())
    }

    pub(crate) fn add_deviation(&self, page: &mut Report) {
        let fps = self.outcome.frames.fps();
        let percent = 100.0 / self.face.height;
        let line = |name: &str, value: &dyn Fn(usize) -> f32| Line {
            name: name.to_owned(),
            points: (0..self.outcome.deviations.len())
                .map(|frame| [frame as f64 / fps, percent * f64::from(value(frame))])
                .collect(),
        };
        page.section("Deviation").chart(
            &Chart {
                title: "Distance from the plain rig".into(),
                x_label: "seconds".into(),
                y_label: "% of height".into(),
                lines: vec![
                    line("worst vertex", &|frame| self.outcome.deviations[frame].worst),
                    line("mean", &|frame| self.outcome.deviations[frame].mean),
                    line("deepest in the skin", &|frame| self.outcome.penetration[frame]),
                ],
                ..Chart::default()
            },
            "Where nothing touches, the face stays the artist's own.",
        );
    }

    pub(crate) fn add_key_frames(&self, page: &mut Report) -> anyhow::Result<()> {
        let portrait = Portrait::new(self.rig)?;
        let binding = Binding::new(self.rig, self.take);
        let last = self.outcome.deviations.len().saturating_sub(1);
        let frames: Vec<usize> =
            (1..=KEY_FRAMES).map(|i| ((i as f64 - 0.5) / KEY_FRAMES as f64 * last as f64) as usize).collect();
        let mut rows = [Vec::new(), Vec::new()];
        for frame in frames {
            let mut surfaces = portrait.at(&binding, self.take, self.time(frame));
            let shot = |surfaces: &[Vec<Vec3>], props: &[TriMesh<Vec3>]| {
                portrait.shoot(&Shot { surfaces, props, view: View::FRONT, focus: None, size: SIZE * 2 / 3 })
            };
            rows[1].push((shot(&surfaces, &[])?, "the plain rig".to_owned()));
            surfaces[self.rig.skin] = self.outcome.frames.frame(frame)?;
            let seconds = frame as f64 / self.outcome.frames.fps();
            rows[0].push((shot(&surfaces, &self.props(frame))?, format!("{seconds:.2} s")));
        }
        page.section("Key frames")
            .figure(&grid(&rows.concat(), KEY_FRAMES), "The simulated face above, the plain rig below.")?;
        Ok(())
    }
}

/// A view from beside a direction.
fn beside(outward: Vec3) -> View {
    let yaw = outward.x.atan2(outward.z).to_degrees();
    let aside = if yaw.abs() < 20.0 { yaw + 62.0 } else { yaw - 52.0 * yaw.signum() };
    View { yaw: aside.clamp(-60.0, 60.0), pitch: 6.0 }
}

/// The end of a prop that touches the skin.
fn tip(prop: &Prop, pose: &Pose) -> Vec3 {
    match prop.shape {
        ColliderShape::Capsule { half_length, .. } => {
            pose.translation - half_length * (pose.rotation * Vec3::Y)
        }
        _ => pose.translation,
    }
}
