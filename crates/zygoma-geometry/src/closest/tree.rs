//! A tree of boxes over triangles: closest points and rays in logarithmic time, refitted when vertices move.

use glam::Vec3;

use crate::point::{Point, Scalar};

/// Triangles per leaf. Ours: fewer make the tree deeper, more make leaves slower; 4 was fastest on heads.
const LEAF: usize = 4;

/// Deep enough for any tree that fits in memory: the halves of a node differ by one triangle at most.
const STACK: usize = 64;

/// A bounding-box tree over the triangles of a mesh, in single or double precision.
///
/// It keeps no positions: every query is given those that the tree was last [fitted](Self::refit) to.
#[derive(Clone, Debug)]
pub struct TriangleTree<P = Vec3> {
    nodes: Vec<Node<P>>,
    order: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Node<P> {
    low: P,
    high: P,
    /// For a leaf the first place in `order`; otherwise the left child, which the right one follows.
    first: u32,
    /// Triangles of a leaf; 0 for an inner node.
    count: u32,
}

/// The closest point of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest<P: Point = Vec3> {
    /// Its triangle.
    pub triangle: u32,
    /// Its barycentric coordinates.
    pub barycentric: [P::Scalar; 3],
    /// The point.
    pub point: P,
    /// Distance from the query.
    pub distance: P::Scalar,
}

/// The intersection of a ray with a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit<S = f32> {
    /// The triangle.
    pub triangle: u32,
    /// Distance along the ray in units of its direction's length.
    pub distance: S,
}

impl<P: Point> TriangleTree<P> {
    /// Builds the tree; triangles are split at the median of their centres along the longest axis.
    pub fn new(positions: &[P], triangles: &[[u32; 3]]) -> Self {
        let centres: Vec<P> = triangles.iter().map(|t| P::centre(t.map(|v| positions[v as usize]))).collect();
        let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
        let empty = Node { low: P::ZERO, high: P::ZERO, first: 0, count: 0 };
        let mut nodes = vec![Node { count: order.len() as u32, ..empty }];
        let mut next = 0;
        while next < nodes.len() {
            let Node { first, count, .. } = nodes[next];
            if count as usize > LEAF {
                let part = &mut order[first as usize..(first + count) as usize];
                let low = part.iter().map(|t| centres[*t as usize]).fold(P::HIGHEST, P::min);
                let high = part.iter().map(|t| centres[*t as usize]).fold(P::LOWEST, P::max);
                let axis = (high - low).longest_axis();
                let half = part.len() / 2;
                // Ties are broken by number, so that the tree does not depend on the sort.
                part.select_nth_unstable_by(half, |a, b| {
                    let (ca, cb) =
                        (centres[*a as usize].coordinate(axis), centres[*b as usize].coordinate(axis));
                    ca.total_cmp(&cb).then(a.cmp(b))
                });
                let left = nodes.len() as u32;
                nodes.push(Node { first, count: half as u32, ..empty });
                nodes.push(Node { first: first + half as u32, count: count - half as u32, ..empty });
                nodes[next] = Node { first: left, count: 0, ..empty };
            }
            next += 1;
        }
        let mut tree = Self { nodes, order };
        tree.refit(positions, triangles);
        tree
    }

    /// Adapts the boxes to moved vertices; no allocation.
    pub fn refit(&mut self, positions: &[P], triangles: &[[u32; 3]]) {
        for index in (0..self.nodes.len()).rev() {
            let Node { first, count, .. } = self.nodes[index];
            let (mut low, mut high) = (P::HIGHEST, P::LOWEST);
            if count == 0 && !self.order.is_empty() {
                for child in [first, first + 1] {
                    low = low.min(self.nodes[child as usize].low);
                    high = high.max(self.nodes[child as usize].high);
                }
            }
            for place in first..first + count {
                for v in triangles[self.order[place as usize] as usize] {
                    low = low.min(positions[v as usize]);
                    high = high.max(positions[v as usize]);
                }
            }
            (self.nodes[index].low, self.nodes[index].high) = (low, high);
        }
    }

