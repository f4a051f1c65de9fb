//! A layer of tissue under a skin: a second surface below it and tetrahedra between (*Progressive PD*, §4.1).

use glam::DVec3;
use zygoma_geometry::curve::along_curve;
use zygoma_geometry::laplacian::Laplacian;
use zygoma_geometry::normals::area_vector;
use zygoma_geometry::tets::{TetMesh, split_prism, volume};
use zygoma_numerics::{Analysis, Cholesky, NotPositiveDefinite, SymmetricMatrix};

/// Parameters of the surface under the skin. The paper publishes no values; these are ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HypodermisParams {
    /// w_smooth of *Progressive PD* eq. 13, for a Laplacian in units of length (the offset from the mean of the neighbours).
    pub(crate) smooth: f64,
    /// w_lap of *Progressive PD* eq. 13.
    pub(crate) keep_curvature: f64,
}

/// A tetrahedron is valid above this fraction of the volume of a third of an upright prism.
const SOUND: f64 = 0.08;
/// Slivers below this fraction are valid, but several shapes together invert them: they are avoided where possible.
const SLIVER: f64 = 0.3;
/// Where an element is not valid, the tissue is thinned by this factor, this many times at most: thinner tissue would be too stiff across
/// to be worth simulating. Slivers are thinned in the first rounds only.
const THINNER: f64 = 0.75;
const ROUNDS: usize = 12;
const SLIVER_ROUNDS: usize = 4;

/// The tissue between skin and hypodermis: the skin's vertices first, then as many below them.
pub(crate) struct Hypodermis {
    pub(crate) mesh: TetMesh,
    /// The skin's triangle above every three tetrahedra.
    pub(crate) triangles: Vec<u32>,
    /// Triangles of the skin with no room for valid elements below them, at its sharpest folds.
    pub(crate) bare: Vec<[u32; 3]>,
}

impl Hypodermis {
    /// Builds the tissue under a skin. Thins it where elements would be inverted or flat; leaves out prisms whose elements stay invalid,
    /// and those that the caller flags.
    pub(crate) fn new(
        skin: &[DVec3],
        triangles: &[[u32; 3]],
        thickness: Vec<f64>,
        left_out: &[bool],
        params: &HypodermisParams,
    ) -> Result<Self, NotPositiveDefinite> {
        let normals = seen_normals(skin, triangles);
        let smoother = Smoother::new(skin, triangles, params)?;
        let mut thickness = thickness;
        let mut is_sliver = vec![false; skin.len()];
        let mut best: Option<([usize; 2], Vec<DVec3>, Vec<bool>)> = None;
        for round in 0..ROUNDS {
            let mut inner: Vec<DVec3> =
                (0..skin.len()).map(|v| skin[v] - thickness[v] * normals[v]).collect();
            let smooth = smoother.smooth(&inner);
            // Late rounds give up on smoothness where it inverts an element.
            let is_upright = |v: usize| is_sliver[v] && round >= ROUNDS / 2;
            (0..skin.len()).filter(|v| !is_upright(*v)).for_each(|v| inner[v] = smooth[v]);
            let fullness = least_fullness(skin, &inner, triangles, &thickness);
            let below = |fraction: f64| -> (usize, Vec<bool>) {
                let mut is_below = vec![false; skin.len()];
                let found = triangles.iter().zip(&fullness).filter(|(_, least)| **least < fraction);
                let count = found.clone().count();
                found.flat_map(|(t, _)| t).for_each(|v| is_below[*v as usize] = true);
                (count, is_below)
            };
            let (unsound, is_unsound) = below(SOUND);
            let (slivers, now_slivers) = below(SLIVER);
            is_sliver = now_slivers;
            // Thinning one prism may bend its neighbours: keeps the best round.
            if best.as_ref().is_none_or(|best| [unsound, slivers] < best.0) {
                let is_unsound = fullness.iter().map(|least| *least < SOUND).collect();
                best = Some(([unsound, slivers], inner, is_unsound));
            }
            if slivers == 0 {
                break;
            }
            let is_thin = if round < SLIVER_ROUNDS { &is_sliver } else { &is_unsound };
            (0..skin.len()).filter(|v| is_thin[*v]).for_each(|v| thickness[v] *= THINNER);
        }
        let (_, inner, unsound) = best.unwrap_or_default();
        let (mut bare, mut kept) = (Vec::new(), Vec::new());
        let mut tets = Vec::with_capacity(3 * triangles.len());
        let first_corners: Vec<DVec3> = triangles.iter().map(|t| skin[t[0] as usize]).collect();
        for index in along_curve(&first_corners) {
            let t = triangles[index as usize];
            if unsound[index as usize] || left_out[index as usize] {
                bare.push(t);
            } else {
                tets.extend(prism(skin.len(), t));
                kept.push(index);
            }
        }
        let positions = skin.iter().chain(&inner).copied().collect();
        Ok(Self { mesh: TetMesh { positions, tets }, triangles: kept, bare })
    }
}

