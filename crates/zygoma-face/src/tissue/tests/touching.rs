//! Fingers that press on tissue.

use zygoma_geometry::shapes;
use zygoma_physics::contact::{ColliderMesh, ColliderShape, Pose};
use zygoma_physics::projective::position;

use super::*;
use crate::contact::{ColliderId, ColliderMotion};
use crate::model::Landmarks;
use crate::model::Teeth;
use crate::shell::{RunParams, ShellBody};

const RADIUS: f32 = 0.01;

/// A landmark of the built-in head's skin, and the outward direction there.
pub(super) fn spot(name: &str) -> (Vec3, Vec3) {
    let (mesh, face) = &*FACE;
    let vertex = Landmarks::new(face).find(name).unwrap().vertex as usize;
    let normals = zygoma_geometry::normals::vertex_normals(&mesh.positions, &face.triangles);
    (mesh.positions[vertex], normals[vertex])
}

struct Finger {
    face: TissueBody,
    touch: ColliderId,
    at: Vec3,
    normal: Vec3,
    head: RigidMotion,
}

const UPRIGHT: RigidMotion = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };

impl Finger {
    fn new(place: &str, drive: ColliderMotion, head: RigidMotion) -> Self {
        let mut face = performing();
        face.set_head_pose(&head);
        face.settle();
        let (at, normal) = spot(place);
        let start = head.apply((at + (RADIUS + 0.003) * normal).as_dvec3()).as_vec3();
        let sphere = ColliderShape::Sphere { radius: RADIUS };
        let touch = face.colliders_mut().add(sphere, Pose::at(start), drive);
        Self { face, touch, at, normal, head }
    }

    fn sphere(place: &str, drive: ColliderMotion) -> Self {
        Self::new(place, drive, UPRIGHT)
    }

    /// The given depth below the skin at rest, in the world.
    fn pose(&self, depth: f32, aside: Vec3) -> Pose {
        let at = self.at + (RADIUS - depth) * self.normal + aside;
        Pose::at(self.head.apply(at.as_dvec3()).as_vec3())
    }

    fn go(&mut self, depth: f32, aside: Vec3) {
        let pose = self.pose(depth, aside);
        self.face.colliders_mut().get_mut(self.touch).unwrap().pose = pose;
    }

    /// Presses in by 6 mm and stays for a moment; returns the deepest penetration of the skin, m.
    fn press(&mut self) -> f32 {
        let mut deepest = 0.0f32;
        for frame in 1..=50 {
            self.go(-0.003 + 0.009 * (frame as f32 / 30.0).min(1.0), Vec3::ZERO);
            self.face.advance(1.0 / 60.0);
            deepest = deepest.max(self.face.penetration());
        }
        deepest
    }
}

#[test]
fn a_fingertip_presses_and_the_face_recovers() {
    for place in ["cheek-left", "lip-lower", "lip-upper", "nose-tip"] {
        let mut finger = Finger::sphere(place, ColliderMotion::Kinematic);
        let rest = finger.face.advance(1.0 / 60.0).to_vec();
        let deepest = finger.press();
        let force = finger.face.colliders().get(finger.touch).unwrap().force();
        let inverted = finger.face.volume().inverted;
        let moved = |now: &[Vec3]| now.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        let dented = moved(finger.face.advance(0.01));
        finger.face.colliders_mut().remove(finger.touch);
        let left = (0..60).map(|_| moved(finger.face.advance(1.0 / 60.0))).last().unwrap();
        println!(
            "{place}: dented by {:.2} mm, {:.2} N back, {:.3} mm inside at worst, {inverted} inside out, {:.3} mm left",
            1e3 * dented,
            force.length(),
            1e3 * deepest,
            1e3 * left
        );
        assert!(deepest < 1e-4, "{place}: {deepest} m of 6 mm inside");
        assert!(dented > 4e-3, "{place}: dented by {dented} m");
        assert!(force.dot(finger.normal) > 0.05, "{place}: the skin pushes back, {force} N");
        assert!(left < 3e-4, "{place}: {left} m are left");
        assert_eq!(inverted, 0, "{place}");
    }
}

#[test]
fn a_touch_on_a_turned_head_is_the_same_touch() {
    let surface = |head: RigidMotion| {
        let mut finger = Finger::new("cheek-left", ColliderMotion::Kinematic, head);
        finger.press();
        finger.face.advance(1.0 / 60.0).to_vec()
    };
    // About the vertical: gravity is the same.
    let turned =
        RigidMotion { rotation: DQuat::from_rotation_y(1.2), translation: DVec3::new(0.3, 1.5, -0.2) };
    let (a, b, again) = (surface(UPRIGHT), surface(turned), surface(UPRIGHT));
    assert!(a == again, "the same touch twice is the same to the last bit");
    let worst = a.iter().zip(&b).map(|(a, b)| 1e3 * a.distance(*b)).fold(0.0, f32::max);
    println!("turned: {worst:.6} mm");
    assert!(worst < 0.1, "{worst} mm");
}

