//! A face as users have it, with fitted and certified stiffness: touched, holding its shapes, performing, and in long use.

mod finger;

use std::sync::LazyLock;

use glam::Vec3;
use rayon::prelude::*;
use zygoma_face::body::Touchable;
use zygoma_face::contact::ColliderMotion;
use zygoma_face::model::Continue;
use zygoma_face::model::FaceModel;
use zygoma_face::shell::FittedShell;
use zygoma_face::shell::{BuildInput, BuildParams, RunParams, ShellBody, build_with_report, take_poses};
use zygoma_head::{Head, HeadOptions, Level};
use zygoma_numerics::random::Keyed;
use zygoma_physics::contact::{ColliderShape, Pose};
use zygoma_rig::Rig;
use zygoma_rig::binding::Binding;
use zygoma_rig::evaluate::Evaluator;

use finger::Finger;

/// A rig and its face.
struct Fitted {
    rig: Rig,
    face: FaceModel,
    shell: FittedShell,
}

/// Built once for all tests. Each test requests it on its own thread first: a pool thread that waited for it could not help to build it.
static HEAD: LazyLock<Fitted> = LazyLock::new(|| {
    let rig = Head::new(&HeadOptions::sampled(0, Level::Low)).rig();
    let params = BuildParams { triangles: 800, combinations: 20, ..BuildParams::default() };
    let poses = take_poses(&rig, &rig.takes);
    let input = BuildInput { name: &rig.name, mesh: rig.skin(), poses: &poses };
    let (face, _) = build_with_report(&input, &params, &mut |_| Continue::Yes).expect("it can be built");
    Fitted { rig, shell: FittedShell::of(&face).expect("it was fitted"), face }
});

impl Fitted {
    fn running(&self) -> ShellBody {
        ShellBody::new(&self.face, RunParams::default().awake()).expect("it can run")
    }

    /// The worst distance between two surfaces, in heights.
    fn worst(&self, a: &[Vec3], b: &[Vec3]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max) / self.face.height as f32
    }

    fn plain(&self, weights: &[f32]) -> Vec<Vec3> {
        let mut positions = vec![Vec3::ZERO; self.face.vertex_count()];
        Evaluator::new(self.rig.skin()).evaluate(weights, &mut positions);
        positions
    }
}

#[test]
fn it_is_certified_on_the_shell_and_as_it_is_shown() {
    let certified = HEAD.shell.certified.as_ref().expect("it was fitted");
    assert!(certified.holds(), "{certified:?}");
    let output = certified.output.expect("it is corrected");
    assert_eq!((output.shapes.count, output.combinations.count), (certified.shapes.count, 20));
    // Single shapes are corrected: the remaining error is the part that corrections leave out.
    assert!(output.shapes.worst.is_some_and(|worst| worst < 0.05), "{output:?}");
    let searched = certified.searched.as_ref().expect("worse combinations were searched for");
    assert!(searched.tally.worst > certified.combinations.worst, "{certified:?}");
}

#[test]
fn what_runs_comes_to_rest_where_it_was_certified() {
    let output = HEAD.shell.certified.as_ref().and_then(|c| c.output).expect("it was certified");
    let poses = take_poses(&HEAD.rig, &HEAD.rig.takes);
    let promised = output.combinations.worst.expect("all found an equilibrium") as f32;
    poses[..20].par_iter().step_by(4).for_each(|weights| {
        let mut running = HEAD.running();
        running.set_weights(weights);
        for _ in 0..100 {
            running.advance(0.01);
        }
        let miss = HEAD.worst(running.advance(0.01).positions, &HEAD.plain(weights));
        let promised = (promised + 0.02) * HEAD.shell.params.tolerance as f32;
        assert!(miss <= promised, "{miss} of {promised} heights");
    });
}

#[test]
fn fingers_do_not_sink_in_and_the_skin_comes_back() {
    LazyLock::force(&HEAD);
    let places = ["cheek-left", "nose-tip", "lip-upper", "lip-lower", "forehead", "ear-left"];
    places.par_iter().for_each(|place| {
        let (deepest, left) = Finger::new(&HEAD.face, place).press();
        assert!(deepest < 0.006, "{place}: sank in by {deepest} heights");
        assert!(left < 5e-4, "{place}: {left} heights are left");
    });
}

/// Depth to which the same force pushes a fingertip. A much lighter one is held by the actuation alone, which is the same everywhere.
#[test]
fn the_cheek_is_softer_than_the_forehead() {
    let [cheek, forehead] = ["cheek-left", "forehead"].map(|place| Finger::new(&HEAD.face, place).push(0.3));
    assert!(cheek > 3.0 * forehead, "cheek {cheek} m, forehead {forehead} m");
}