    /// The smallest box around everything, as its lowest and highest corner.
    pub fn bounds(&self) -> (P, P) {
        (self.nodes[0].low, self.nodes[0].high)
    }

    /// The closest point within a distance.
    pub fn closest(
        &self,
        positions: &[P],
        triangles: &[[u32; 3]],
        point: P,
        within: P::Scalar,
    ) -> Option<Nearest<P>> {
        self.closest_among(positions, triangles, point, within, |_| true)
    }

    /// The closest point within a distance on those triangles that are `accepted`.
    pub fn closest_among(
        &self,
        positions: &[P],
        triangles: &[[u32; 3]],
        point: P,
        within: P::Scalar,
        accepted: impl Fn(u32) -> bool,
    ) -> Option<Nearest<P>> {
        if self.order.is_empty() {
            return None;
        }
        let mut best: Option<Nearest<P>> = None;
        let mut reach = within;
        let mut stack = [0u32; STACK];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let node = &self.nodes[stack[depth] as usize];
            if node.distance(point) > reach {
                continue;
            }
            if node.count == 0 {
                let (near, far) = (node.first, node.first + 1);
                let [near_distance, far_distance] =
                    [near, far].map(|child| self.nodes[child as usize].distance(point));
                let (near, far) = if near_distance <= far_distance { (near, far) } else { (far, near) };
                (stack[depth], stack[depth + 1]) = (far, near);
                depth += 2;
                continue;
            }
            for place in node.first..node.first + node.count {
                let triangle = self.order[place as usize];
                let corners = triangles[triangle as usize].map(|v| positions[v as usize]);
                let barycentric = point.closest_on_triangle(corners);
                let on: P = (0..3).map(|i| corners[i] * barycentric[i]).sum();
                let distance = (on - point).length();
                let nearer = best.is_none_or(|b| {
                    distance < b.distance || (distance == b.distance && triangle < b.triangle)
                });
                if distance <= reach && nearer && accepted(triangle) {
                    best = Some(Nearest { triangle, barycentric, point: on, distance });
                    reach = distance;
                }
            }
        }
        best
    }

    /// The first triangle along a ray farther than `from`, whichever way it faces, among those `accepted`.
    pub fn first_hit(
        &self,
        positions: &[P],
        triangles: &[[u32; 3]],
        origin: P,
        direction: P,
        from: P::Scalar,
        accepted: impl Fn(u32) -> bool,
    ) -> Option<Hit<P::Scalar>> {
        if self.order.is_empty() {
            return None;
        }
        let inverse = direction.recip();
        let mut best: Option<Hit<P::Scalar>> = None;
        let mut stack = [0u32; STACK];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let node = &self.nodes[stack[depth] as usize];
            let reach = best.map_or(P::Scalar::INFINITY, |hit| hit.distance);
            if !node.meets(origin, inverse, reach) {
                continue;
            }
            if node.count == 0 {
                (stack[depth], stack[depth + 1]) = (node.first + 1, node.first);
                depth += 2;
                continue;
            }
            for place in node.first..node.first + node.count {
                let triangle = self.order[place as usize];
                let corners = triangles[triangle as usize].map(|v| positions[v as usize]);
                if let Some(distance) = ray_meets(origin, direction, corners)
                    && distance > from
                    && best.is_none_or(|hit| distance < hit.distance)
                    && accepted(triangle)
                {
                    best = Some(Hit { triangle, distance });
                }
            }
        }
        best
    }
}

impl<P: Point> Node<P> {
    fn distance(&self, point: P) -> P::Scalar {
        (self.low - point).max(point - self.high).max(P::ZERO).length()
    }

