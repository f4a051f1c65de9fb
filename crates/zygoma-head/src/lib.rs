//! **What is inside a head?**
//!
//! The built-in head, made by code.
mod bake;
mod base;
mod extract;
mod sculpt;
mod surface;

pub use bake::bake;

/// How finely the head is meshed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// About 3,500 vertices.
    Low,
    /// About 7,000 vertices.
    Middle,
    /// About 14,000 vertices.
    #[default]
    High,
}

#[allow(missing_docs)]
pub fn debug(level: Level) {
    if level == Level::Low { let d = glam::DVec3::new(6.6, 9.0, 10.6).normalize(); for i in 0..14 { let r = 14.8 + 0.3 * i as f64; eprint!("{r:.1}:{:.2} ", sculpt::skin(sculpt::eyes::CENTRE + r * d)); } eprintln!("probe"); }
    let b = base::Base::new(level);
    eprintln!("{level:?} {} verts {} tris; inner {:?} outer {:?} lids {:?} neck {}", b.rest.len(), b.triangles.len(), b.inner_lips.each_ref().map(Vec::len), b.outer_lips.each_ref().map(Vec::len), b.lids.each_ref().map(Vec::len), b.neck.len());
    for part in [base::Part::Outer, base::Part::UpperLip, base::Part::LowerLip, base::Part::UpperBag, base::Part::LowerBag, base::Part::LeftPocket, base::Part::RightPocket] {
        eprint!("{part:?}: {} ", b.parts.iter().filter(|p| **p == part).count());
    }
    let e = zygoma_geometry::topology::EdgeCounts::new(&b.triangles);
    eprintln!("\nborder {} nonmanifold {}", e.border().len(), e.non_manifold().len());
    let mut n = 0;
    for t in &b.triangles { let p = t.map(|v| b.open[v as usize]); if p[0].x < 0.0 { continue } let mut m: f64 = 9.0; for i in 0..3 { let (u, w) = (p[(i+1)%3]-p[i], p[(i+2)%3]-p[i]); m = m.min(u.angle_between(w)); } if m < 0.1 && n < 12 { n += 1; eprintln!("bad {:.1} at {:.2?} parts {:?}", m.to_degrees(), p[0], t.map(|v| b.parts[v as usize])); } }
    let mut worst: Vec<f64> = b.triangles.iter().map(|t| { let p = t.map(|v| b.open[v as usize]); let mut m: f64 = 9.0; for i in 0..3 { let (u, w) = (p[(i+1)%3]-p[i], p[(i+2)%3]-p[i]); m = m.min(u.angle_between(w)); } m.to_degrees() }).collect();
    worst.sort_by(f64::total_cmp);
    eprintln!("angles min {:.1} 0.1% {:.1} 1% {:.1} 10% {:.1}", worst[0], worst[worst.len()/1000], worst[worst.len()/100], worst[worst.len()/10]);
}
