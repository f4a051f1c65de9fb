//! Hands as a closed mesh with a point cache: a glove, a prosthesis, or a hand of another model.

use std::path::Path;

use glam::Vec3;
use zygoma_geometry::TriMesh;
use zygoma_geometry::closest::SignedSurface;
use zygoma_geometry::topology::half_edges;
use zygoma_rig::formats::{Limits, caches, read_rig};
use zygoma_rig::weld::Weld;
use zygoma_rig::{Error, Result};

/// A mesh with more open edges is no hand whose wrist is open. Ours: MANO's has 16.
const MOST_OPEN: usize = 400;

/// A closed mesh and its vertices over time, in metres.
#[derive(Clone, Debug)]
pub struct CachedHand {
    /// Triangles, facing outwards.
    pub triangles: Vec<[u32; 3]>,
    times: Vec<f64>,
    frames: Vec<Vec<Vec3>>,
}

impl CachedHand {
    /// Reads a mesh (`.obj`, `.glb`, …), whose vertices are welded at seams, and its vertices over time (`.pc2` or `.mdd`, in metres and in
    /// the order of the mesh). PC2 counts time in frames, of which there are some per second. An open wrist is closed by a lid.
    ///
    /// # Errors
    /// If a file cannot be read, they do not fit each other, or the mesh cannot be closed.
    pub fn read(mesh: &Path, cache: &Path, frames_per_second: f64) -> Result<Self> {
        let limits = Limits::default();
        let rig = read_rig(mesh, &limits)?;
        let skin = rig.skin();
        let is_mdd = cache.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mdd"));
        let read = if is_mdd { caches::read_mdd } else { caches::read_pc2 };
        let points = read(cache, &limits)?;
        let count = skin.positions.len();
        if points.vertex_count != count {
            let problem = format!(
                "it has {} vertices and the mesh {} has {count}; export both from the same object",
                points.vertex_count,
                mesh.display()
            );
            return Err(Error::malformed(cache, problem));
        }
        if points.times.is_empty() {
            return Err(Error::malformed(cache, "it has no frames"));
        }
        let weld = Weld::new(skin);
        let first = |point: usize| weld.vertices_of_point(point)[0] as usize;
        let frame = |vertices: &[Vec3]| (0..weld.point_count()).map(|point| vertices[first(point)]).collect();
        let frames: Vec<Vec<Vec3>> = points.positions.chunks(count).map(frame).collect();
        let second = if is_mdd { 1.0 } else { frames_per_second };
        let times = points.times.iter().map(|time| f64::from(*time) / second).collect();
        Self::new(weld.triangles(skin), times, frames).map_err(|problem| Error::malformed(cache, problem))
    }

    /// A hand from triangles and frames, in ascending order of time.
    ///
    /// # Errors
    /// A sentence that says why this is no closed mesh over time.
    pub fn new(
        mut triangles: Vec<[u32; 3]>,
        times: Vec<f64>,
        mut frames: Vec<Vec<Vec3>>,
    ) -> std::result::Result<Self, String> {
        if times.len() != frames.len() || times.is_empty() {
            return Err(format!("there are {} times for {} frames", times.len(), frames.len()));
        }
        if times.iter().any(|time| !time.is_finite()) || times.windows(2).any(|pair| pair[1] <= pair[0]) {
            return Err("its times do not ascend".to_owned());
        }
        if let Some(frame) = frames.iter().position(|frame| frame.iter().any(|p| !p.is_finite())) {
            return Err(format!("frame {frame} has a vertex that is not at a finite position"));
        }
        for lid in holes(&triangles)? {
            let top = frames[0].len() as u32;
            triangles.extend(lid.iter().map(|(a, b)| [*b, *a, top]));
            for frame in &mut frames {
                let sum: Vec3 = lid.iter().map(|(a, _)| frame[*a as usize]).sum();
                frame.push(sum / lid.len() as f32);
            }
        }
        let rest = TriMesh { positions: frames[0].clone(), triangles: triangles.clone() };
        let volume: f32 = triangles
            .iter()
            .map(|t| t.map(|v| frames[0][v as usize]))
            .map(|[a, b, c]| a.dot(b.cross(c)))
            .sum();
        if volume <= 0.0 {
            return Err("its triangles face inwards; flip the normals of the mesh".to_owned());
        }
        SignedSurface::new(rest).map_err(|problem| problem.to_string())?;
        Ok(Self { triangles, times, frames })
    }

