//! Laws of carried points, between built-in heads, on which every set has exact places.

use glam::{DQuat, DVec3, Vec3};
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::Rig;
use zygoma_rig::formats::markers::{MarkerPlace, MarkerTake};

use super::points::carry_numbered;
use super::tests::{head, named};
use super::{CarriedPoints, PointError, PointSet, carry_points, point_name};

/// Points of a set on a head, as (number, vertex).
type Places = Vec<(usize, u32)>;

fn places(seed: u64, set: PointSet) -> (Rig, Places) {
    let (rig, head) = head(seed);
    let places = set.on_head(&head);
    (rig, places)
}

/// The points of a rig in a shape.
fn posed(rig: &Rig, places: &Places, shape: &str, weight: f32) -> Vec<Vec3> {
    let moved = rig.skin().shapes[named(rig, shape)].deltas.to_dense(rig.skin().positions.len());
    let at = |(_, v): &(usize, u32)| rig.skin().positions[*v as usize] + weight * moved[*v as usize];
    places.iter().map(at).collect()
}

/// A take of the points of a head, seen through some map of space.
fn seen(rig: &Rig, places: &Places, rows: &[Vec<Vec3>], map: impl Fn(usize, Vec3) -> Vec3) -> MarkerTake {
    let rest = |(number, v): &(usize, u32)| {
        (point_name(*number), MarkerPlace::At(map(0, rig.skin().positions[*v as usize])))
    };
    MarkerTake {
        name: "seen".into(),
        markers: places.iter().map(rest).collect(),
        times: (0..rows.len()).map(|row| row as f64).collect(),
        positions: (1..)
            .zip(rows)
            .map(|(row, points)| points.iter().map(|p| map(row, *p)).collect())
            .collect(),
    }
}

fn carried(take: &MarkerTake, rig: &Rig, places: &Places) -> CarriedPoints {
    let numbers: Vec<usize> = places.iter().map(|(number, _)| *number).collect();
    carry_numbered(take, &numbers, places, rig.skin()).unwrap()
}

fn worst(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f32::max)
}

fn mean(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(p, q)| p.distance(*q)).sum::<f32>() / a.len() as f32
}

#[test]
fn a_moving_head_without_expression_gives_its_motion_alone() {
    let (rig, places) = places(3, PointSet::Template);
    let rest = posed(&rig, &places, "jawOpen", 0.0);
    let motion = RigidMotion {
        rotation: DQuat::from_axis_angle(DVec3::new(0.3, 1.0, -0.2).normalize(), 0.4),
        translation: DVec3::new(0.02, -0.01, 0.05),
    };
    // Centimetres, with another axis upwards, elsewhere.
    let turn = DQuat::from_rotation_x(1.2);
    let camera = |p: DVec3| 100.0 * (turn * p) + DVec3::new(3.0, -7.0, 40.0);
    let see = |row: usize, p: Vec3| {
        let p = if row == 2 { motion.apply(p.as_dvec3()) } else { p.as_dvec3() };
        camera(p).as_vec3()
    };
    let take = seen(&rig, &places, &[rest.clone(), rest.clone()], see);
    let found = carried(&take, &rig, &places);
    for points in &found.points.positions {
        assert!(worst(points, &rest) < 2e-6, "{}", worst(points, &rest));
    }
    for p in &rest {
        let [still, moved] = [0, 1].map(|row| found.head[row].apply(p.as_dvec3()));
        assert!(still.distance(p.as_dvec3()) < 2e-6);
        assert!(moved.distance(motion.apply(p.as_dvec3())) < 5e-6);
    }
}

#[test]
fn expressions_of_another_person_fit_this_one() {
    let [(source, on), (target, onto)] = [3, 11].map(head);
    let nod = RigidMotion { rotation: DQuat::from_rotation_x(0.3), translation: DVec3::Z };
    for set in [PointSet::Template, PointSet::Standard68] {
        let [on_source, on_target] = [&on, &onto].map(|head| set.on_head(head));
        assert_eq!(on_source.len(), set.size());
        for shape in ["jawOpen", "mouthSmileLeft", "browInnerUp", "mouthPucker"] {
            let rows = [posed(&source, &on_source, shape, 1.0)];
            let take = seen(&source, &on_source, &rows, |row, p| match row {
                0 => p,
                _ => nod.apply(p.as_dvec3()).as_vec3(),
            });
            let found = carried(&take, &target, &on_target);
            let wanted = posed(&target, &on_target, shape, 1.0);
            let rest = posed(&target, &on_target, shape, 0.0);
            let (off, moved) = (mean(&found.points.positions[0], &wanted), mean(&rest, &wanted));
            let angle = found.head[0].rotation.angle_between(nod.rotation).to_degrees();
            assert!(off < 0.2 * moved + 1e-4, "{set:?} {shape}: {off} of {moved} m");
            assert!(angle < 0.15, "{set:?} {shape}: the head is {angle}° off");
        }
    }
}

#[test]
fn points_that_cannot_be_carried_are_refused_with_a_reason() {
    let (rig, places) = places(3, PointSet::Standard68);
    let take = seen(&rig, &places, &[posed(&rig, &places, "jawOpen", 1.0)], |_, p| p);
    let mut unknown = take.clone();
    unknown.markers[4].0 = "p68".into();
    let refused =
        |take: &MarkerTake| carry_points(take, PointSet::Standard68, &rig).err().unwrap().to_string();
    assert!(refused(&unknown).contains("'p68'") && refused(&unknown).contains("p0 to p67"));
    let mut by_vertex = take.clone();
    by_vertex.markers[0].1 = MarkerPlace::Vertex(0);
    assert!(refused(&by_vertex).contains("row rest"));
    let few: Vec<usize> = (0..5).collect();
    let some = MarkerTake { markers: take.markers[..5].to_vec(), ..take };
    let refused = carry_numbered(&some, &few, &places, rig.skin()).err().unwrap();
    assert!(matches!(refused, PointError::Few(5)), "{refused}");
}