#[test]
fn held_shapes_are_the_artists_own() {
    let count = HEAD.rig.skin().shapes.len();
    (0..count).into_par_iter().for_each(|shape| {
        for (weight, limit) in [(1.0, 3e-4), (0.5, 1e-3)] {
            let mut weights = vec![0.0; count];
            weights[shape] = weight;
            let mut running = HEAD.running();
            running.advance(0.0);
            running.set_weights(&weights);
            for _ in 0..100 {
                running.advance(0.01);
            }
            let off = HEAD.worst(running.advance(0.01).positions, &HEAD.plain(&weights));
            assert!(off < limit, "{} at {weight}: {off} heights", HEAD.face.shapes[shape].name);
        }
    });
}

/// In motion the skin lags behind, but by less than the tolerance.
#[test]
fn it_performs_the_tour() {
    let tour = HEAD.rig.takes.iter().find(|take| take.name == "tour").expect("a tour");
    let (binding, evaluator) = (Binding::new(&HEAD.rig, tour), Evaluator::new(HEAD.rig.skin()));
    let mut running = HEAD.running();
    let mut weights = vec![0.0; HEAD.face.shapes.len()];
    let mut plain = vec![Vec3::ZERO; HEAD.face.vertex_count()];
    let mut largest = 0.0f32;
    for frame in 0..tour.frame_count(60.0) {
        let time = tour.start() + frame as f64 / 60.0;
        binding.weights_at(tour, HEAD.rig.skin, time, &mut weights);
        running.set_weights(&weights);
        let shown = running.advance(1.0 / 60.0).positions;
        evaluator.evaluate(&weights, &mut plain);
        largest = largest.max(HEAD.worst(shown, &plain));
    }
    assert!(largest < HEAD.shell.params.tolerance as f32, "{largest} heights");
    assert!(largest > 5e-4, "a simulated face lags behind: {largest} heights");
}

/// Half a minute of speech while fingers press at random: nothing is left of it afterwards.
#[test]
fn long_use_leaves_nothing_behind() {
    let speech = HEAD.rig.takes.iter().find(|take| take.name == "speech").expect("speech");
    let binding = Binding::new(&HEAD.rig, speech);
    let random = Keyed::new(7, 1);
    let mut running = HEAD.running();
    let rest = running.advance(0.0).positions.to_vec();
    let sphere = ColliderShape::Sphere { radius: 0.01 };
    let away = Pose::at(Vec3::Z);
    let touch = running.colliders_mut().add(sphere, away, ColliderMotion::Bounded { force: 1.0 });
    let mut weights = vec![0.0; HEAD.face.shapes.len()];
    for frame in 0..1800u64 {
        let time = speech.start() + (frame as f64 / 60.0) % speech.duration();
        binding.weights_at(speech, HEAD.rig.skin, time, &mut weights);
        running.set_weights(&weights);
        let skin = &HEAD.face.skin;
        let pressed = skin[(random.uniform(frame / 30) * skin.len() as f64) as usize] as usize;
        running.colliders_mut().get_mut(touch).expect("it is there").pose = Pose::at(rest[pressed]);
        let shown = running.advance(1.0 / 60.0).positions;
        assert!(HEAD.worst(shown, &rest) < 0.6, "frame {frame}");
    }
    running.colliders_mut().remove(touch);
    running.set_weights(&[]);
    for _ in 0..120 {
        running.advance(1.0 / 60.0);
    }
    let left = HEAD.worst(running.advance(0.0).positions, &rest);
    assert!(left < 5e-4, "{left} heights are left");
    assert!(running.top_speed() < 1e-3, "{} heights per second", running.top_speed());
}

/// An ear that is dragged aside bends as one piece, and springs back.
#[test]
fn an_ear_bends_and_springs_back() {
    let mut running = HEAD.running();
    let rest = running.advance(0.0).positions.to_vec();
    let places = zygoma_face::model::Landmarks::new(&HEAD.face);
    let ear = places.find("ear-left").expect("every head has ears");
    let at = rest[ear.vertex as usize];
    let pull = running.grab(at, ear.radius).expect("it can be pulled");
    for frame in 1..=60 {
        let away = 0.015 * (frame as f32 / 30.0).min(1.0);
        running.colliders_mut().drag(pull, at + away * Vec3::Z);
        running.advance(1.0 / 60.0);
    }
    let bent = running.advance(0.0).positions.to_vec();
    let moved = bent[ear.vertex as usize].distance(at);
    assert!(moved > 0.005, "the ear moved by {moved} m");
    let near = |t: &&[u32; 3]| t.iter().all(|v| rest[*v as usize].distance(at) < ear.radius);
    let normal = |positions: &[Vec3], t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize]);
        (b - a).cross(c - a)
    };
    let ears: Vec<&[u32; 3]> = HEAD.face.triangles.iter().filter(near).collect();
    let turned = ears.iter().filter(|t| normal(&rest, t).dot(normal(&bent, t)) < 0.0).count();
    assert!(turned * 50 < ears.len(), "{turned} of {} triangles are turned over", ears.len());
    running.colliders_mut().release(pull);
    for _ in 0..90 {
        running.advance(1.0 / 60.0);
    }
    let left = HEAD.worst(running.advance(0.0).positions, &rest);
    assert!(left < 5e-4, "{left} heights are left");
}
