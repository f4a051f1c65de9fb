//! Laws of retargeting with examples of the target, between built-in heads.

use glam::{DVec3, Vec3};
use zygoma_rig::Rig;

use super::tests::{head, named};
use super::*;

/// Expressions that are no single shape.
const MIXTURES: [&[(&str, f32)]; 5] = [
    &[("jawOpen", 0.6), ("mouthSmileLeft", 0.5), ("browInnerUp", 0.4)],
    &[("mouthPucker", 0.7), ("eyeBlinkLeft", 0.8), ("eyeBlinkRight", 0.8)],
    &[("mouthSmileLeft", 0.8), ("mouthSmileRight", 0.7), ("cheekSquintLeft", 0.5)],
    &[("jawOpen", 0.3), ("mouthFrownLeft", 0.6), ("mouthFrownRight", 0.6), ("browDownLeft", 0.9)],
    &[("mouthFunnel", 0.7), ("noseSneerLeft", 0.6), ("browOuterUpRight", 0.7)],
];

fn weights(rig: &Rig, mixture: &[(&str, f32)]) -> Vec<f32> {
    let mut weights = vec![0.0; rig.skin().shapes.len()];
    mixture.iter().for_each(|(name, weight)| weights[named(rig, name)] = *weight);
    weights
}

fn mean_distance(a: &Expression, b: &Expression) -> f64 {
    a.skin.iter().zip(&b.skin).map(|(p, q)| p.distance(*q)).sum::<f64>() / a.skin.len() as f64
}

/// Whatever is missing in the examples comes over by A-DT, so that a head gets back all of its expressions, and its neutral.
#[test]
fn a_head_with_few_examples_gets_back_its_own_expressions() {
    let (rig, first) = head(3);
    let (_, second) = head(3);
    let mut source = SourceFace::new(&rig, first);
    let own = source.shapes();
    let examples: Vec<Expression> =
        MIXTURES.map(|mixture| source.expression(&weights(&rig, mixture))).to_vec();
    let known = Known { examples: &examples, source: &own };
    let params = RetargetParams::default();
    let mut carry = Retargeting::new(source.head(), &second, Method::Anacondar, known, &params).unwrap();
    assert_eq!((carry.method(), carry.patches()), (Method::Anacondar, 80));
    let worst = |a: &Expression, b: &Expression| {
        a.skin.iter().zip(&b.skin).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max)
    };
    let neutral = Expression::neutral(source.head());
    let (found, report) = carry.carry(&neutral).unwrap();
    assert!(worst(&found, &neutral) < 1e-6, "{}", worst(&found, &neutral));
    assert_eq!(report.missing, [0.0; 2]);
    for name in ["jawOpen", "eyeBlinkLeft", "mouthSmileRight", "jawLeft"] {
        let expression = source.shape(named(&rig, name));
        let (found, report) = carry.carry(&expression).unwrap();
        assert!(worst(&found, &expression) < 5e-5, "{name}: {} m, {report:?}", worst(&found, &expression));
        // Patches around the eye find a blink in the examples; none of these moves the jaw sideways.
        assert!(name != "jawLeft" || report.missing[0] > 1e-6, "no mixture of the examples is {name}");
    }
}

/// Five examples without counterparts bring a retargeting nearer to the truth than patches, or a whole face, made of them alone.
#[test]
fn few_examples_are_completed() {
    let ((rig, first), (other, mut second)) = (head(3), head(5));
    let mut source = SourceFace::new(&rig, first);
    let own = source.shapes();
    let mut of_target = |mixture: &[(&str, f32)]| {
        let weights = weights(&other, mixture);
        let mut offsets = vec![Vec3::ZERO; other.skin().positions.len()];
        for (weight, shape) in weights.iter().zip(&other.skin().shapes) {
            shape.deltas.iter().for_each(|(v, offset)| offsets[v as usize] += *weight * offset);
        }
        second.expression(&offsets, &weights)
    };
    let examples = MIXTURES.map(&mut of_target);
    let asked: [&[(&str, f32)]; 2] = [
        &[("jawOpen", 0.5), ("mouthPucker", 0.3), ("browDownLeft", 0.5), ("browDownRight", 0.5)],
        &[("mouthSmileLeft", 0.6), ("eyeBlinkLeft", 0.6), ("jawLeft", 0.4)],
    ];
    let truth = asked.map(&mut of_target);
    let known = Known { examples: &examples, source: &own };
    let params = RetargetParams::default();
    let mut off = |method: Method| -> f64 {
        let mut carry = Retargeting::new(source.head(), &second, method, known, &params).unwrap();
        let each = asked.iter().zip(&truth).map(|(mixture, truth)| {
            mean_distance(&carry.carry(&source.expression(&weights(&rig, mixture))).unwrap().0, truth)
        });
        each.sum()
    };
    let [linear, patches, rigging, plain, ours] =
        [Method::Linear, Method::Patches, Method::Ebfr, Method::Dt, Method::Anacondar].map(&mut off);
    assert!(ours < 0.8 * patches, "{ours} against {patches} by patches");
    assert!(patches < linear, "{patches} against {linear} by whole faces");
    assert!(rigging < 1.05 * plain, "{rigging} against {plain} without examples");
}

/// A method that is made of examples says that it needs some.
#[test]
fn peers_without_examples_are_refused() {
    let ((_, first), (_, second)) = (head(3), head(3));
    let make =
        |method| Retargeting::new(&first, &second, method, Known::default(), &RetargetParams::default());
    let problem = make(Method::Patches).err().map(|problem| problem.to_string()).unwrap_or_default();
    assert!(problem.contains("patches needs examples"), "{problem}");
    assert_eq!(make(Method::Anacondar).unwrap().method(), Method::Adt);
}

/// Borders of patches show as jumps of the difference, and a shift of the whole does not.
#[test]
fn jumps_are_differences_across_borders() {
    let (_, head) = head(3);
    let neutral = Expression::neutral(&head);
    let moved = |by: &dyn Fn(usize) -> DVec3| Expression {
        skin: neutral.skin.iter().enumerate().map(|(v, p)| *p + by(v)).collect(),
        jaw: neutral.jaw,
    };
    assert!(moved(&|_| DVec3::X).jumps(&neutral) < 1e-12);
    let patches = super::blend::shared_patches();
    let odd = moved(&|v| 0.001 * f64::from(patches.of_vertex[v]) * DVec3::Y);
    assert!(odd.jumps(&neutral) > 0.001);
}