/// The smallest volume of an element under each triangle, as a fraction of a third of an upright prism.
fn least_fullness(skin: &[DVec3], inner: &[DVec3], triangles: &[[u32; 3]], thickness: &[f64]) -> Vec<f64> {
    let least = |t: &[u32; 3]| {
        let mean = t.map(|v| thickness[v as usize]).iter().sum::<f64>() / 3.0;
        let expected = (mean * area(skin, t) / 3.0).max(f64::MIN_POSITIVE);
        let fullness = |tet: [u32; 4]| tet_volume(skin, inner, tet) / expected;
        prism(skin.len(), *t).into_iter().map(fullness).fold(f64::INFINITY, f64::min)
    };
    triangles.iter().map(least).collect()
}

/// The elements under a triangle of a skin with the given number of vertices.
fn prism(count: usize, triangle: [u32; 3]) -> [[u32; 4]; 3] {
    split_prism(triangle, triangle.map(|v| v + count as u32))
}

fn tet_volume(skin: &[DVec3], inner: &[DVec3], tet: [u32; 4]) -> f64 {
    volume(tet.map(|v| {
        let v = v as usize;
        if v < skin.len() { skin[v] } else { inner[v - skin.len()] }
    }))
}

fn area(skin: &[DVec3], t: &[u32; 3]) -> f64 {
    let [a, b, c] = t.map(|v| skin[v as usize]);
    0.5 * (b - a).cross(c - a).length()
}

/// Vertex normals that lie on the outer side of all triangles around a vertex: a mean normal that points behind one of them is tilted
/// towards it.
pub(crate) fn seen_normals(skin: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut around = vec![Vec::new(); skin.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| skin[v as usize]);
        let normal = area_vector(a, b, c);
        t.iter().for_each(|v| around[*v as usize].push(normal));
    }
    const SEEN: f64 = 0.2;
    let direction = |list: &Vec<DVec3>| {
        let units: Vec<DVec3> = list.iter().map(|n| n.normalize_or_zero()).collect();
        let mut normal = list.iter().sum::<DVec3>().normalize_or_zero();
        for _ in 0..20 {
            let worst = units.iter().min_by(|a, b| a.dot(normal).total_cmp(&b.dot(normal)));
            match worst {
                Some(unit) if unit.dot(normal) < SEEN => normal = (normal + 0.5 * *unit).normalize_or_zero(),
                _ => break,
            }
        }
        normal
    };
    around.iter().map(direction).collect()
}

/// Solves *Progressive PD* eq. 13 for any extruded surface t.
struct Smoother {
    factor: std::cell::RefCell<Cholesky>,
    /// w_lap LᵀL x₀.
    curvature: Vec<DVec3>,
}