#[test]
fn what_is_driven_with_a_force_is_held_by_that_force() {
    for (place, force) in [("cheek-left", 0.3), ("forehead", 0.6)] {
        let mut finger = Finger::sphere(place, ColliderMotion::Bounded { force });
        finger.go(0.03, Vec3::ZERO);
        for _ in 0..120 {
            finger.face.advance(1.0 / 60.0);
        }
        let touch = finger.face.colliders().get(finger.touch).unwrap();
        let (felt, load) = (touch.force(), finger.face.colliders().head_load());
        let depth = (finger.pose(0.0, Vec3::ZERO).translation - touch.place().translation).dot(finger.normal);
        println!("{place}: {force} N push in by {:.2} mm, {felt} N back", 1e3 * depth);
        assert!((felt.length() - force).abs() < 0.1 * force, "{place}: {felt}");
        assert!(load.force.distance(-felt) < 1e-5);
        assert!((5e-4..0.029).contains(&depth), "{place}: {depth} m");
        assert!(touch.deepest() < 1e-4, "{place}: {} m", touch.deepest());
        assert!(!finger.face.colliders().contacts().is_empty());
    }
}

#[test]
fn friction_takes_the_skin_along() {
    let dragged = |friction: f32| {
        let mut finger = Finger::sphere("cheek-left", ColliderMotion::Kinematic);
        finger.face.colliders_mut().get_mut(finger.touch).unwrap().friction = friction;
        let up = finger.normal.any_orthonormal_vector();
        finger.press();
        let before = finger.face.advance(1.0 / 60.0).to_vec();
        for frame in 1..=30 {
            finger.go(0.006, 1e-4 * frame as f32 * up);
            finger.face.advance(1.0 / 60.0);
        }
        let after = finger.face.advance(1.0 / 60.0);
        let along = before.iter().zip(after).map(|(a, b)| (*b - *a).dot(up)).fold(0.0, f32::max);
        let force = finger.face.colliders().get(finger.touch).unwrap().force();
        (1e3 * along, -force.dot(up), force.dot(finger.normal))
    };
    let ((smooth, _, _), (rough, pulled, pressed)) = (dragged(0.0), dragged(0.5));
    println!(
        "dragged by 3 mm, the skin follows by {smooth:.2} mm, with friction by {rough:.2} mm, {pulled:.3} of {pressed:.3} N"
    );
    assert!(rough > smooth + 0.5, "{rough} {smooth} mm");
    assert!((0.0..0.7 * pressed).contains(&pulled), "{pulled} N of {pressed} N");
}

/// Contacts of sliding skin are detected twice in a step, but their friction acts once.
#[test]
fn sliding_skin_feels_its_friction_once() {
    let mut finger = Finger::sphere("cheek-left", ColliderMotion::Kinematic);
    finger.face.colliders_mut().get_mut(finger.touch).unwrap().friction = 0.1;
    let aside = finger.normal.any_orthonormal_vector();
    finger.press();
    for frame in 1..=20 {
        finger.go(0.006, 5e-4 * frame as f32 * aside);
        finger.face.advance(1.0 / 60.0);
    }
    let friction = finger.face.contact.friction().as_dvec3();
    assert!(friction.length() > 0.01, "it slides: {friction} N");
    // On the upright head nothing else acts.
    let others: DVec3 = finger.face.system.forces.iter().map(position).sum();
    assert!(others.distance(friction) < 0.02 * friction.length(), "{others} N instead of {friction} N");
}

#[test]
fn held_skin_follows_the_hand_and_springs_back() {
    let mut face = performing();
    let rest = face.settle().to_vec();
    let (at, normal) = spot("cheek-left");
    let pull = face.grab(at, 0.008).unwrap();
    for frame in 1..=40 {
        face.colliders_mut().drag(pull, at + 0.008 * (frame as f32 / 30.0).min(1.0) * normal);
        face.advance(1.0 / 60.0);
    }
    let now = face.advance(1.0 / 60.0);
    let most = |now: &[Vec3]| now.iter().zip(&rest).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    let (pulled, force) = (most(now), face.colliders().grab_force(pull).unwrap());
    println!("pulled by 8 mm the skin follows by {:.2} mm, with {force} N", 1e3 * pulled);
    assert!((7e-3..9.5e-3).contains(&pulled), "{pulled} m");
    assert!(force.dot(normal) < -0.05, "{force} N");
    face.colliders_mut().release(pull);
    let left = (0..60).map(|_| most(face.advance(1.0 / 60.0))).last().unwrap();
    assert!(left < 3e-4, "{left} m are left");
}

