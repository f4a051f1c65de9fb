//! The mesh while it is being changed.

use std::collections::{HashMap, HashSet};

use glam::DVec3;
use zygoma_numerics::{Budget, Stop};

use super::CoarseMesh;
use super::fine::{FineSurface, Walk};
use crate::closest::SurfacePoint;
use crate::editable::EditableMesh;
use crate::normals::area_vector;
use crate::topology::{EdgeCounts, half_edges};

/// The location of a vertex and its freedom to move.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Free in the surface; the fine point below it.
    Inside(SurfacePoint),
    /// On a border, at a length from its start.
    Border { border: usize, arc: f64 },
    /// A corner of a border, or a vertex where borders meet: stays.
    Fixed(SurfacePoint),
}

pub(super) struct Work<'a> {
    fine: &'a FineSurface<'a>,
    mesh: EditableMesh,
    places: Vec<Place>,
    /// Locations of fixed vertices on borders, as border and length from its start.
    fixed_arcs: HashMap<u32, Vec<(usize, f64)>>,
    /// Splitting never makes more triangles than this.
    most_triangles: usize,
    walk: Walk,
}

/// A triangle that is less [fat](fatness) than this is a line. Ours: ten times the flattest that a shell takes.
const LINE: f64 = 1e-4;

/// Splitting makes at most this many triangles for each wanted one, besides those that the fine surface has. Ours: a sound
/// surface needs about one; needles, which have length without area, would need any number.
const MOST_PER_WANTED: usize = 4;

/// Twice a triangle's area over the square of its longest side; √3/2 for an even one.
fn fatness(p: [DVec3; 3]) -> f64 {
    let longest = (0..3).map(|i| p[i].distance_squared(p[(i + 1) % 3])).fold(0.0, f64::max);
    area_vector(p[0], p[1], p[2]).length() / longest.max(f64::MIN_POSITIVE)
}

impl<'a> Work<'a> {
    /// Starts with the fine mesh itself, without triangles that overcrowd an edge.
    pub(super) fn new(fine: &'a FineSurface<'a>, length: f64, wanted: usize) -> Self {
        let overcrowded: HashSet<(u32, u32)> =
            EdgeCounts::new(fine.triangles).non_manifold().into_iter().collect();
        let crowds =
            |t: &[u32; 3]| half_edges(*t).iter().any(|(a, b)| overcrowded.contains(&(*a.min(b), *a.max(b))));
        let stuck: HashSet<u32> =
            overcrowded.iter().flat_map(|(a, b)| [*a, *b]).chain(fine.loose.iter().copied()).collect();
        let nowhere = Place::Fixed(SurfacePoint { triangle: 0, barycentric: [1.0, 0.0, 0.0] });
        let mut work = Self {
            fine,
            mesh: EditableMesh::new(fine.positions.to_vec()),
            places: vec![nowhere; fine.positions.len()],
            fixed_arcs: HashMap::new(),
            most_triangles: MOST_PER_WANTED * wanted + fine.triangles.len(),
            walk: Walk::default(),
        };
        for (index, t) in (0u32..).zip(fine.triangles) {
            for corner in 0..3 {
                let mut barycentric = [0.0; 3];
                barycentric[corner] = 1.0;
                let point = SurfacePoint { triangle: index, barycentric };
                let free = !stuck.contains(&t[corner]);
                work.places[t[corner] as usize] =
                    if free { Place::Inside(point) } else { Place::Fixed(point) };
            }
            if !crowds(t) {
                work.mesh.add(*t);
            }
        }
        work.place_borders(length, &stuck);
        work
    }

