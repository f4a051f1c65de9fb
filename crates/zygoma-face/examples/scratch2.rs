use std::path::Path;
use zygoma_rig::formats::{Limits, read_rig};
fn main() {
    for path in std::env::args().skip(1) {
        let rig = read_rig(Path::new(&path), &Limits::default()).unwrap();
        let m = rig.skin();
        let j = zygoma_rig::jaw::jaw_driven_shapes(m);
        println!("{path} {:?}", j.iter().map(|i| m.shapes[*i].name.clone()).collect::<Vec<_>>());
        for s in &m.shapes {
            if s.name.contains("Puff") || s.name.contains("jawOpen") || s.name.contains("mouthSmile") {
                println!("{} largest {}", s.name, s.deltas.largest());
            }
        }
    }
}
