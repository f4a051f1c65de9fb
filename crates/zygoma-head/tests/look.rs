//! The laws of brows, hair, eyes and texture.

use glam::DVec3;
use zygoma_geometry::closest::{SurfacePoint, TriangleTree};
use zygoma_head::{Hair, Head, HeadMesh, HeadOptions, Level, checks};

/// Vertices of one brow hair, the first three of which are its root.
const BROW_HAIR: usize = 10;

fn head(seed: u64, hair: Hair, level: Level) -> Head {
    Head::new(&HeadOptions { hair: Some(hair), ..HeadOptions::sampled(seed, level) })
}

fn part<'a>(head: &'a Head, name: &str) -> &'a HeadMesh {
    head.parts.iter().find(|part| part.name == name).expect("the part exists")
}

fn mirrored(p: DVec3) -> DVec3 {
    DVec3::new(-p.x, p.y, p.z)
}

#[test]
fn brow_hairs_stay_rooted_in_every_shape() {
    for seed in [0, 3] {
        let head = head(seed, Hair::Bald, Level::High);
        let brows = part(&head, "brows_left");
        assert_eq!(brows.positions.len() % BROW_HAIR, 0);
        let triangles = &head.skin.triangles;
        for (name, _) in &head.skin.shapes {
            let pose = [(&name[..], 1.0)];
            let skin = checks::posed_skin(&head, &pose);
            let tree = TriangleTree::new(&skin, triangles);
            for hair in checks::posed(brows, &pose).chunks(BROW_HAIR) {
                let root = hair[..3].iter().sum::<DVec3>() / 3.0;
                let near = tree.closest(&skin, triangles, root, f64::INFINITY).expect("there is skin");
                let off = SurfacePoint::from(near).interpolate(triangles, &skin).distance(root);
                assert!(off < 3e-4, "seed {seed}, {name}: a root is {off} m off the skin");
                let length = hair[9].distance(root);
                assert!((0.001..0.013).contains(&length), "seed {seed}, {name}: a hair is {length} m long");
            }
        }
    }
}

#[test]
fn brows_follow_the_shapes_that_move_them() {
    let head = head(0, Hair::Bald, Level::High);
    let brows = part(&head, "brows_left");
    let largest = |name: &str| {
        let shape = brows.shapes.iter().find(|(shape, _)| shape == name);
        shape.map_or(0.0, |(_, offsets)| offsets.iter().map(|o| o.length()).fold(0.0, f64::max))
    };
    for name in ["browInnerUp", "browDownLeft", "browOuterUpLeft"] {
        assert!(largest(name) > 0.002, "{name} moves brows by {} m", largest(name));
    }
    assert!(largest("mouthPucker") < 2e-4);
}

#[test]
fn parts_of_both_sides_are_mirror_images() {
    let head = head(5, Hair::Short, Level::Low);
    for name in ["brows", "lashes", "caruncle"] {
        let [left, right] = ["left", "right"].map(|side| part(&head, &format!("{name}_{side}")));
        assert_eq!(left.positions.len(), right.positions.len());
        for (a, b) in left.positions.iter().zip(&right.positions) {
            assert!(a.distance(mirrored(*b)) < 1e-9, "{name}");
        }
        assert!(!left.shapes.is_empty());
        for (shape, offsets) in &left.shapes {
            // The other side's shape of the same name, with left and right exchanged.
            let other = match (shape.contains("Left"), shape.contains("Right")) {
                (true, _) => shape.replace("Left", "Right"),
                (_, true) => shape.replace("Right", "Left"),
                _ => shape.clone(),
            };
            let (_, others) = right.shapes.iter().find(|(name, _)| *name == other).expect("the shape exists");
            for (a, b) in offsets.iter().zip(others) {
                assert!(a.distance(mirrored(*b)) < 1e-9, "{name}, {shape}");
            }
        }
    }
}

