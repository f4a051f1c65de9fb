//! Laws of the anatomy: bones under the skin, no inverted element, both sides alike, the mouth open.

use glam::DVec3;
use zygoma_geometry::topology::EdgeCounts;
use zygoma_head::anatomy::{Anatomy, FillDetail, Tie, checks};
use zygoma_head::dials::DIALS;
use zygoma_head::{Head, HeadOptions, Level};

const MILLIMETRE: f64 = 1e-3;

fn head(seed: u64) -> (Head, Anatomy) {
    let head = Head::new(&HeadOptions::sampled(seed, Level::High));
    let anatomy = Anatomy::new(&head);
    (head, anatomy)
}

#[test]
fn surfaces_are_closed_and_wraps_share_their_triangles() {
    let (_, anatomy) = head(0);
    let bones = [&anatomy.cranium.surface, &anatomy.mandible.surface];
    for surface in bones.into_iter().chain([&anatomy.skin_wrap]) {
        let edges = EdgeCounts::new(&surface.triangles);
        assert!(edges.border().is_empty() && edges.non_manifold().is_empty());
    }
    assert_eq!(anatomy.skin_wrap.triangles, anatomy.muscle_wrap.triangles);
    assert_eq!(anatomy.skin_wrap.triangles, anatomy.skull_wrap.triangles);
    assert!((4000..=8000).contains(&anatomy.skin_wrap.positions.len()));
    assert_eq!(anatomy.soft_tissue.tets.len(), 3 * anatomy.skin_wrap.triangles.len());
}

#[test]
fn wraps_enclose_each_other_skin_and_bone() {
    let (head, anatomy) = head(0);
    assert!(checks::wrap_gaps(&anatomy).into_iter().all(|gap| gap > MILLIMETRE));
    assert!(checks::sticks_out(&anatomy.cranium.surface.positions, &anatomy.skull_wrap) < 0.5 * MILLIMETRE);
    assert!(checks::sticks_out(&anatomy.mandible.surface.positions, &anatomy.skull_wrap) < 0.5 * MILLIMETRE);
    assert!(checks::sticks_out(&head.skin.positions, &anatomy.skin_wrap) < 0.5 * MILLIMETRE);
}

#[test]
fn nothing_is_inverted_and_both_sides_are_alike_on_sampled_heads() {
    for seed in 0..8 {
        let head = Head::new(&HeadOptions::sampled(seed, Level::High));
        let detail = FillDetail::STORED[seed as usize % 2];
        let anatomy = Anatomy::filled(&head, detail);
        assert_eq!(checks::inverted(&anatomy), checks::Inverted::default(), "seed {seed}, {detail:?}");
        assert!(checks::asymmetry(&anatomy) < 1e-6);
    }
}

#[test]
fn bones_lie_under_the_skin_in_every_shape() {
    for seed in [0, 3] {
        let (head, anatomy) = head(seed);
        for cover in checks::covers(&head, &anatomy, true) {
            assert!(cover.bone >= MILLIMETRE, "seed {seed}: {cover:?}");
            assert!(cover.ridge >= MILLIMETRE, "seed {seed}: {cover:?}");
            assert!(cover.ridge_to_lips >= 0.5 * MILLIMETRE, "seed {seed}: {cover:?}");
        }
    }
}

#[test]
fn the_fill_leaves_the_mouth_open_and_is_tied_to_both_bones() {
    let head = Head::new(&HeadOptions::default());
    for (detail, nodes) in [(FillDetail::Coarse, 8000..10_000), (FillDetail::Fine, 24_000..28_000)] {
        assert_eq!(checks::across_the_slit(detail), 0);
        let anatomy = Anatomy::filled(&head, detail);
        assert!(nodes.contains(&anatomy.fill.positions.len()), "{}", anatomy.fill.positions.len());
        for tie in [Tie::Flesh, Tie::Skin, Tie::Cranium, Tie::Mandible, Tie::Neck] {
            let count = anatomy.fill_ties.iter().filter(|t| **t == tie).count();
            assert!(count > 50, "{detail:?} {tie:?}: {count}");
        }
    }
}

#[test]
fn the_same_head_has_the_same_anatomy_to_the_last_bit() {
    let ((_, a), (_, b)) = (head(5), head(5));
    assert_eq!(a.fill, b.fill);
    assert_eq!(a.cranium, b.cranium);
    assert_eq!(a.muscle, b.muscle);
}

#[test]
fn soft_dials_move_skin_but_neither_bones_nor_teeth() {
    let made = |dial: &str, value: f64| {
        let mut options = HeadOptions { level: Level::High, ..HeadOptions::default() };
        options.dials.set(dial, value).expect("the dial exists");
        let head = Head::new(&options);
        let anatomy = Anatomy::new(&head);
        (head, anatomy)
    };
    let (plain_head, plain) = head(0);
    let largest = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
    let soft = DIALS.iter().filter(|dial| dial.soft).map(|dial| dial.name);
    for (dial, value) in soft.flat_map(|dial| [(dial, -1.0), (dial, 1.0)]) {
        let (other_head, other) = made(dial, value);
        for (a, b) in [(&plain.cranium, &other.cranium), (&plain.mandible, &other.mandible)] {
            let moved = largest(&a.surface.positions, &b.surface.positions);
            assert!(moved < 0.1 * MILLIMETRE, "{dial} {value} moves bone by {moved} m");
        }
        for (a, b) in
            plain_head.parts.iter().zip(&other_head.parts).filter(|(a, _)| a.name.starts_with("teeth"))
        {
            assert_eq!(a.positions, b.positions, "{dial} {value}: {}", a.name);
        }
        assert!(largest(&plain_head.skin.positions, &other_head.skin.positions) > 2.0 * MILLIMETRE);
        assert_eq!(checks::inverted(&other), checks::Inverted::default(), "{dial} {value}");
        assert!(checks::asymmetry(&other) < 1e-6);
        assert!(checks::wrap_gaps(&other).into_iter().all(|gap| gap > 0.5 * MILLIMETRE), "{dial} {value}");
    }
}
