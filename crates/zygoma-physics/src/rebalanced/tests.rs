//! Bars that change (*Blendvolumes*, Fig. 5 and 6).

use glam::DVec3;

use super::*;
use crate::projective::test_bodies::Block;

const SOFT: Lame = Lame { mu: 3e3, lambda: 2.5e3 };

/// A bar along x, held at its left end; thick enough not to buckle while it lags behind its own growth.
struct Bar {
    block: Block,
    free: usize,
}

impl Bar {
    fn new() -> Self {
        let mut block = Block::new([6, 3, 3], DVec3::new(0.06, 0.03, 0.03));
        let free = block.free_first(|p| p.x > 1e-9);
        Self { block, free }
    }

    fn solid(&self, material: Lame, seconds: f64) -> Solid {
        let materials = vec![material; self.block.tets.len()];
        let input = SolidInput {
            rest: &self.block.positions,
            free: self.free,
            tets: &self.block.tets,
            materials: &materials,
            springs: &[],
            density: 1100.0,
        };
        let mut solid = Solid::new(&input, StepRule::new(seconds)).unwrap();
        solid.accuracy =
            Accuracy { iterations: 200, least_motion: 1e-10, tolerance: 1e-6, ..Accuracy::default() };
        solid
    }

    /// The rest shape, stretched along x.
    fn stretched(&self, by: f64) -> Vec<DVec3> {
        self.block.positions.iter().map(|p| DVec3::new(by * p.x, p.y, p.z)).collect()
    }

    fn materials(&self, material: Lame) -> Vec<Lame> {
        vec![material; self.block.tets.len()]
    }

    fn forces(&self, solid: &Solid, acceleration: DVec3) -> Vec<Row<f32>> {
        solid.masses().iter().map(|mass| row(*mass * acceleration)).collect()
    }

    /// The vertex at the far end.
    fn tip(&self) -> usize {
        (0..self.free)
            .max_by(|a, b| self.block.positions[*a].x.total_cmp(&self.block.positions[*b].x))
            .unwrap()
    }
}

fn displacement(solid: &Solid, vertex: usize) -> DVec3 {
    crate::projective::position(&solid.displacements[vertex])
}

/// How far the far end swings, m, while the bar is made longer by a tenth within a tenth of a second.
fn swing_while_growing(alpha: f64, step_time: f64) -> f64 {
    let bar = Bar::new();
    let mut solid = bar.solid(SOFT, step_time);
    let none = bar.forces(&solid, DVec3::ZERO);
    let mut most = 0.0_f64;
    for step in 1..=(0.3 / step_time).round() as u32 {
        solid.step(&none, &mut ());
        let by = 1.0 + 0.1 * (10.0 * f64::from(step) * step_time).min(1.0);
        solid.change_rest((&bar.stretched(by), &bar.materials(SOFT)), alpha, &none, &mut ());
        most = most.max(displacement(&solid, bar.tip()).length());
    }
    most
}

#[test]
fn a_bar_that_grows_does_not_swing_unless_asked_to() {
    for steps in [300.0, 100.0, 60.0] {
        let swings = [1.0, 0.75, 0.5, 0.25, 0.0].map(|alpha| swing_while_growing(alpha, 1.0 / steps));
        assert_eq!(swings[0], 0.0, "exactly its rest shape");
        assert!(swings.is_sorted() && swings[4] > 5e-4, "monotone in alpha at 1/{steps} s: {swings:?}");
    }
}

/// The largest vertical speed of the far end of a bar that hangs down under gravity while it becomes softer, m/s.
fn speed_while_softening(rebalances: bool) -> f64 {
    let bar = Bar::new();
    let stiff = Lame { mu: 6.0 * SOFT.mu, lambda: 6.0 * SOFT.lambda };
    let mut solid = bar.solid(stiff, PUBLISHED_STEP);
    let gravity = bar.forces(&solid, DVec3::new(0.0, -2.0, 0.0));
    solid.settle(&gravity);
    let mut most = 0.0_f64;
    for step in 1..=60 {
        solid.step(&gravity, &mut ());
        most = most.max(f64::from(solid.velocities[bar.tip()][1].abs()));
        let softer = 1.0 - 0.5 * (f64::from(step) / 15.0).min(1.0);
        let material = Lame { mu: softer * stiff.mu, lambda: softer * stiff.lambda };
        let next = (&bar.block.positions[..], &bar.materials(material)[..]);
        solid.change_rest(next, if rebalances { 1.0 } else { 0.0 }, &gravity, &mut ());
    }
    most
}