    fn place_borders(&mut self, length: f64, stuck: &HashSet<u32>) {
        let mut visits = vec![0u32; self.mesh.positions.len()];
        for border in &self.fine.borders {
            for vertex in &border.vertices {
                visits[*vertex as usize] += 1;
            }
        }
        for (border, line) in self.fine.borders.iter().enumerate() {
            let corners = self.fine.corners(border, length);
            for (place, vertex) in line.vertices.iter().enumerate() {
                let arc = line.arcs[place];
                let fixed = corners[place] || visits[*vertex as usize] > 1 || stuck.contains(vertex);
                self.places[*vertex as usize] = if fixed {
                    self.fixed_arcs.entry(*vertex).or_default().push((border, arc));
                    Place::Fixed(self.fine.on_border(border, arc))
                } else {
                    Place::Border { border, arc }
                };
            }
        }
    }

    pub(super) fn triangle_count(&self) -> usize {
        self.mesh.triangle_count()
    }

    /// One round of all operations with a wanted edge length.
    ///
    /// It ends: [`split_long`](Self::split_long) has a bound; every merge takes a vertex away, and a sweep of merges is
    /// repeated only if it took away one in fifty, so at most fifty times; the rest is a fixed number of sweeps.
    pub(super) fn round(&mut self, length: f64, budget: &Budget) -> Result<(), Stop> {
        self.split_long(4.0 / 3.0 * length, length, budget)?;
        // The first rounds meet a mesh that is many times too fine.
        while self.collapse_short(0.8 * length, 4.0 / 3.0 * length, length, budget)? * 50
            > self.mesh.positions.len()
        {
            self.flip(length, budget)?;
        }
        self.flip(length, budget)?;
        for _ in 0..2 {
            self.relax(length, budget)?;
            self.flip(length, budget)?;
        }
        Ok(())
    }

    fn normal(&self, v: u32) -> DVec3 {
        self.mesh.around[v as usize].iter().map(|t| self.mesh.area(*t)).sum::<DVec3>().normalize_or_zero()
    }

    fn is_inside(&self, v: u32) -> bool {
        matches!(self.places[v as usize], Place::Inside(_))
    }

    fn surface_point(&self, v: u32) -> SurfacePoint {
        self.point_of(self.places[v as usize])
    }

    fn point_of(&self, place: Place) -> SurfacePoint {
        match place {
            Place::Inside(point) | Place::Fixed(point) => point,
            Place::Border { border, arc } => self.fine.on_border(border, arc),
        }
    }

