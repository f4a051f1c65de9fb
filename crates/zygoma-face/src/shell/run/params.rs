//! Parameters that can be changed while a face runs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use serde::{Deserialize, Serialize};
use zygoma_numerics::{BadParam, Checked, NotPositiveDefinite, Ranged};
use zygoma_physics::shell::{ShellParams, StepMatrices, StepOrder, Stiffness};

use crate::body::GRAVITY;
use crate::shell::model::{CertifiedFace, NoShell, ShellModel};

/// Gravity on Earth, along −Y, m/s².
const EARTH: [f64; 3] = [0.0, -9.81, 0.0];

/// Parameters of a running face.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunParams {
    /// Parameters of the shell, such as density, damping and p^max; `None`: those that the face was built with.
    pub shell: Option<ShellParams>,
    /// Factor on the fitted stiffness. Above 1 the certificate no longer holds.
    pub stiffness_scale: f64,
    /// Gravity, m/s², in the world.
    pub gravity: [f64; 3],
    /// Gravity under which the artist's neutral was made, m/s², in the head's frame: skin only feels the difference from it. An upright
    /// head on Earth feels nothing.
    pub rest_gravity: [f64; 3],
    /// Whether fine detail (IFA eq. 13) is added.
    pub detail: bool,
    /// Whether frames include normals.
    pub normals: bool,
    /// Seconds without touch after which the face falls asleep; `None`: never.
    pub sleep_after: Option<f64>,
}

impl Default for RunParams {
    fn default() -> Self {
        Self {
            shell: None,
            stiffness_scale: 1.0,
            gravity: EARTH,
            rest_gravity: EARTH,
            detail: true,
            normals: true,
            sleep_after: Some(1.0),
        }
    }
}

/// Why a face cannot run with some parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// A parameter lies outside its range.
    #[error(transparent)]
    Param(#[from] BadParam),
    /// The face cannot run as a shell.
    #[error(transparent)]
    NoShell(#[from] NoShell),
    /// The matrix of a time step cannot be factored.
    #[error("the face cannot be simulated with these parameters: {0}")]
    Matrix(#[from] NotPositiveDefinite),
}

impl Checked for RunParams {
    fn ranges(&self) -> Vec<Ranged> {
        let shell = self.shell.iter().flat_map(Checked::ranges).map(|param| param.within("shell"));
        let mut ranges: Vec<Ranged> = shell.collect();
        ranges.push(Ranged::new("stiffness_scale", self.stiffness_scale, 1e-6..=1e6));
        ranges.extend(Ranged::vector("gravity", self.gravity, &GRAVITY));
        ranges.extend(Ranged::vector("rest_gravity", self.rest_gravity, &GRAVITY));
        ranges.extend(self.sleep_after.map(|seconds| Ranged::new("sleep_after", seconds, 0.0..=1e9)));
        ranges
    }
}

impl RunParams {
    /// The same parameters without any effect of gravity, however the head is turned.
    pub fn weightless(self) -> Self {
        Self { gravity: [0.0; 3], rest_gravity: [0.0; 3], ..self }
    }

    /// The same parameters for a face that never sleeps.
    pub fn awake(self) -> Self {
        Self { sleep_after: None, ..self }
    }

    /// Parameters of a face's shell.
    pub(super) fn shell(&self, face: &ShellModel) -> ShellParams {
        self.shell.clone().unwrap_or_else(|| face.fitted.params.clone())
    }

    /// Whether a face's certificate holds with these parameters: its shell is no stiffer and its actuation no weaker than when it was
    /// tested, and an upright head carries no load.
    pub(super) fn within_certificate(&self, face: &ShellModel) -> bool {
        let (shell, built) = (self.shell(face), &face.fitted.params);
        face.fitted.certified.as_ref().is_some_and(CertifiedFace::holds)
            && self.stiffness_scale <= 1.0
            && shell.max_pressure >= built.max_pressure
            && shell.tolerance <= built.tolerance
            && self.gravity == self.rest_gravity
    }

    fn has_same_matrix(&self, other: &Self, face: &ShellModel) -> bool {
        self.shell(face) == other.shell(face) && self.stiffness_scale == other.stiffness_scale
    }

    pub(super) fn matrices(
        &self,
        face: &ShellModel,
        order: &StepOrder,
    ) -> Result<StepMatrices, NotPositiveDefinite> {
        let scale = |values: &[f64]| values.iter().map(|value| self.stiffness_scale * value).collect();
        let stiffness = Stiffness {
            strain: scale(&face.fitted.stiffness.strain),
            bending: scale(&face.fitted.stiffness.bending),
        };
        StepMatrices::new(&face.shell, &stiffness, &self.shell(face), order)
    }
}

/// The effect of a change of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamsChange {
    /// Whether the certificate of the build still covers the face.
    pub within_certificate: bool,
}

/// Matrices being computed by a thread.
#[derive(Debug, Default)]
pub(super) struct Pending {
    receiver: Option<Receiver<Option<Arc<StepMatrices>>>>,
    /// Matrices that are no longer in use: memory is not freed in the middle of a frame.
    retired: Option<Arc<StepMatrices>>,
}

/// A clone has nothing pending: it keeps the matrices in use.
impl Clone for Pending {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Pending {
    /// Whether new matrices are being computed.
    pub(super) fn is_waiting(&self) -> bool {
        self.receiver.is_some()
    }

    /// Starts a thread if `params` need other matrices than `before`.
    pub(super) fn start(
        &mut self,
        face: &Arc<ShellModel>,
        order: &Arc<StepOrder>,
        before: &RunParams,
        params: &RunParams,
    ) {
        self.retired = None;
        if params.has_same_matrix(before, face) {
            return;
        }
        let (sender, receiver) = channel();
        let (face, order, params) = (face.clone(), order.clone(), params.clone());
        std::thread::spawn(move || {
            let made = params.matrices(&face, &order).ok().map(Arc::new);
            // The receiver is gone if parameters were changed again meanwhile.
            let _ = sender.send(made);
        });
        self.receiver = Some(receiver);
    }

    /// New matrices, if they are ready. Parameters that cannot be simulated are ignored.
    pub(super) fn take(&mut self) -> Option<Arc<StepMatrices>> {
        let made = match self.receiver.as_ref()?.try_recv() {
            Ok(made) => made,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => None,
        };
        self.receiver = None;
        made
    }

    /// Waits for new matrices.
    pub(super) fn wait(&mut self) -> Option<Arc<StepMatrices>> {
        self.receiver.take()?.recv().ok()?
    }

    /// Keeps matrices that are no longer in use until parameters change again.
    pub(super) fn retire(&mut self, matrices: Arc<StepMatrices>) {
        self.retired = Some(matrices);
    }
}
