//! Predicts the combinations that miss their targets most.

use std::collections::BTreeMap;

use glam::DVec3;

/// Maximum number of expressions in a searched combination: as many as in seeded ones.
const MOST_PARTS: usize = 3;

/// The pairs and triples of expressions that are predicted to miss their targets most, worst first, from the misses of each single
/// expression at every vertex.
///
/// Skin that is close to its target responds nearly linearly: a combination misses by about the sum of the single misses. So at every
/// vertex the expression that misses most is joined by those that add most to it. The true miss is known only after settling.
pub(super) fn worst_together(misses: &[Vec<DVec3>], count: usize) -> Vec<Vec<usize>> {
    let vertices = misses.iter().map(Vec::len).min().unwrap_or(0);
    let mut found: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for vertex in 0..vertices {
        let (parts, miss) = worst_at(vertex, misses);
        if parts.len() > 1 {
            let worst = found.entry(parts).or_default();
            *worst = worst.max(miss);
        }
    }
    let mut found: Vec<(Vec<usize>, f64)> = found.into_iter().collect();
    found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    found.into_iter().take(count).map(|(parts, _)| parts).collect()
}

/// The expressions predicted to miss most at one vertex when combined, in order, and by how much.
fn worst_at(vertex: usize, misses: &[Vec<DVec3>]) -> (Vec<usize>, f64) {
    let (mut parts, mut sum) = (Vec::new(), DVec3::ZERO);
    for _ in 0..MOST_PARTS {
        let with = |part: usize| (sum + misses[part][vertex]).length();
        let others = (0..misses.len()).filter(|part| !parts.contains(part));
        let Some(next) = others.max_by(|a, b| with(*a).total_cmp(&with(*b))) else { break };
        if with(next) <= sum.length() {
            break;
        }
        sum += misses[next][vertex];
        parts.push(next);
    }
    parts.sort_unstable();
    (parts, sum.length())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_that_add_up_are_found_and_those_that_cancel_are_not() {
        // Two vertices, five expressions; the second and third oppose each other at the first vertex.
        let misses = [
            vec![0.2 * DVec3::Y, DVec3::ZERO],
            vec![0.5 * DVec3::X, DVec3::ZERO],
            vec![-0.4 * DVec3::X, DVec3::ZERO],
            vec![0.3 * DVec3::X, 0.7 * DVec3::Z],
            vec![DVec3::ZERO, 0.6 * DVec3::Z],
        ];
        assert_eq!(worst_together(&misses, 10), [vec![3, 4], vec![0, 1, 3]]);
        assert_eq!(worst_together(&misses, 1), [vec![3, 4]]);
        assert!(worst_together(&misses[..1], 10).is_empty());
    }
}