    /// The border that the border edge between two vertices runs along, with the lengths at its ends, first before
    /// second in the border's direction.
    fn along_border(&self, a: u32, b: u32, triangle: u32) -> Option<(usize, f64, f64)> {
        let forward = half_edges(self.mesh.triangles[triangle as usize]).contains(&(a, b));
        let (first, second) = if forward { (a, b) } else { (b, a) };
        let runs = self.border_arcs(first).filter_map(|(border, start)| {
            let end = self.border_arc(second, border)?;
            let length = self.fine.borders[border].length;
            (length > 0.0).then(|| (border, start, start + (end - start).rem_euclid(length)))
        });
        // Where the ends lie on two borders, as at holes that touch twice, the edge stands for the shorter way.
        runs.min_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))
    }

    /// The borders that a vertex lies on, and where.
    fn border_arcs(&self, v: u32) -> impl Iterator<Item = (usize, f64)> {
        let sliding = match self.places[v as usize] {
            Place::Border { border, arc } => Some((border, arc)),
            Place::Inside(_) | Place::Fixed(_) => None,
        };
        // Only vertices of the fine surface are fixed, and they keep their number.
        let is_fixed = matches!(self.places[v as usize], Place::Fixed(_));
        let fixed = self.fixed_arcs.get(&v).filter(|_| is_fixed).into_iter().flatten().copied();
        sliding.into_iter().chain(fixed)
    }

    /// The location of a vertex on a border.
    fn border_arc(&self, v: u32, border: usize) -> Option<f64> {
        self.border_arcs(v).find(|(other, _)| *other == border).map(|(_, arc)| arc)
    }

    /// A bound on the number of splits until no edge is longer than `limit`.
    ///
    /// Halving an edge that is longer than the limit leaves pieces longer than half of it. So a triangle of longest side e
    /// and height h falls into at most (2e/limit + 1)(2h/limit + 1) cells of two triangles, and every split makes at least one
    /// more. That holds on a flat surface; a tangled one may put the middle of an edge anywhere, and this bound ends it.
    fn splits_needed(&self, limit: f64) -> f64 {
        let cells = |t: u32| {
            let longest = self.mesh.longest_side(t);
            let height = self.mesh.area(t).length() / longest.max(f64::MIN_POSITIVE);
            2.0 * (2.0 * longest / limit + 1.0) * (2.0 * height / limit + 1.0)
        };
        let long = self.mesh.numbers_of_living().filter(|t| self.mesh.longest_side(*t) > limit);
        long.map(cells).sum()
    }

    /// Splits edges that are too long.
    fn split_long(&mut self, limit: f64, length: f64, budget: &Budget) -> Result<(), Stop> {
        // Each split makes two triangles at most.
        let room = self.most_triangles.saturating_sub(self.triangle_count()) / 2;
        let mut splits_left = self.splits_needed(limit).min(room as f64) as usize;
        let mut queue = self.mesh.edges();
        let mut next = 0;
        while next < queue.len() && splits_left > 0 {
            budget.check()?;
            let (a, b) = queue[next];
            next += 1;
            let (pa, pb) = (self.mesh.positions[a as usize], self.mesh.positions[b as usize]);
            let shared = self.mesh.shared(a, b);
            if pa.distance(pb) <= limit || shared.is_empty() {
                continue;
            }
            let along = if let [only] = shared[..] { self.along_border(a, b, only) } else { None };
            let place = if let Some((border, start, end)) = along {
                Place::Border { border, arc: 0.5 * (start + end) }
            } else {
                let normal = self.normal(a) + self.normal(b);
                let hint = self.surface_point(a).triangle;
                Place::Inside(self.fine.project(0.5 * (pa + pb), hint, normal, length, &mut self.walk))
            };
            // On a sharp fold the middle may fall back onto an end; such an edge would be split for ever.
            let middle = self.fine.position(&self.point_of(place));
            if middle.distance(pa).max(middle.distance(pb)) > 0.9 * pa.distance(pb) {
                continue;
            }
            splits_left -= 1;
            let m = self.mesh.positions.len() as u32;
            self.places.push(place);
            queue.extend(self.mesh.split((a, b), middle).into_iter().map(|opposite| (m, opposite)));
            queue.extend([(a, m), (m, b)]);
        }
        Ok(())
    }

    /// Collapses edges that are too short; returns how many.
    fn collapse_short(
        &mut self,
        limit: f64,
        longest: f64,
        length: f64,
        budget: &Budget,
    ) -> Result<usize, Stop> {
        let mut count = 0;
        for (a, b) in self.mesh.edges() {
            budget.check()?;
            if self.mesh.positions[a as usize].distance(self.mesh.positions[b as usize]) < limit
                && (self.collapse(a, b, longest, length) || self.collapse(b, a, longest, length))
            {
                count += 1;
            }
        }
        Ok(count)
    }

    /// The location of `kept` after `gone` is merged into it; `None` if that is not allowed.
    fn collapsed_place(&mut self, gone: u32, kept: u32, shared: &[u32], length: f64) -> Option<Place> {
        match (self.places[gone as usize], self.places[kept as usize]) {
            (Place::Fixed(_), _) => None,
            (Place::Inside(point), Place::Inside(_)) => {
                let middle = 0.5 * (self.mesh.positions[gone as usize] + self.mesh.positions[kept as usize]);
                let normal = self.normal(gone) + self.normal(kept);
                let hint = point.triangle;
                Some(Place::Inside(self.fine.project(middle, hint, normal, length, &mut self.walk)))
            }
            (Place::Inside(_), stays) => Some(stays),
            // Along the border only: a chord would pinch the surface.
            (Place::Border { .. }, other) => {
                let [only] = shared[..] else { return None };
                match other {
                    Place::Border { .. } => {
                        let (border, start, end) = self.along_border(gone, kept, only)?;
                        Some(Place::Border { border, arc: 0.5 * (start + end) })
                    }
                    Place::Fixed(_) => Some(other),
                    Place::Inside(_) => None,
                }
            }
        }
    }

    fn collapse(&mut self, gone: u32, kept: u32, longest: f64, length: f64) -> bool {
        let shared = self.mesh.shared(gone, kept);
        // An edge across a thin fold is short without its ends being near each other in the surface.
        let [over, under] = [gone, kept].map(|v| self.fine.normal(self.surface_point(v).triangle));
        if shared.is_empty() || over.dot(under) < 0.0 {
            return false;
        }
        let (around_gone, around_kept) = (self.mesh.neighbours(gone), self.mesh.neighbours(kept));
        let common = around_gone.iter().filter(|v| around_kept.binary_search(v).is_ok()).count();
        // The link condition: otherwise two sheets would be glued or a border closed.
        if common != shared.len()
            || self.mesh.around[gone as usize].len() + self.mesh.around[kept as usize].len() < 5
        {
            return false;
        }
        let Some(place) = self.collapsed_place(gone, kept, &shared, length) else { return false };
        let position = self.fine.position(&self.point_of(place));
        let far = |v: &&u32| self.mesh.positions[**v as usize].distance(position) > longest;
        let others = around_gone.iter().chain(&around_kept).filter(|v| **v != gone && **v != kept);
        if others.clone().any(|v| far(&v)) {
            return false;
        }
        // New edges must not tie sheets together that are close only in space.
        let place_of_kept = self.point_of(place);
        let others: Vec<SurfacePoint> = others.map(|v| self.surface_point(*v)).collect();
        if !others.iter().all(|other| self.fine.hang_together(&place_of_kept, other, length, &mut self.walk))
        {
            return false;
        }
        let stays_good = [gone, kept].into_iter().all(|v| {
            self.mesh.around[v as usize]
                .iter()
                .filter(|t| !shared.contains(t))
                .all(|t| self.keeps_side(*t, |corner| corner == gone || corner == kept, position))
        });
        if !stays_good {
            return false;
        }
        self.mesh.merge(gone, kept, position);
        self.places[kept as usize] = place;
        true
    }

    /// Whether a triangle keeps its side and does not become a needle when some corners move to one point.
    fn keeps_side(&self, t: u32, moves: impl Fn(u32) -> bool, to: DVec3) -> bool {
        let before = self.mesh.points(t);
        let corners = self.mesh.triangles[t as usize];
        let after: [DVec3; 3] = std::array::from_fn(|i| if moves(corners[i]) { to } else { before[i] });
        let [old, new] = [before, after].map(|p| area_vector(p[0], p[1], p[2]));
        let turned = old.dot(new) < 0.3 * old.length() * new.length();
        !turned && fatness(after) > 0.1f64.min(0.9 * fatness(before))
    }

    /// Flips edges whose opposite angles sum to more than 180°, where the surface is smooth enough.
    fn flip(&mut self, length: f64, budget: &Budget) -> Result<(), Stop> {
        for edge in self.mesh.edges() {
            budget.check()?;
            let flip = self.mesh.flip_of(edge, 0.6);
            // A chord from border to border would pinch the surface.
            let Some(flip) = flip.filter(|flip| flip.opposite.iter().any(|v| self.is_inside(*v))) else {
                continue;
            };
            let [from, to] = flip.opposite.map(|v| self.surface_point(v));
            if self.fine.hang_together(&from, &to, length, &mut self.walk) {
                self.mesh.flip(&flip);
            }
        }
        Ok(())
    }

    /// Moves every vertex towards the middle of its surroundings, within the surface or along its border.
    fn relax(&mut self, length: f64, budget: &Budget) -> Result<(), Stop> {
        for v in 0..self.mesh.positions.len() as u32 {
            if self.mesh.around[v as usize].is_empty() {
                continue;
            }
            budget.check()?;
            match self.places[v as usize] {
                Place::Fixed(_) => {}
                Place::Border { border, arc } => self.relax_on_border(v, border, arc),
                Place::Inside(point) => self.relax_inside(v, point, length),
            }
        }
        Ok(())
    }

    fn relax_on_border(&mut self, v: u32, border: usize, arc: f64) {
        let (mut before, mut after) = (None, None);
        for t in &self.mesh.around[v as usize] {
            for (a, b) in half_edges(self.mesh.triangles[*t as usize]) {
                if (a == v || b == v) && self.mesh.shared(a, b).len() == 1 {
                    if b == v {
                        before = self.border_arc(a, border);
                    } else {
                        after = self.border_arc(b, border);
                    }
                }
            }
        }
        let (Some(before), Some(after)) = (before, after) else { return };
        let length = self.fine.borders[border].length;
        if length <= 0.0 {
            return;
        }
        let back = (arc - before).rem_euclid(length);
        let ahead = (after - arc).rem_euclid(length);
        for fraction in [0.25, 0.1] {
            let arc = (arc + fraction * (ahead - back)).rem_euclid(length);
            let to = self.fine.position(&self.fine.on_border(border, arc));
            if self.mesh.around[v as usize].iter().all(|t| self.keeps_side(*t, |corner| corner == v, to)) {
                self.mesh.positions[v as usize] = to;
                self.places[v as usize] = Place::Border { border, arc };
                return;
            }
        }
    }

    fn relax_inside(&mut self, v: u32, point: SurfacePoint, length: f64) {
        let old = self.mesh.positions[v as usize];
        let (mut sum, mut weight, mut normal) = (DVec3::ZERO, 0.0, DVec3::ZERO);
        for t in &self.mesh.around[v as usize] {
            let [a, b, c] = self.mesh.points(*t);
            let area = area_vector(a, b, c);
            sum += area.length() * (a + b + c) / 3.0;
            weight += area.length();
            normal += area;
        }
        if weight <= 0.0 {
            return;
        }
        let normal = normal.normalize_or_zero();
        let step = sum / weight - old;
        let step = step - normal * step.dot(normal);
        for fraction in [0.7, 0.25] {
            let aim = old + fraction * step;
            let to = self.fine.project(aim, point.triangle, normal, 0.5 * length, &mut self.walk);
            let position = self.fine.position(&to);
            let around = &self.mesh.around[v as usize];
            let stays_good = around.iter().all(|t| self.keeps_side(*t, |corner| corner == v, position));
            if stays_good && self.ties_no_sheets(v, &to, length) {
                self.mesh.positions[v as usize] = position;
                self.places[v as usize] = Place::Inside(to);
                return;
            }
        }
    }

    /// Whether a vertex at a place would be connected to all its neighbours within an edge's length.
    fn ties_no_sheets(&mut self, v: u32, at: &SurfacePoint, length: f64) -> bool {
        self.mesh.neighbours(v).iter().all(|other| {
            let other = self.surface_point(*other);
            self.fine.hang_together(at, &other, length, &mut self.walk)
        })
    }

    /// The mesh without triangles that have no extent, as where vertices that may not move lie in one line.
    pub(super) fn finish(mut self) -> CoarseMesh {
        let lines: Vec<u32> =
            self.mesh.numbers_of_living().filter(|t| fatness(self.mesh.points(*t)) < LINE).collect();
        lines.into_iter().for_each(|t| self.mesh.remove(t));
        let numbers = self.mesh.numbers();
        let (positions, triangles) = self.mesh.compact(&numbers);
        let kept = (0u32..).zip(&numbers).filter(|(_, number)| number.is_some());
        let places = kept.map(|(v, _)| self.surface_point(v)).collect();
        CoarseMesh { positions, triangles, places }
    }
}