#[test]
fn a_bar_that_softens_sinks_without_a_swing() {
    let [balanced, naive] = [true, false].map(speed_while_softening);
    assert!(naive > 0.005 && balanced < 0.01 * naive, "{balanced} against {naive} m/s");
}

/// Positions of a plain simulation, without displacements: implicit Euler steps on a solid that is rebuilt in every new rest shape.
fn naive_positions(bar: &Bar, steps: usize) -> Vec<DVec3> {
    let mut x: Vec<DVec3> = bar.block.positions.clone();
    let mut v = vec![DVec3::ZERO; bar.free];
    for step in 1..=steps {
        let by = 1.0 + 0.1 * (step as f64 / 30.0).min(1.0);
        let rest = bar.stretched(by);
        let materials = bar.materials(SOFT);
        let input = SolidInput {
            rest: &rest,
            free: bar.free,
            tets: &bar.block.tets,
            materials: &materials,
            springs: &[],
            // The mass is that of the first shape.
            density: 1100.0 / by,
        };
        let mut solid = Solid::new(&input, StepRule::new(PUBLISHED_STEP)).unwrap();
        solid.accuracy =
            Accuracy { iterations: 200, least_motion: 1e-10, tolerance: 1e-6, ..Accuracy::default() };
        for i in 0..bar.free {
            solid.displacements[i] = row(x[i] - rest[i]);
            solid.velocities[i] = row(v[i]);
        }
        solid.step(&vec![[0.0; 4]; bar.free], &mut ());
        for i in 0..bar.free {
            x[i] = rest[i] + displacement(&solid, i);
            v[i] = crate::projective::position(&solid.velocities[i]);
        }
        (bar.free..x.len()).for_each(|i| x[i] = rest[i]);
    }
    x
}

#[test]
fn without_rebalancing_it_is_a_naive_simulation() {
    let bar = Bar::new();
    let mut solid = bar.solid(SOFT, PUBLISHED_STEP);
    let none = bar.forces(&solid, DVec3::ZERO);
    for step in 1..=20 {
        solid.step(&none, &mut ());
        let by = 1.0 + 0.1 * f64::from(step) / 30.0;
        solid.change_rest((&bar.stretched(by), &bar.materials(SOFT)), 0.0, &none, &mut ());
    }
    let naive = naive_positions(&bar, 20);
    let off = |v: usize| (solid.rest.positions[v] + displacement(&solid, v)).distance(naive[v]);
    let worst = (0..bar.free).map(off).fold(0.0, f64::max);
    let moved = (0..bar.free).map(|v| displacement(&solid, v).length()).fold(0.0, f64::max);
    assert!(worst < 1e-5 && moved > 3e-4, "{worst} m, after {moved} m");
}

/// Time in which the swing of a released bar halves, s.
fn half_life(seconds: f64) -> f64 {
    let bar = Bar::new();
    let mut solid = bar.solid(SOFT, seconds);
    solid.settle(&bar.forces(&solid, DVec3::new(0.0, -0.3, 0.0)));
    let none = bar.forces(&solid, DVec3::ZERO);
    // Heights of the swing at its turning points, over the time between the first and the last.
    let (mut peaks, mut last) = (Vec::new(), [displacement(&solid, bar.tip()).y; 2]);
    for step in 1..(3.0 / seconds) as usize {
        solid.step(&none, &mut ());
        let y = displacement(&solid, bar.tip()).y;
        if (last[1] - last[0]) * (y - last[1]) < 0.0 {
            peaks.push((step as f64 * seconds, last[1].abs()));
        }
        last = [last[1], y];
    }
    let ((t0, a), (t1, b)) = (peaks[0], peaks[4]);
    (t1 - t0) * std::f64::consts::LN_2 / (a / b).ln()
}