#[test]
fn hair_hangs_neither_before_the_eyes_nor_before_the_mouth() {
    for style in Hair::ALL {
        for seed in [0, 2, 7, 11] {
            let head = head(seed, style, Level::Low);
            let mark = |i: usize| head.skin.positions[head.places.landmarks[i] as usize];
            let Some(hair) = head.parts.iter().find(|part| part.name == "hair") else {
                assert_eq!(style, Hair::Bald);
                continue;
            };
            let outer = mark(45);
            for p in &hair.positions {
                let before = p.x.abs() < outer.x + 0.004 && p.y < mark(24).y && p.y > mark(8).y;
                let hidden = before && p.z > outer.z - 0.005;
                assert!(!hidden, "{style:?}, seed {seed}: hair at {p} m");
            }
        }
    }
}

#[test]
fn hair_covers_the_scalp_within_its_budget() {
    for style in [Hair::Short, Hair::Long, Hair::Tied] {
        let head = head(0, style, Level::High);
        let hair = part(&head, "hair");
        assert!((4_000..=9_000).contains(&hair.positions.len()), "{style:?}: {}", hair.positions.len());
        assert!(hair.shapes.is_empty());
        let tree = TriangleTree::new(&hair.positions, &hair.triangles);
        let scalp = head.places.regions.iter().find(|region| region.name == "scalp").unwrap();
        let top = scalp.vertices.iter().map(|v| head.skin.positions[*v as usize]).filter(|p| p.y > 0.1);
        for p in top {
            assert!(
                tree.closest(&hair.positions, &hair.triangles, p, 0.012).is_some(),
                "{style:?}: {p} is bare"
            );
        }
    }
    let bald = head(0, Hair::Bald, Level::Low);
    assert!(bald.parts.iter().all(|part| part.name != "hair"));
    assert!(part(&bald, "brows_left").positions.len() <= 220 * BROW_HAIR);
}

#[test]
fn hair_on_the_head_faces_outwards() {
    for style in [Hair::Short, Hair::Long, Hair::Tied] {
        let head = head(0, style, Level::Low);
        let hair = part(&head, "hair");
        let (mut outwards, mut whole) = (0.0, 0.0);
        for t in &hair.triangles {
            let [a, b, c] = t.map(|v| hair.positions[v as usize]);
            let normal = (b - a).cross(c - a);
            let from_middle = (a + b + c) / 3.0 - DVec3::new(0.0, 0.054, -0.01);
            // Not the tail, whose strands can be seen from all around.
            if from_middle.y > 0.0 && from_middle.length() < 0.115 && from_middle.z > -0.08 {
                whole += normal.length();
                outwards += if normal.dot(from_middle) > 0.0 { normal.length() } else { 0.0 };
            }
        }
        assert!(outwards > 0.95 * whole, "{style:?}: {outwards} of {whole}");
    }
}

#[test]
fn the_iris_is_set_back_and_the_eyeball_stays_within_its_radius() {
    for seed in [0, 6] {
        let head = head(seed, Hair::Bald, Level::Low);
        let (centre, radius) = (head.warp.left_eye().centre / 1000.0, head.eye_radius());
        let eye = part(&head, "eye_left");
        let away = eye.positions.iter().map(|p| p.distance(centre));
        assert!(away.fold(0.0, f64::max) < radius + 1e-6);
        let front = eye.positions.iter().filter(|p| (**p - centre).normalize().z > 0.97);
        let deepest = front.map(|p| radius - p.distance(centre)).fold(0.0, f64::max);
        assert!((3e-4..2e-3).contains(&deepest), "the iris is {deepest} m deep");
    }
}

#[test]
fn people_with_the_same_colours_have_different_skin() {
    let textured = |seed: u64| {
        let mut options = HeadOptions { hair: Some(Hair::Short), ..HeadOptions::sampled(seed, Level::Low) };
        for dial in ["skin_tone", "hair_tone", "eye_tone"] {
            options.dials.set(dial, 0.0).unwrap();
        }
        Head::new(&options).texture()
    };
    let [a, b] = [textured(3), textured(4)];
    assert_eq!(a.size, 2048);
    let differ = a.pixels.iter().zip(&b.pixels).filter(|(a, b)| a != b).count();
    assert!(differ > a.pixels.len() / 50, "only {differ} pixels differ");
    assert_eq!(textured(3), a);
}

#[test]
fn seeds_have_all_styles_and_the_sculpted_head_has_short_hair() {
    assert_eq!(Hair::sampled(0), Hair::Short);
    for style in Hair::ALL {
        assert!((1..40).any(|seed| Hair::sampled(seed) == style), "{style:?}");
    }
}