impl Smoother {
    fn new(
        skin: &[DVec3],
        triangles: &[[u32; 3]],
        params: &HypodermisParams,
    ) -> Result<Self, NotPositiveDefinite> {
        // Rows of L: a vertex less the weighted mean of its neighbours.
        let rows: Vec<Vec<(usize, f64)>> = Laplacian::new(skin, triangles)
            .rows
            .iter()
            .enumerate()
            .map(|(v, row)| {
                let total: f64 = row.iter().map(|(_, w)| w).sum();
                let mean = row.iter().filter(|_| total > 0.0).map(|(j, w)| (*j as usize, -w / total));
                std::iter::once((v, 1.0)).chain(mean).collect()
            })
            .collect();
        let weight = params.smooth + params.keep_curvature;
        let mut entries: Vec<(usize, usize, f64)> = (0..skin.len()).map(|v| (v, v, 1.0)).collect();
        for row in &rows {
            for (place, (i, a)) in row.iter().enumerate() {
                entries.extend(row[..=place].iter().map(|(j, b)| (*i, *j, weight * a * b)));
            }
        }
        let mut curvature = vec![DVec3::ZERO; skin.len()];
        for row in &rows {
            let bent: DVec3 = row.iter().map(|(j, c)| *c * skin[*j]).sum();
            row.iter().for_each(|(j, c)| curvature[*j] += params.keep_curvature * *c * bent);
        }
        let matrix = SymmetricMatrix::from_entries(skin.len(), &entries);
        let factor = Cholesky::new(Analysis::new(&matrix), &matrix)?;
        Ok(Self { factor: factor.into(), curvature })
    }

    fn smooth(&self, extruded: &[DVec3]) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; extruded.len()];
        for axis in 0..3 {
            let mut column: Vec<f64> =
                extruded.iter().zip(&self.curvature).map(|(t, c)| t[axis] + c[axis]).collect();
            self.factor.borrow_mut().solve_in_place(&mut column);
            out.iter_mut().zip(&column).for_each(|(p, value)| p[axis] = *value);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zygoma_geometry::shapes;

    const PARAMS: HypodermisParams = HypodermisParams { smooth: 0.3, keep_curvature: 1.0 };

    #[test]
    fn a_sphere_gets_a_shell_of_the_wanted_thickness() {
        let (positions, triangles) = shapes::sphere(20, 30);
        let skin: Vec<DVec3> = positions.iter().map(|p| 0.1 * p.as_dvec3()).collect();
        let tissue_mesh = Hypodermis::new(
            &skin,
            &triangles,
            vec![0.01; skin.len()],
            &vec![false; triangles.len()],
            &PARAMS,
        )
        .unwrap();
        assert_eq!(tissue_mesh.mesh.inverted(), 0);
        assert_eq!(tissue_mesh.mesh.tets.len(), 3 * triangles.len());
        for v in 0..skin.len() {
            let depth = skin[v].length() - tissue_mesh.mesh.positions[skin.len() + v].length();
            assert!((0.008..0.014).contains(&depth), "{depth}");
        }
    }

    #[test]
    fn tissue_thicker_than_a_fold_allows_becomes_thinner_by_itself() {
        // A ridge with a crest sharper than the tissue is thick.
        let (flat, triangles) = shapes::square(40);
        let ridge = |p: &glam::Vec3| {
            let p = 0.1 * p.as_dvec3();
            DVec3::new(p.x, p.y, 0.008 * (-((p.x - 0.05) / 0.006).powi(2)).exp())
        };
        let skin: Vec<DVec3> = flat.iter().map(ridge).collect();
        let tissue_mesh = Hypodermis::new(
            &skin,
            &triangles,
            vec![0.008; skin.len()],
            &vec![false; triangles.len()],
            &PARAMS,
        )
        .unwrap();
        assert_eq!(tissue_mesh.mesh.inverted(), 0);
        assert!(tissue_mesh.bare.is_empty(), "no element is left out");
        let depths: Vec<f64> =
            (0..skin.len()).map(|v| skin[v].distance(tissue_mesh.mesh.positions[skin.len() + v])).collect();
        let (thin, thick) = depths.iter().fold((1.0, 0.0), |(a, b): (f64, f64), t| (a.min(*t), b.max(*t)));
        assert!(thin < 0.006 && thick > 0.007, "{thin} {thick}");
    }
}
