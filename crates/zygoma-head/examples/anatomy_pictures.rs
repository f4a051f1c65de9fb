//! x
use std::io::Write;
use zygoma_head::{Head, HeadOptions, Level, anatomy::{Anatomy, checks}};
fn obj(path: &str, parts: &[(&[glam::DVec3], &[[u32; 3]], &str)]) {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut first = 1;
    for (p, t, name) in parts {
        writeln!(out, "usemtl {name}").unwrap();
        for v in *p { writeln!(out, "v {} {} {}", v.x, v.y, v.z).unwrap(); }
        for f in *t { writeln!(out, "f {} {} {}", f[0] + first, f[1] + first, f[2] + first).unwrap(); }
        first += p.len() as u32;
    }
}
fn main() {
    let head = Head::new(&HeadOptions::sampled(std::env::args().nth(1).map_or(0, |s| s.parse().unwrap()), Level::High));
    let t0 = std::time::Instant::now();
    let _ = Anatomy::new(&head);
    let t1 = std::time::Instant::now();
    let a = Anatomy::new(&head);
    println!("first {:?} again {:?}", t1 - t0, t1.elapsed());
    let (c, m) = (&a.cranium.surface, &a.mandible.surface);
    println!("cranium {} mandible {} wraps {} fill {} nodes {} tets", c.positions.len(), m.positions.len(), a.skin_wrap.positions.len(), a.fill.positions.len(), a.fill.tets.len());
    println!("{:?} gaps mm {:?} across {} asym {}", checks::inverted(&a), checks::wrap_gaps(&a).map(|g| 1000.0 * g), checks::across_the_slit(), checks::asymmetry(&a));
    for (n, s) in [("cranium", c), ("mandible", m), ("skin_wrap", &a.skin_wrap)] {
        let e = zygoma_geometry::topology::EdgeCounts::new(&s.triangles);
        println!("{n}: border {} nonmanifold {} crossing {}", e.border().len(), e.non_manifold().len(), zygoma_geometry::intersect::crossing_pairs(&s.positions, &s.triangles).len());
    }
    println!("out of wraps: cranium {:.2} mandible {:.2} mm; skin of skin wrap {:.2} mm", 1e3 * checks::sticks_out(&c.positions, &a.skull_wrap), 1e3 * checks::sticks_out(&m.positions, &a.skull_wrap), 1e3 * checks::sticks_out(&head.skin.positions, &a.skin_wrap));
    let (low, high) = a.fill.dihedral_range();
    let v = a.fill.volumes();
    println!("fill dihedral {:.1}..{:.1} vol {:.1} cm3 min {:.4} mm3", low.to_degrees(), high.to_degrees(), 1e6 * v.iter().sum::<f64>(), 1e9 * v.iter().copied().fold(9.0, f64::min));
    let mut ties = [0; 5]; for t in &a.fill_ties { ties[*t as usize] += 1 } println!("ties {ties:?}");
    for c in checks::covers(&head, &a, true) { if c.bone < 1.5e-3 || c.ridge < 1e-3 || c.ridge_to_lips < 8e-4 || c.teeth_to_lips < 8e-4 || c.expression == "neutral" {
        println!("{:20} bone {:6.2} at {:.0} ridge {:.2} lips {:.2} teeth {:.2} at {:.0}", c.expression, 1e3 * c.bone, 1e3 * c.bone_at, 1e3 * c.ridge, 1e3 * c.ridge_to_lips, 1e3 * c.teeth_to_lips, 1e3 * c.teeth_at); } }
    let teeth: Vec<_> = head.parts.iter().filter(|p| p.name.starts_with("teeth")).collect();
    obj("/tmp/anatomy/bones.obj", &[(&c.positions, &c.triangles, "bone"), (&m.positions, &m.triangles, "bone"), (&teeth[0].positions, &teeth[0].triangles, "teeth"), (&teeth[1].positions, &teeth[1].triangles, "teeth")]);
    for (n, w) in [("skin", &a.skin_wrap), ("muscle", &a.muscle_wrap), ("skull", &a.skull_wrap)] { obj(&format!("/tmp/anatomy/{n}_wrap.obj"), &[(&w.positions, &w.triangles, "wrap")]); }
    obj("/tmp/anatomy/fill.obj", &[(&a.fill.positions, &a.fill.boundary(), "fill")]);
}
