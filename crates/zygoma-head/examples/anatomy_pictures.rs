//! x
use std::io::Write;
fn main() {
    let dir = "/tmp/anatomy";
    let mut out = std::fs::File::create(format!("{dir}/bones.obj")).unwrap();
    let mut first = 1;
    for which in 0..2 {
        let t0 = std::time::Instant::now();
        let (p, t) = zygoma_head::anatomy::bone_preview(which);
        eprintln!("{} {} {:?}", p.len(), t.len(), t0.elapsed());
        for v in &p { writeln!(out, "v {} {} {}", v.x / 1000.0, v.y / 1000.0, v.z / 1000.0).unwrap(); }
        for f in &t { writeln!(out, "f {} {} {}", f[0] + first, f[1] + first, f[2] + first).unwrap(); }
        first += p.len() as u32;
    }
}
