//! The part of the loss that depends on the stiffness alone (IFA eq. 18 and 19), in logarithms.

use zygoma_physics::shell::{Shell, Stiffness};

use super::FitParams;

/// Stiffness in the optimiser's variables: ln κ^s of all vertices, then ln κ^b.
pub(super) fn stiffness_of(logs: &[f64]) -> Stiffness {
    let (strain, bending) = logs.split_at(logs.len() / 2);
    let exp = |values: &[f64]| values.iter().map(|v| v.exp()).collect();
    Stiffness { strain: exp(strain), bending: exp(bending) }
}

/// The inverse of [`stiffness_of`].
pub(super) fn logs_of(stiffness: &Stiffness) -> Vec<f64> {
    stiffness.strain.iter().chain(&stiffness.bending).map(|value| value.ln()).collect()
}

/// Value of the stiffness terms; adds their derivatives by the logarithms to `gradient`.
pub(super) fn add_stiffness_loss(
    shell: &Shell,
    params: &FitParams,
    wanted: &[f64],
    logs: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let count = shell.vertex_count();
    let mut loss = 0.0;
    for half in 0..2 {
        let wanted = &wanted[half * count..][..count];
        let logs = &logs[half * count..][..count];
        let gradient = &mut gradient[half * count..][..count];
        for i in 0..count {
            let (value, area) = (logs[i].exp(), shell.area[i]);
            let off = value - wanted[i];
            let extreme = logs[i] - wanted[i].ln();
            loss += 0.5 * area * (params.target_weight * off * off + params.extremes * extreme * extreme);
            gradient[i] += area * (params.target_weight * off * value + params.extremes * extreme);
        }
        for spring in &shell.springs {
            let [a, b] = spring.ends.map(|v| v as usize);
            let (at_a, at_b) = (logs[a].exp(), logs[b].exp());
            let weight = params.smoothness / spring.rest_length.powi(2);
            loss += 0.5 * weight * (at_a - at_b).powi(2);
            gradient[a] += weight * (at_a - at_b) * at_a;
            gradient[b] -= weight * (at_a - at_b) * at_b;
        }
    }
    loss
}