/// Every shape of collider, and one that is fast enough to pass the lip in a step.
#[test]
fn all_shapes_press_and_fast_ones_do_not_pass() {
    let (positions, triangles) = shapes::sphere(16, 24);
    let ball = ColliderMesh::new(positions.iter().map(|p| RADIUS * *p).collect(), triangles).unwrap();
    for shape in [
        ColliderShape::Sphere { radius: RADIUS },
        ColliderShape::Capsule { half_length: 0.02, radius: RADIUS },
        ColliderShape::RoundedBox { half_extents: Vec3::splat(0.006), radius: 0.004 },
        ColliderShape::Mesh(Box::new(ball)),
    ] {
        let mut face = performing();
        face.settle();
        let (at, normal) = spot("cheek-left");
        let place = |depth: f32| Pose::at(at + (RADIUS - depth) * normal);
        let touch = face.colliders_mut().add(shape.clone(), place(-0.02), ColliderMotion::Kinematic);
        // 1.5 m/s.
        face.advance(1.0 / 60.0);
        face.colliders_mut().get_mut(touch).unwrap().pose = place(0.005);
        for _ in 0..20 {
            face.advance(1.0 / 60.0);
        }
        let (inside, force) = (face.penetration(), face.colliders().get(touch).unwrap().force());
        println!("{:?}: {:.3} mm inside, {force} N", std::mem::discriminant(&shape), 1e3 * inside);
        assert!(inside < 1e-4, "{inside} m");
        assert!(force.dot(normal) > 0.05, "{force} N");
    }
}

/// Moves a ball straight through the jaw, from right to left in 0.2 s, and waits for 1 s: how far it pushes the skin on the side that it
/// comes from, how far it drags the skin on the other side, and how far that is from rest at the end, m. `show` advances a body and
/// returns its skin.
fn cross_jaw<B: Body + Touchable>(body: &mut B, show: impl Fn(&mut B) -> Vec<Vec3>) -> [f32; 3] {
    let (at, _) = spot("jaw-right");
    let place = |x: f32| Pose::at(Vec3::new(x, at.y + 0.01, at.z + 0.01));
    let rest = show(body);
    let touch = body.colliders_mut().add(
        ColliderShape::Sphere { radius: RADIUS },
        place(-0.1),
        ColliderMotion::Kinematic,
    );
    let farthest = |now: &[Vec3], side: f32| {
        let own = now.iter().zip(&rest).filter(|(_, rest)| side * rest.x > 0.0);
        own.map(|(now, rest)| now.distance(*rest)).fold(0.0, f32::max)
    };
    let [mut near, mut far] = [0.0f32; 2];
    for frame in 1..=12 {
        body.colliders_mut().get_mut(touch).unwrap().pose = place(-0.1 + 0.2 * frame as f32 / 12.0);
        let now = show(body);
        (near, far) = (near.max(farthest(&now, -1.0)), far.max(farthest(&now, 1.0)));
    }
    assert!(!body.colliders().get(touch).unwrap().is_through(), "it has come out");
    let left = (0..60).map(|_| show(body)).last().unwrap();
    [near, far, farthest(&left, -1.0).max(farthest(&left, 1.0))]
}

#[test]
fn a_ball_through_the_jaw_pushes_from_the_side_that_it_comes_from() {
    let mut shell = ShellBody::new(&FACE.1, RunParams::default().awake()).unwrap();
    let mut tissue = performing();
    tissue.settle();
    let crossed = [
        cross_jaw(&mut shell, |shell| shell.advance(1.0 / 60.0).positions.to_vec()),
        cross_jaw(&mut tissue, |tissue| tissue.advance(1.0 / 60.0).to_vec()),
    ];
    for (body, [near, far, left]) in ["shell", "tissue"].iter().zip(crossed) {
        println!("{body}: {:.2} mm near, {:.2} mm far, {:.3} mm left", 1e3 * near, 1e3 * far, 1e3 * left);
        assert!(near > 4e-3 && near < 0.035, "{body}: the skin that it comes to is pushed by {near} m");
        // Skin in the middle follows in part; a ball that caught the other side from within would drag it along with itself.
        assert!(far < 0.25 * near, "{body}: the skin on the other side is dragged by {far} m");
        assert!(left < 1e-3, "{body}: {left} m are left");
    }
}

/// New teeth replace the earlier ones, whose constraints would otherwise stay for ever.
#[test]
fn other_teeth_replace_those_before() {
    let rig = Head::new(&HeadOptions::default()).rig();
    let mut finger = Finger::sphere("lip-lower", ColliderMotion::Bounded { force: 2.0 });
    finger.face.set_teeth(Teeth::of_rig(&rig).unwrap());
    finger.go(0.02, Vec3::ZERO);
    for _ in 0..60 {
        finger.face.advance(1.0 / 60.0);
    }
    assert!(finger.face.teeth().contacts > 0, "the lip is pressed against the teeth");
    finger.face.set_teeth(Teeth::of_rig(&rig).unwrap());
    finger.face.contact.clear(&mut finger.face.system);
    assert!(finger.face.system.transient_rows().is_empty(), "nothing is left of the old ones");
}

