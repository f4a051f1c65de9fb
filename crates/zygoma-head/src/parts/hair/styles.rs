//! The styles: where clumps are rooted, and where they flow.

use std::f64::consts::TAU;

use glam::DVec3;

use super::grow::Clump;
use super::shell::{self, direction, hairline_elevation, scalp_point};
use crate::dice::Dice;
use crate::parts::grid;
use crate::parts::strands::{Sides, Strands};
use crate::scalp::above_hairline;
use crate::sculpt::ear::is_ear;
use crate::sculpt::field::{at, ramp};
use crate::sculpt::skin;
use crate::sculpt::skull::masses;
use crate::uv::HAIR;

/// Thickness of the shell under the clumps, mm.
const SHELL: f64 = 1.4;

/// A random point of the scalp at least so high above the hairline.
fn scattered(dice: &mut Dice, least: f64) -> DVec3 {
    loop {
        let (around, rise) = (dice.between(0.0, TAU), dice.between(-0.75, 1.0));
        let p = scalp_point(direction(around, rise.asin()));
        if above_hairline(p) > least && !is_ear(at(p.x.abs(), p.y, p.z)) {
            return p;
        }
    }
}

/// A point at the hairline.
fn at_hairline(around: f64, inset: f64) -> DVec3 {
    scalp_point(direction(around, hairline_elevation(around) + inset))
}

/// Points spread over a part of the hairline, each a little behind it.
fn along_hairline(dice: &mut Dice, count: u32, (from, to): (f64, f64), inset: (f64, f64)) -> Vec<DVec3> {
    let place = |i: u32| {
        let share = (f64::from(i) + dice.unit()) / f64::from(count);
        at_hairline(from + (to - from) * share, dice.between(inset.0, inset.1))
    };
    (0..count).map(place).collect()
}

fn push(strands: &mut Strands, clump: &Clump<'_>, sides: Sides, dice: &mut Dice) {
    let tone = dice.between(0.0, 0.7);
    strands.push(&clump.grown(), sides, HAIR, (tone, tone + 0.28), (0.05, 0.95));
}

/// A little disorder: the same in a neighbourhood.
fn stray(p: DVec3, by: f64) -> DVec3 {
    by * at((0.31 * p.y + 0.17 * p.z).sin(), (0.23 * p.x + 0.29 * p.z).sin(), (0.27 * p.x - 0.19 * p.y).sin())
}

/// Short hair, combed over from a parting on the left.
pub(super) fn short() -> Strands {
    let mut dice = Dice::new(0x51);
    let mut strands = Strands::default();
    shell::add(&mut strands, SHELL, 1.0);
    // How much of the top a point belongs to; the parting ends it on the left.
    let top = |p: DVec3| {
        let front = ramp(30.0, 70.0, p.z);
        let high = ramp(80.0 - 30.0 * front, 104.0 - 26.0 * front, p.y);
        high * ramp(50.0, 38.0, p.x) * ramp(-70.0, -30.0, p.z)
    };
    let flow = |p: DVec3, share: f64| {
        let front = ramp(40.0, 90.0, p.z);
        let over = at(-0.85, 0.7 * front * (1.0 - share), 0.25 - 0.85 * front);
        let down = at(0.0, -0.9, -0.55 * ramp(-40.0, 30.0, p.z));
        down.lerp(over, top(p)) + stray(p, 0.18)
    };
    let clump = |dice: &mut Dice, root: DVec3, size: f64, strands: &mut Strands| {
        let long = top(root);
        let low = ramp(-30.0, 60.0, root.y);
        let rise = (0.5 + 0.9 * low + 3.4 * long) * dice.between(0.5, 1.3);
        let height = |share: f64| SHELL * size * ramp(0.0, 0.2, share) + rise * 2.1 * share * (1.4 - share);
        push(
            strands,
            &Clump {
                root,
                ground: masses,
                length: (13.0 + 10.0 * low + 22.0 * long) * dice.between(0.75, 1.25) * (0.4 + 0.6 * size),
                stations: if long > 0.3 { 7 } else { 4 },
                half: (1.0 + 0.6 * low + 1.4 * long) * (0.3 + 0.7 * size) * dice.between(0.7, 1.3),
                height: &height,
                flow: &flow,
                tip: 1.0,
                tilt: dice.between(-0.3, 0.3),
                hugs: &|_| 1.0,
            },
            Sides::Roof,
            dice,
        );
    };
    for i in 0..425 {
        let mut root = scattered(&mut dice, 3.0);
        // Two of five grow on the top.
        while i % 5 < 2 && top(root) < 0.3 {
            root = scattered(&mut dice, 3.0);
        }
        clump(&mut dice, root, 1.0, &mut strands);
    }
    for root in along_hairline(&mut dice, 140, (0.0, TAU), (-0.012, 0.05)) {
        clump(&mut dice, root, 0.45, &mut strands);
    }
    strands
}

