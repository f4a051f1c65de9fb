use super::tests::{difference, euler, sample};
use super::*;
use crate::random::Keyed;

fn changed(f: &Mat3<f64>, tick: u64, size: f64) -> Mat3<f64> {
    let stream = Keyed::new(9, tick);
    [0, 1, 2].map(|c| [0, 1, 2].map(|r| f[c][r] + size * stream.normal((3 * c + r) as u64)))
}

#[test]
fn expansions_are_of_first_order() {
    // Halving the change must quarter the error.
    for tick in 0..100 {
        let f = sample(tick, Some([1.6, 1.1, 0.5]));
        let svd = svd3(&f);
        let errors = [1e-3, 5e-4].map(|size| {
            let g = changed(&f, tick, size);
            let about = Expansion::new(svd).at(&g);
            let rotation = RotationExpansion::new(svd).at(&g);
            [difference(&about.with_values(about.d), &g), difference(&rotation, &svd3(&g).rotation())]
        });
        for k in 0..2 {
            assert!(errors[0][k] < 1e-4, "{errors:?}");
            let ratio = errors[0][k] / errors[1][k];
            assert!((3.5..4.6).contains(&ratio) || errors[0][k] < 1e-8, "{k}: {ratio} {errors:?}");
        }
    }
}

#[test]
fn bounds_hold() {
    for tick in 0..300 {
        let f = sample(tick, None);
        let g = changed(&f, tick, 1e-7);
        let moved = difference(&f, &g);
        let svd = svd3(&f);
        let turned = difference(&svd.rotation(), &svd3(&g).rotation()) / std::f64::consts::SQRT_2;
        assert!(turned <= 1.01 * RotationExpansion::new(svd).bound().max(1e-9) * moved + 1e-12);
        let expansion = Expansion::new(svd);
        let about = expansion.at(&g);
        let angle = difference(&about.u, &svd.u) / std::f64::consts::SQRT_2;
        assert!(angle <= 1.01 * expansion.bound() * moved + 1e-12, "{angle} {}", expansion.bound() * moved);
    }
}

#[test]
fn a_rotation_hardly_strained_is_still_well_conditioned() {
    // At 2 % strain, where the angles of U and V swing but U Vᵀ does not.
    let svd = svd3(&sample(1, Some([1.02, 1.0, 0.99])));
    assert!(Expansion::new(svd).bound() > 50.0 * RotationExpansion::new(svd).bound());
    assert!(RotationExpansion::new(svd).bound() < 0.75);
}

fn batches(tick: u64, size: f64) -> Vec<Mat3x16> {
    let mut batches = vec![[[[0.0; LANES]; 3]; 3]; 20];
    for (i, batch) in batches.iter_mut().enumerate() {
        for lane in 0..LANES {
            let name = (LANES * i + lane) as u64;
            let d = [0, 1, 2].map(|k| 1.2 - 0.2 * k as f64 + 0.05 * Keyed::new(4, name).uniform(k));
            let turn = euler([0, 1, 2].map(|k| size * Keyed::new(tick, name).normal(k)));
            let f = super::matrix::product(&turn, &sample(name, Some(d)));
            store_matrix_lane(&f.map(|column| column.map(|x| x as f32)), batch, lane);
        }
    }
    batches
}

#[test]
fn memos_stay_within_their_thresholds_of_the_truth() {
    let start = batches(0, 0.0);
    for kept in [Kept::Decomposition, Kept::Rotation] {
        let mut memo = Memo::new(kept, &start);
        let mut svds = memo.decompositions().to_vec();
        let mut rotations: Vec<Mat3x16> = svds.iter().map(rotation_of).collect();
        for (round, size) in [(1, 1e-2), (2, 3e-3), (3, 1e-3)] {
            let now = batches(round, size);
            let thresholds = Thresholds { keep: 2e-2, approximate: 1e-1 };
            let counts = match kept {
                Kept::Decomposition => {
                    let counts = memo.update(&now, thresholds, &mut svds);
                    rotations = svds.iter().map(rotation_of).collect();
                    counts
                }
                Kept::Rotation => memo.update_rotations(&now, thresholds, &mut rotations),
            };
            assert_eq!(counts.kept + counts.approximated + counts.computed, 20);
            let mut exact = svds.clone();
            svd3_batch(&now, &mut exact);
            for (rotation, exact) in rotations.iter().zip(&exact) {
                for lane in 0..LANES {
                    let [a, b] = [load_lane(rotation, lane), load_lane(&rotation_of(exact), lane)];
                    let off = difference(&super::tests::to_f64(&a), &super::tests::to_f64(&b));
                    assert!(off < 2e-2 * std::f64::consts::SQRT_2, "{kept:?} {round}: {off}");
                }
            }
        }
    }
}

#[test]
fn memos_let_go_of_rotations_that_nothing_determined() {
    let diagonal = |d: [f32; 3]| {
        let mut batch = [[[0.0; LANES]; 3]; 3];
        (0..3).for_each(|k| batch[k][k] = [d[k]; LANES]);
        [batch]
    };
    // A line, a point, and a mirrored disc: any rotation about an axis is as near as any other.
    for start in [[1.0, 0.0, 0.0], [0.0; 3], [1.5, 0.5, -0.5]] {
        let (before, now) = (diagonal(start), diagonal([1.0; 3]));
        let thresholds = Thresholds { keep: 2e-2, approximate: 1e-1 };
        let mut memo = Memo::new(Kept::Decomposition, &before);
        let mut svds = memo.decompositions().to_vec();
        assert_eq!(memo.update(&before, thresholds, &mut svds).kept, 1, "nothing has changed");
        assert_eq!(memo.update(&now, thresholds, &mut svds).computed, 1, "{start:?}");
        let mut memo = Memo::new(Kept::Rotation, &before);
        let mut rotations: Vec<Mat3x16> = memo.decompositions().iter().map(rotation_of).collect();
        assert_eq!(memo.update_rotations(&now, thresholds, &mut rotations).computed, 1, "{start:?}");
        let off = difference(&super::tests::to_f64(&load_lane(&rotations[0], 0)), &euler([0.0; 3]));
        assert!(off < 1e-6, "{start:?}: {off}");
    }
}

fn rotation_of(svd: &Svd3x16) -> Mat3x16 {
    let mut out = [[[0.0; LANES]; 3]; 3];
    for lane in 0..LANES {
        store_matrix_lane(&svd_lane(svd, lane).rotation(), &mut out, lane);
    }
    out
}