/// Where a finger presses the lips in, teeth hold them up; the lips of the plain rig and of tissue without teeth penetrate the teeth.
#[test]
fn lips_do_not_pass_into_the_teeth() {
    let rig = Head::new(&HeadOptions::default()).rig();
    let deepest = |force: f32, with_teeth: bool| {
        let mut finger = Finger::sphere("lip-lower", ColliderMotion::Bounded { force });
        if with_teeth {
            finger.face.set_teeth(Teeth::of_rig(&rig).unwrap());
        }
        finger.go(0.02, Vec3::ZERO);
        let mut worst = 0.0f32;
        for _ in 0..90 {
            finger.face.advance(1.0 / 60.0);
            worst = worst.max(finger.face.teeth().penetration);
        }
        let touch = finger.face.colliders().get(finger.touch).unwrap();
        let depth = (finger.pose(0.0, Vec3::ZERO).translation - touch.place().translation).dot(finger.normal);
        let teeth = Teeth::of_rig(&rig).unwrap();
        let weights = weights_of(&[]);
        let surface = finger.face.advance(1.0 / 60.0);
        let inside = |v: &u32| {
            let rest = teeth.depth(&weights, &UPRIGHT, FACE.0.positions[*v as usize]) > 0.0;
            if rest { 0.0 } else { teeth.depth(&weights, &UPRIGHT, surface[*v as usize]) }
        };
        let lips = FACE.1.skin.iter().filter(|v| surface[**v as usize].distance(finger.at) < 0.025);
        (depth, worst, lips.map(inside).fold(0.0, f32::max), finger.face.volume().inverted)
    };
    let mut found = Vec::new();
    // Tissue without tone yields to 2 N as much as to a press of 12 mm: more than that jams the lip between finger and teeth.
    for force in [0.5, 1.0, 2.0] {
        let ((free, _, into, _), (held, worst, left, inverted)) =
            (deepest(force, false), deepest(force, true));
        println!(
            "{force} N push the lip in by {:.1} mm and {:.2} mm into the teeth; with teeth by {:.1} mm, {:.3} mm ({:.3} mm on the way) into them, {inverted} inside out",
            1e3 * free,
            1e3 * into,
            1e3 * held,
            1e3 * left,
            1e3 * worst
        );
        found.push((into, left));
    }
    assert!(found.iter().any(|(into, _)| *into > 1e-3), "without teeth the lip gets into them: {found:?}");
    assert!(found.iter().all(|(_, left)| *left < 3e-4), "{found:?}");
}

/// Teeth that stand before the lips, or in them, at rest: they must not push the rig's own face away, however it moves.
#[test]
fn teeth_before_the_lips_never_push_against_the_rig() {
    let mut rig = Head::new(&HeadOptions::default()).rig();
    for mesh in rig.meshes.iter_mut().filter(|mesh| mesh.name.contains("teeth")) {
        mesh.positions.iter_mut().for_each(|p| p.z += 0.012);
    }
    let teeth = Teeth::of_rig(&rig).unwrap();
    let inside = |v: &&u32| teeth.depth(&weights_of(&[]), &UPRIGHT, FACE.0.positions[**v as usize]) > 1e-3;
    assert!(FACE.1.skin.iter().filter(inside).count() > 20, "they stand in the lips");
    let mut faces = [performing(), performing()];
    faces[1].set_teeth(teeth);
    faces.iter_mut().for_each(|face| _ = face.settle());
    let mut most = 0.0_f32;
    for frame in 0..60 {
        let fraction = (frame as f32 / 10.0).sin().abs();
        let weights = weights_of(&[
            ("jawOpen", 0.6 * fraction),
            ("mouthRollLower", 1.0 - fraction),
            ("mouthPucker", 0.5),
        ]);
        let [free, held] = faces.each_mut().map(|face| {
            face.set_weights(&weights);
            face.run(1.0 / 60.0);
            face.show(0.0).to_vec()
        });
        // Teeth may hold back skin that lags behind, but nothing is farther from the rig because of them.
        let rig = plain(&weights);
        let farther = |v: &u32| {
            let [free, held] = [&free, &held].map(|now| now[*v as usize].distance(rig[*v as usize]));
            1e3 * (held - free)
        };
        most = FACE.1.skin.iter().map(farther).fold(most, f32::max);
    }
    println!("teeth before the lips take the face up to {most:.3} mm farther from the rig");
    assert!(most < 0.3, "{most} mm");
}