/// Long hair that falls from a parting over the ears to the shoulders.
pub(super) fn long() -> Strands {
    const PARTING: f64 = 9.0;
    let mut dice = Dice::new(0x52);
    let mut strands = Strands::default();
    shell::add(&mut strands, SHELL, 0.5);
    let clump = |dice: &mut Dice, root: DVec3, size: f64, strands: &mut Strands| {
        let side = if root.x + 4.0 * (dice.unit() - 0.5) < PARTING { -1.0 } else { 1.0 };
        let wave = dice.between(0.0, TAU);
        let flow = |p: DVec3, share: f64| {
            let above = ramp(72.0, 116.0, p.y);
            // Sideways from the parting; from the crown in all directions.
            let parted = at(0.9 * side, 0.1, -0.55 * ramp(10.0, 80.0, p.z));
            let around = at(p.x, -20.0, p.z + 12.0).normalize_or_zero();
            let beside = parted.lerp(around, ramp(-8.0, -45.0, p.z));
            // Beside the face hair falls backwards, so that it never hangs before eyes or mouth.
            let back = -1.2 * ramp(24.0, 60.0, p.z) - 0.25 * ramp(5.0, 30.0, p.z);
            let sway = 0.14 * ramp(60.0, -20.0, p.y) * (wave + 8.0 * share).sin();
            let wide = p.x * side;
            let inwards = -side
                * (0.5 * ramp(74.0, 95.0, wide) + 0.2 * ramp(15.0, -50.0, p.y) * ramp(45.0, 70.0, wide));
            let fall = at(inwards + sway, -1.0, back + 0.7 * sway + 0.35 * ramp(-70.0, -112.0, p.z));
            fall.lerp(beside, above) + stray(p, 0.06)
        };
        let lift = dice.between(1.0, 7.0);
        let low = ramp(20.0, 90.0, root.y);
        let mut clump = Clump {
            root,
            ground: skin,
            length: root.y + 112.0 + 55.0 * low,
            stations: 10,
            half: dice.between(4.5, 7.5) * size,
            height: &|share| SHELL * ramp(0.0, 0.03, share) + lift * ramp(0.0, 0.12, share),
            flow: &flow,
            tip: 0.3,
            tilt: dice.between(-0.35, 0.35),
            hugs: &|p| 0.9 * ramp(-25.0, 25.0, p.y),
        };
        // All ends hang at about the same height, however long the way around the head is.
        let end = dice.between(-138.0, -108.0);
        let reached = clump.grown().last().map_or(end, |tip| tip.point.y);
        clump.length = (clump.length + reached - end).max(30.0);
        push(strands, &clump, Sides::Roof, dice);
    };
    curtain(&mut strands);
    for i in 0..110 {
        // Along the parting, from the forehead to the crown.
        let along = (f64::from(i) + dice.unit()) / 110.0;
        let x = PARTING + if i % 2 == 0 { -1.0 } else { 1.0 } * dice.between(0.3, 3.0);
        let elevation = hairline_elevation(0.09) + 0.01;
        let turned = elevation + along * (1.85 - elevation);
        let toward = at(x / 95.0, turned.sin(), turned.cos());
        clump(&mut dice, scalp_point(toward.normalize()), 1.0, &mut strands);
    }
    for root in along_hairline(&mut dice, 44, (-0.95, 0.95), (-0.01, 0.05)) {
        clump(&mut dice, root, 0.55, &mut strands);
    }
    for root in along_hairline(&mut dice, 34, (1.0, TAU - 1.0), (0.01, 0.08)) {
        clump(&mut dice, root, 0.9, &mut strands);
    }
    for i in 0..76 {
        let mut root = scattered(&mut dice, 4.0);
        // Most of them at the back, which the parting does not reach.
        while i % 4 > 0 && (root.z > -15.0 || root.y < 60.0) {
            root = scattered(&mut dice, 4.0);
        }
        clump(&mut dice, root, 1.0, &mut strands);
    }
    strands
}

