//! Frames of a session: advances the body that is shown and the meshes around it, and encodes them.

use std::time::Instant;

use glam::Vec3;

use super::{Closed, Session, hands, performer, tissue};
use crate::frame::{FrameHeader, FrameWriter};
use crate::kinds::RIG;
use crate::protocol::{ServerMessage, flag, section};

/// Frames that may be under way before the session waits for the page to acknowledge one.
const IN_FLIGHT: u32 = 3;

impl Session {
    /// Advances everything and puts a frame in the mailbox.
    pub(super) fn frame(&mut self, seconds: f64) -> Result<(), Closed> {
        let seconds = seconds.min(self.bodies.longest_frame());
        self.face_time += seconds;
        self.performer.advance(seconds);
        let turned = self.shake.advance(seconds, self.model.rig.pivot(zygoma_rig::JointRole::Head));
        self.pose = performer::then(&self.performer.head_pose(), &turned);
        let skin = self.model.rig.skin;
        self.performer.update_weights(&self.model);
        for (mesh, surface) in self.surfaces.iter_mut().enumerate() {
            if mesh != skin && self.performer.has_moved(mesh) {
                self.model.parts[mesh].evaluator.evaluate(self.performer.weights(mesh), surface);
                self.stale[mesh] = true;
            }
        }
        self.turn_eyes();
        self.apply_paint()?;
        let (mut flags, stages) = self.advance_body(seconds)?;
        self.carry_riders();
        if self.performer.is_playing() {
            flags |= flag::PLAYING;
        }
        if self.recorder.is_running() {
            flags |= flag::RECORDING;
            let part = &self.model.parts[skin];
            part.displacements(&self.surfaces[skin], &mut self.displacements);
            let weights = self.performer.control_weights(&self.model);
            self.recorder.push(seconds, &self.displacements, &weights, &self.pose);
        }
        if !self.is_behind() {
            let header = FrameHeader {
                number: self.number + 1,
                input: self.input,
                flags,
                body: self.bodies.shown() as u32,
                face_time: self.face_time as f32,
                take_time: self.performer.time() as f32,
                pose: performer::as_numbers(&self.pose),
            };
            self.encode(&header, &stages);
        }
        Ok(())
    }

    /// Whether as many frames are under way as may be.
    fn is_behind(&self) -> bool {
        self.number.wrapping_sub(self.acknowledged) >= IN_FLIGHT
    }

    /// Advances the body that is shown; gives flags and stages of the frame.
    fn advance_body(&mut self, seconds: f64) -> Result<(u32, Vec<f32>), Closed> {
        let (kind, skin, is_behind) = (self.bodies.shown(), self.model.rig.skin, self.is_behind());
        if kind == RIG && !self.performer.has_moved(skin) {
            return Ok((0, Vec::new()));
        }
        if self.tracked.follow_rig() {
            let weights = self.performer.weights(skin);
            self.model.parts[skin].evaluator.evaluate(weights, &mut self.rig_surface);
        }
        let (Some(running), pool) = self.bodies.current_mut() else { return Ok((0, Vec::new())) };
        self.tracked.place(running.body_mut(), self.face_time, &self.rig_surface);
        let frame = match running.advance(seconds, self.performer.weights(skin), &self.pose, pool) {
            Ok(frame) => frame,
            Err(error) => {
                self.drop_body(kind, &error.to_string())?;
                return Ok((0, Vec::new()));
            }
        };
        self.surfaces[skin].copy_from_slice(frame.positions);
        self.stale[skin] = true;
        let flags = match kind {
            RIG => 0,
            _ if frame.asleep => flag::SIMULATED | flag::ASLEEP,
            _ => flag::SIMULATED,
        };
        let (stages, renamed) = (running.stage_milliseconds(), running.renamed_stages());
        // A tab that does not fetch its frames gets no figures either.
        let pace = if kind == RIG || is_behind { None } else { running.report() };
        let figures = pace.and_then(|_| tissue::report(running.body()));
        if renamed {
            self.send_body()?;
        }
        if let Some((milliseconds, speed)) = pace {
            self.send_message(ServerMessage::Pace { milliseconds, speed })?;
        }
        if let Some(figures) = figures {
            self.send_message(ServerMessage::Tissue(figures))?;
        }
        Ok((flags, stages))
    }

    /// Moves meshes that follow the skin, where that is simulated.
    fn carry_riders(&mut self) {
        let model = self.model.clone();
        for rider in model.followers.riders() {
            let mesh = rider.mesh();
            self.riding.resize(self.surfaces[mesh].len(), Vec3::ZERO);
            model.parts[mesh].evaluator.evaluate(self.performer.weights(mesh), &mut self.riding);
            if self.bodies.shown() != RIG {
                let skin = model.rig.skin;
                rider.ride(self.performer.weights(skin), &self.surfaces[skin], &mut self.riding);
            }
            if self.riding != self.surfaces[mesh] {
                self.surfaces[mesh].copy_from_slice(&self.riding);
                self.stale[mesh] = true;
            }
        }
    }

    /// Turns the eyeballs that no shape moves.
    fn turn_eyes(&mut self) {
        if self.model.eyes.is_empty() {
            return;
        }
        let controls = self.performer.control_weights(&self.model);
        for eye in &self.model.eyes {
            let motion = self.performer.gaze(eye, &controls);
            let neutral = &self.model.rig.meshes[eye.mesh].positions;
            for (position, rest) in self.surfaces[eye.mesh].iter_mut().zip(neutral) {
                *position = motion.apply(rest.as_dvec3()).as_vec3();
            }
            self.stale[eye.mesh] = true;
        }
    }

    fn encode(&mut self, header: &FrameHeader, stages: &[f32]) {
        let encoding = Instant::now();
        let (skin, model) = (self.model.rig.skin, self.model.clone());
        let weights = self.performer.control_weights(&model);
        let body = self.bodies.current();
        let touches = body.map(|body| self.hands.reports(body)).unwrap_or_default();
        let forces = match body {
            Some(body) if self.shows_contacts => hands::contact_forces(body, &model.parts[skin]),
            _ => Vec::new(),
        };
        let room = 1024 + 6 * model.parts.iter().map(|part| part.neutral.len()).sum::<usize>();
        let mut writer = FrameWriter::new(header, stages, &weights, &touches, &forces, room);
        for (mesh, part) in model.parts.iter().enumerate() {
            if std::mem::take(&mut self.stale[mesh]) {
                part.displacements(&self.surfaces[mesh], &mut self.displacements);
                writer.section(mesh as u32, section::SHOWN, &self.displacements);
            }
        }
        if let Some(body) = self.bodies.current() {
            tissue::write_inside(body, &self.shows_inside, &model, &mut writer);
            self.tracked.write(body, &mut writer);
        }
        if self.shows_rig && self.bodies.shown() != RIG {
            let part = &model.parts[skin];
            part.evaluator.evaluate(self.performer.weights(skin), &mut self.rig_surface);
            part.displacements(&self.rig_surface, &mut self.displacements);
            writer.section(skin as u32, section::RIG, &self.displacements);
        }
        let replaced = self.link.frames.put(writer.finish(1e3 * encoding.elapsed().as_secs_f32()));
        if replaced {
            // Meshes of the lost frame must be sent again, even if they rest now.
            for (stale, part) in self.stale.iter_mut().zip(&model.parts) {
                *stale |= part.moves();
            }
            model.followers.riders().iter().for_each(|rider| self.stale[rider.mesh()] = true);
        }
        self.number = header.number;
    }
}
