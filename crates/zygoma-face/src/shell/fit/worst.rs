//! A search for the combinations that the skin should miss worst.

use std::collections::BTreeMap;

use glam::DVec3;

/// Most expressions that are used together in a combination that is searched for: as many as in seeded ones.
const MOST_PARTS: usize = 3;

/// The pairs and triples of expressions that should be missed worst, the worst first, given by how much each expression
/// alone misses its target at every vertex.
///
/// Skin that is nearly at its target answers nearly linearly: together, expressions miss by about the sum of what each
/// misses. So at every vertex the one that misses most is joined by those that add most to it. What comes of it must be
/// settled to be known.
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

/// The expressions that together should miss worst at one vertex, in order, and by how much.
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