/// A surface under the clumps of long hair, from above the ears to the shoulders: one sees it from inside, beside the neck.
fn curtain(strands: &mut Strands) {
    const COLUMNS: u32 = 34;
    const ROWS: usize = 8;
    let mut sheet = Vec::new();
    for column in 0..COLUMNS {
        let around = 1.05 + (TAU - 2.1) * f64::from(column) / f64::from(COLUMNS - 1);
        let side = if around < 0.5 * TAU { 1.0 } else { -1.0 };
        let flow = |p: DVec3, _: f64| {
            let back = -0.9 * ramp(20.0, 60.0, p.z);
            at(
                -0.28 * side * ramp(15.0, -50.0, p.y) * ramp(30.0, 70.0, p.x * side),
                -1.0,
                back + 0.10 * ramp(-40.0, -80.0, p.z),
            )
        };
        let root = scalp_point(direction(around, 0.45));
        let clump = Clump {
            root,
            ground: skin,
            length: root.y + if column % 2 == 0 { 84.0 } else { 100.0 },
            stations: ROWS,
            half: 0.0,
            height: &|share| 1.6 + 4.0 * ramp(0.15, 0.4, share),
            flow: &flow,
            tip: 1.0,
            tilt: 0.0,
            hugs: &|p| 0.8 * ramp(20.0, 60.0, p.y),
        };
        sheet.push(clump.grown());
    }
    for inside in [false, true] {
        let (mut points, mut places) = (Vec::new(), Vec::new());
        for row in 0..ROWS {
            for (column, stations) in sheet.iter().enumerate() {
                let station = stations[row];
                points.push(station.point - if inside { 0.8 } else { 0.0 } * station.out);
                let zigzag = (2.0 * (0.23 * column as f64).fract() - 1.0).abs();
                places.push(HAIR.at(zigzag, 0.1 + 0.5 * row as f64 / ROWS as f64));
            }
        }
        let turned = |t: [u32; 3]| if inside { [t[0], t[2], t[1]] } else { t };
        let triangles: Vec<[u32; 3]> = grid(ROWS as u32, COLUMNS, false).into_iter().map(turned).collect();
        strands.add(&points, &triangles, &places);
    }
}

/// Hair pulled back into a tail.
pub(super) fn tied() -> Strands {
    let knot = scalp_point(at(0.0, 0.18, -1.0).normalize());
    let tie = knot + 7.0 * at(0.0, 0.18, -1.0).normalize();
    let mut dice = Dice::new(0x53);
    let mut strands = Strands::default();
    shell::add(&mut strands, SHELL, 0.12);
    let pull = |p: DVec3, _: f64| (tie - p).normalize_or_zero() + stray(p, 0.05);
    let clump = |dice: &mut Dice, root: DVec3, size: f64, strands: &mut Strands| {
        let lift = dice.between(0.4, 2.6);
        let distance = root.distance(tie);
        push(
            strands,
            &Clump {
                root,
                ground: masses,
                // Around the skull the way is longer than through it.
                length: distance * (1.0 + 0.0026 * distance),
                stations: 10,
                half: size * dice.between(2.4, 4.4),
                height: &|share| (SHELL + lift) * ramp(0.0, 0.06, share) + 4.0 * ramp(0.8, 1.0, share),
                flow: &pull,
                tip: 1.0,
                tilt: dice.between(-0.25, 0.25),
                hugs: &|_| 1.0,
            },
            Sides::Roof,
            dice,
        );
    };
    for root in along_hairline(&mut dice, 170, (0.0, TAU), (-0.02, 0.05)) {
        clump(&mut dice, root, 0.7, &mut strands);
    }
    for _ in 0..70 {
        let root = scattered(&mut dice, 6.0);
        clump(&mut dice, root, 1.0, &mut strands);
    }
    for _ in 0..44 {
        let (turn, off) = (dice.between(0.0, TAU), dice.between(0.0, 9.0));
        let spread = at(off * turn.cos(), off * turn.sin(), 0.0);
        let flow = |_: DVec3, share: f64| {
            let fall = at(0.02 * spread.x * (0.5 - share), -1.0, -0.06 + 0.012 * spread.y);
            at(0.0, 0.25, -1.0).lerp(fall, ramp(0.0, 0.42, share))
        };
        push(
            &mut strands,
            &Clump {
                root: tie + spread + at(0.0, 0.0, 5.0),
                ground: skin,
                length: dice.between(125.0, 165.0),
                stations: 11,
                half: dice.between(3.4, 5.4),
                height: &|_| 4.0,
                flow: &flow,
                tip: 1.0,
                tilt: dice.between(-0.4, 0.4),
                hugs: &|_| 0.0,
            },
            Sides::All,
            &mut dice,
        );
    }
    strands
}