#[test]
fn other_steps_are_damped_alike() {
    let published = half_life(PUBLISHED_STEP);
    for steps in [600.0, 150.0, 100.0, 60.0] {
        let found = half_life(1.0 / steps);
        assert!((found / published - 1.0).abs() < 0.1, "{found} against {published} s at 1/{steps} s");
    }
}

#[test]
fn floating_parts_keep_their_place() {
    let block = Block::new([2, 2, 2], DVec3::splat(0.02));
    let materials = vec![SOFT; block.tets.len()];
    let input = SolidInput {
        rest: &block.positions,
        free: block.positions.len(),
        tets: &block.tets,
        materials: &materials,
        springs: &[],
        density: 1000.0,
    };
    let mut solid = Solid::new(&input, StepRule::new(PUBLISHED_STEP)).unwrap();
    let none = vec![[0.0; 4]; block.positions.len()];
    let positions: Vec<DVec3> = block.positions.iter().map(|p| 1.1 * *p).collect();
    solid.change_rest((&positions, &materials), 1.0, &none, &mut ());
    assert!(solid.is_at_rest());
}

#[test]
fn newtons_method_finds_the_same_motion_in_fewer_steps() {
    let bar = Bar::new();
    let swing = |method: Method| {
        let mut solid = bar.solid(SOFT, PUBLISHED_STEP);
        solid.accuracy.method = method;
        let gravity = bar.forces(&solid, DVec3::new(0.0, -9.81, 0.0));
        let iterations: usize = (0..30).map(|_| solid.step(&gravity, &mut ()).iterations()).sum();
        (displacement(&solid, bar.tip()), iterations)
    };
    let ((quasi, many), (newton, few)) = (swing(Method::QuasiNewton), swing(Method::Newton));
    assert!(quasi.y < -1e-3 && quasi.distance(newton) < 1e-6, "{quasi} {newton}");
    assert!(2 * few < many, "{few} against {many}");
}

/// A floor that the bar's far end may not sink through, as stiff springs.
struct Floor {
    group: Handle<Attachments<f32>>,
    tip: u32,
    height: f64,
}

impl Transients for Floor {
    fn begin(&mut self, solid: &mut Constrained<'_>) {
        self.renew(solid);
    }

    fn renew(&mut self, solid: &mut Constrained<'_>) -> bool {
        self.clear(solid);
        let at = crate::projective::position(&solid.displacements[self.tip as usize]);
        let is_below = at.y < self.height;
        if is_below {
            let target = [at.x, self.height, at.z];
            let spring = Target { weight: 1e4, target };
            solid.system.group_mut(self.group).push(&Stencil::vertex(self.tip), spring);
        }
        is_below
    }

    fn end(&mut self, _: &mut Constrained<'_>) {}

    fn clear(&mut self, solid: &mut Constrained<'_>) {
        solid.system.group_mut(self.group).clear();
    }
}

#[test]
fn transient_constraints_hold_a_solid_and_are_no_elastic_forces() {
    let bar = Bar::new();
    let mut solid = bar.solid(SOFT, PUBLISHED_STEP);
    let group = solid.system.add_transient(Attachments::new()).unwrap();
    let mut floor = Floor { group, tip: bar.tip() as u32, height: -1e-3 };
    let gravity = bar.forces(&solid, DVec3::new(0.0, -9.81, 0.0));
    for _ in 0..150 {
        solid.step(&gravity, &mut floor);
        solid.change_rest((&bar.block.positions, &bar.materials(SOFT)), 1.0, &gravity, &mut floor);
    }
    let held = displacement(&solid, bar.tip()).y;
    assert!((-1.1e-3..-0.9e-3).contains(&held), "{held}");
}
