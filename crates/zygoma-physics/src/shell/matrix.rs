//! The constant matrix of a time step.

use zygoma_numerics::SymmetricMatrix;

use super::{Shell, ShellParams, Stiffness};

/// ∂²Ψ/∂x² with lagged directions: constant, and the same for x, y and z, so one row per vertex (IFA eq. 11).
pub(super) fn step_matrix(shell: &Shell, stiffness: &Stiffness, params: &ShellParams) -> SymmetricMatrix {
    let mut matrix = elastic_matrix(shell, stiffness);
    for (vertex, area) in shell.area.iter().enumerate() {
        matrix.add(vertex, vertex, rigid_resistance(params, *area));
    }
    matrix
}

/// The diagonal entry of a vertex of this area from inertia, damping and actuation.
pub(super) fn rigid_resistance(params: &ShellParams, area: f64) -> f64 {
    let inertia = 1.0 / (params.step_time * params.step_time) + params.damping / params.step_time;
    params.density * area * inertia + params.actuation(area)
}

/// The matrix of springs and bending elements.
fn elastic_matrix(shell: &Shell, stiffness: &Stiffness) -> SymmetricMatrix {
    let mut entries = Vec::with_capacity(3 * shell.springs.len() + 10 * shell.bends.len());
    for spring in &shell.springs {
        let weight = spring.rest_length * stiffness.of_spring(spring);
        let [a, b] = spring.ends.map(|v| v as usize);
        entries.extend([(a, a, weight), (b, b, weight), (a, b, -weight)]);
    }
    for bend in &shell.bends {
        let weight = bend.scale * stiffness.of_bend(bend);
        for i in 0..4 {
            for j in 0..=i {
                let value = weight * bend.weights[i] * bend.weights[j];
                entries.push((bend.vertices[i] as usize, bend.vertices[j] as usize, value));
            }
        }
    }
    SymmetricMatrix::from_entries(shell.vertex_count(), &entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::test_shells::bumpy_sheet;

    #[test]
    fn moving_everything_meets_only_inertia_and_actuation() {
        let shell = bumpy_sheet(7, 5);
        let params = ShellParams::default();
        let matrix = step_matrix(&shell, &Stiffness::uniform(shell.vertex_count(), 3.0, 2.0), &params);
        let mut out = vec![[0.0]; shell.vertex_count()];
        matrix.multiply(&vec![[1.0]; shell.vertex_count()], &mut out);
        for (value, area) in out.iter().zip(&shell.area) {
            let expected = area * (0.1 / 4e-6 + 0.01 * 0.1 / 2e-3 + 1e4);
            assert!((value[0] - expected).abs() < 1e-9 * expected);
        }
    }
}