    /// The times of the first and of the last frame, s.
    pub fn times(&self) -> [f64; 2] {
        [self.times[0], self.times[self.times.len() - 1]]
    }

    /// The vertices of the first frame.
    pub fn first(&self) -> &[Vec3] {
        &self.frames[0]
    }

    /// The vertices at a time; `None` before the first frame and after the last.
    pub fn sample(&self, time: f64) -> Option<Vec<Vec3>> {
        let last = self.times.len() - 1;
        if time < self.times[0] - 1e-6 || time > self.times[last] + 1e-6 {
            return None;
        }
        let after = self.times.partition_point(|own| *own <= time).clamp(1, last.max(1));
        let (from, to) = (after - 1, after.min(last));
        let length = self.times[to] - self.times[from];
        let t = if length > 0.0 { ((time - self.times[from]) / length).clamp(0.0, 1.0) as f32 } else { 0.0 };
        Some(self.frames[from].iter().zip(&self.frames[to]).map(|(a, b)| a.lerp(*b, t)).collect())
    }
}

/// A closed chain of half-edges.
type Loop = Vec<(u32, u32)>;

/// The borders of open meshes, as loops of half-edges of their triangles.
fn holes(triangles: &[[u32; 3]]) -> std::result::Result<Vec<Loop>, String> {
    let all: std::collections::HashSet<(u32, u32)> = triangles.iter().flat_map(|t| half_edges(*t)).collect();
    let mut open: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for (a, b) in all.iter().filter(|(a, b)| !all.contains(&(*b, *a))) {
        if open.insert(*a, *b).is_some() {
            return Err(format!("two of its borders touch at vertex {a}; close the mesh"));
        }
    }
    if open.len() > MOST_OPEN {
        return Err(format!("{} of its edges have only one triangle; close the mesh", open.len()));
    }
    let mut loops = Vec::new();
    while let Some((start, mut end)) = open.pop_first() {
        let mut hole = vec![(start, end)];
        while end != start {
            let next = open.remove(&end).ok_or("its border is no loop; close the mesh")?;
            hole.push((end, next));
            end = next;
        }
        loops.push(hole);
    }
    Ok(loops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    /// A ball that moves along X by 1 in a second, without the triangles around one of its vertices.
    fn ball(open_at: Option<u32>) -> std::result::Result<CachedHand, String> {
        let (positions, mut triangles) = shapes::sphere(12, 16);
        if let Some(vertex) = open_at {
            triangles.retain(|t| !t.contains(&vertex));
        }
        let at = |x: f32| positions.iter().map(|p| 0.04 * *p + x * Vec3::X).collect();
        CachedHand::new(triangles, vec![0.0, 0.5, 1.0], vec![at(0.0), at(0.5), at(1.0)])
    }

    #[test]
    fn frames_are_interpolated_and_the_hand_is_away_outside_of_them() {
        let hand = ball(None).unwrap();
        let middle = |time: f64| {
            let at = hand.sample(time)?;
            Some(at.iter().sum::<Vec3>() / at.len() as f32)
        };
        assert!((middle(0.75).unwrap().x - 0.75).abs() < 1e-3 && (middle(1.0).unwrap().x - 1.0).abs() < 1e-3);
        assert!(middle(-0.1).is_none() && middle(1.1).is_none());
    }

    #[test]
    fn an_open_wrist_gets_a_lid() {
        let (positions, _) = shapes::sphere(12, 16);
        let hand = ball(Some(40)).unwrap();
        assert_eq!(hand.sample(0.0).unwrap().len(), positions.len() + 1);
        // Six triangles around a vertex are gone, and a lid has one for each edge of the hole.
        assert_eq!(ball(None).unwrap().triangles.len(), hand.triangles.len());
    }

    #[test]
    fn mistakes_are_named() {
        let (positions, triangles) = shapes::sphere(12, 16);
        let inside_out = triangles.iter().map(|[a, b, c]| [*a, *c, *b]).collect();
        let problem = CachedHand::new(inside_out, vec![0.0], vec![positions.clone()]).unwrap_err();
        assert!(problem.contains("face inwards"), "{problem}");
        let problem =
            CachedHand::new(triangles, vec![1.0, 0.0], vec![positions.clone(), positions]).unwrap_err();
        assert!(problem.contains("do not ascend"), "{problem}");
    }
}