    fn meets(&self, origin: P, inverse: P, reach: P::Scalar) -> bool {
        let (a, b) = ((self.low - origin) * inverse, (self.high - origin) * inverse);
        let enter = a.min(b).max_element().max(P::Scalar::ZERO);
        let leave = a.max(b).min_element().min(reach);
        enter <= leave
    }
}

/// Distance along the ray to the triangle's plane if it passes through the triangle (\[Möller and Trumbore 1997\]).
fn ray_meets<P: Point>(origin: P, direction: P, [a, b, c]: [P; 3]) -> Option<P::Scalar> {
    let (ab, ac) = (b - a, c - a);
    let p = direction.cross(ac);
    let determinant = ab.dot(p);
    if determinant == P::Scalar::ZERO {
        return None;
    }
    let (zero, one) = (P::Scalar::ZERO, P::Scalar::ONE);
    let t = origin - a;
    let u = t.dot(p) / determinant;
    let q = t.cross(ab);
    let v = direction.dot(q) / determinant;
    (u >= zero && v >= zero && u + v <= one).then(|| ac.dot(q) / determinant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes;
    use glam::DVec3;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tree_agrees_with_trying_every_triangle(p in prop::array::uniform3(-2.0f32..2.0), squash in 0.2f32..1.0) {
            let point = Vec3::from(p);
            let (mut positions, triangles) = shapes::sphere(12, 16);
            let mut tree = TriangleTree::new(&positions, &triangles);
            for position in &mut positions {
                position.y *= squash;
            }
            tree.refit(&positions, &triangles);
            let brute = triangles.iter().map(|t| {
                let corners = t.map(|v| positions[v as usize]);
                let weights = point.closest_on_triangle(corners);
                (0..3).map(|i| weights[i] * corners[i]).sum::<Vec3>().distance(point)
            }).fold(f32::INFINITY, f32::min);
            let found = tree.closest(&positions, &triangles, point, f32::INFINITY).unwrap();
            prop_assert_eq!(found.distance, brute);
            prop_assert!(tree.closest(&positions, &triangles, point, 0.999 * brute).is_none());
        }

        #[test]
        fn double_precision_agrees_with_trying_every_triangle(
            points in prop::collection::vec(prop::array::uniform3(-1.0f64..1.0), 36),
            query in prop::array::uniform3(-3.0f64..3.0),
        ) {
            let (positions, query): (Vec<_>, _) = (points.into_iter().map(DVec3::from).collect(), DVec3::from(query));
            let triangles: Vec<[u32; 3]> = (0..12).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
            let found = TriangleTree::new(&positions, &triangles).closest(&positions, &triangles, query, f64::INFINITY);
            let brute = triangles.iter().map(|t| {
                let corners = t.map(|v| positions[v as usize]);
                let weights = query.closest_on_triangle(corners);
                (0..3).map(|i| weights[i] * corners[i]).sum::<DVec3>().distance(query)
            }).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(found.map(|found| found.distance), Some(brute));
        }
    }

    #[test]
    fn a_ray_from_the_middle_meets_the_sphere_at_its_radius() {
        let (positions, triangles) = shapes::sphere(24, 48);
        let tree = TriangleTree::new(&positions, &triangles);
        for direction in [Vec3::new(0.3, 0.8, -0.2), Vec3::X, Vec3::NEG_Z, Vec3::ONE] {
            let direction = direction.normalize();
            let hit = tree.first_hit(&positions, &triangles, Vec3::ZERO, direction, 0.0, |_| true).unwrap();
            assert!((hit.distance - 1.0).abs() < 0.01, "{}", hit.distance);
        }
        assert!(tree.first_hit(&positions, &triangles, Vec3::X * 3.0, Vec3::X, 0.0, |_| true).is_none());
    }

    #[test]
    fn an_empty_mesh_has_no_closest_point() {
        let tree = TriangleTree::<Vec3>::new(&[], &[]);
        assert!(tree.closest(&[], &[], Vec3::ZERO, f32::INFINITY).is_none());
    }
}
