//! sheet: writes /tmp/head/*.bin for the viewer: args: seed level name=w,...
use std::io::Write;
use zygoma_head::*;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let out = &args[0];
    let seed: u64 = args[1].parse().unwrap();
    let level = match &args[2][..] { "l" => Level::Low, "m" => Level::Middle, _ => Level::High };
    let t0 = std::time::Instant::now();
    let mut options = HeadOptions::sampled(seed, level);
    let mut sets: Vec<Vec<(String, f64)>> = vec![];
    for a in &args[3..] {
        if let Some(d) = a.strip_prefix("dial:") { let (n, v) = d.split_once('=').unwrap(); options.dials.set(n, v.parse().unwrap()).unwrap(); continue }
        sets.push(a.split(',').filter(|x| x.contains('=')).map(|x| { let (n, v) = x.split_once('=').unwrap(); (n.to_string(), v.parse().unwrap()) }).collect());
    }
    let head = Head::new(&options);
    eprintln!("verts {} made in {:?}", head.skin.positions.len(), t0.elapsed());
    let t0 = std::time::Instant::now();
    let head = Head::new(&options); let rig = head.rig();
    eprintln!("again {:?} shapes {}", t0.elapsed(), rig.meshes[0].shapes.len());
    let tex = head.texture();
    for (k, set) in sets.iter().enumerate() {
        let mut b: Vec<u8> = vec![];
        b.extend(tex.size.to_le_bytes());
        for p in &tex.pixels { b.extend([p[0], p[1], p[2], 0]) }
        b.extend((1 + head.parts.len() as u32).to_le_bytes());
        for m in std::iter::once(&head.skin).chain(&head.parts) {
            let mut pos = m.positions.clone();
            for (n, w) in set { for (name, d) in &m.shapes { if name == n || (n.ends_with('*') && name.starts_with(n.trim_end_matches('*'))) { for (p, o) in pos.iter_mut().zip(d) { *p += *w * *o; } } } }
            b.extend((pos.len() as u32).to_le_bytes()); b.extend((m.triangles.len() as u32).to_le_bytes());
            for p in &pos { for v in p.to_array() { b.extend((v as f32).to_le_bytes()) } }
            for t in &m.triangles { for v in t { b.extend(v.to_le_bytes()) } }
            for (i, t) in m.triangles.iter().enumerate() { for c in 0..3 {
                let idx = m.uvs.corners.as_ref().map_or(t[c], |x| x[3 * i + c]);
                let uv = m.uvs.coordinates[idx as usize];
                b.extend(uv.x.to_le_bytes()); b.extend(uv.y.to_le_bytes());
            } }
        }
        std::fs::File::create(format!("/tmp/head/{out}{k}.bin")).unwrap().write_all(&b).unwrap();
    }
}
