use std::path::Path;
use zygoma_face::interactive::fit::Continue;
use zygoma_face::interactive::{BuildParams, Places, build};
use zygoma_rig::formats::{Limits, read_rig};
fn main() {
    for path in std::env::args().skip(2) {
        let rig = read_rig(Path::new(&path), &Limits::default()).unwrap();
        let mut params = BuildParams {
            triangles: std::env::args().nth(1).unwrap().parse().unwrap(),
            ..BuildParams::default()
        };
        params.uniform_stiffness = Some(1.0);
        let face = build(&rig.name, rig.skin(), &params, &mut |_| Continue::Yes).unwrap();
        let n = face.shell.vertex_count();
        let mut s = vec![0.0f64; n];
        for shape in &face.shapes {
            let d = shape.coarse.to_dense(n);
            let (mut sum, mut c) = (vec![0.0; n], vec![0.0; n]);
            for sp in &face.shell.springs {
                let [a, b] = sp.ends.map(|v| v as usize);
                let q = face.shell.rest[a] + d[a].as_dvec3() - face.shell.rest[b] - d[b].as_dvec3();
                let e = (q.length() / sp.rest_length - 1.0).abs();
                for v in [a, b] {
                    sum[v] += e;
                    c[v] += 1.0;
                }
            }
            for v in 0..n {
                s[v] = s[v].max(sum[v] / c[v]);
            }
        }
        let places = Places::new(&face);
        for place in places.iter() {
            let at = face.neutral[place.vertex as usize];
            let r = place.radius / face.height as f32;
            let mut x: Vec<f64> = (0..n)
                .filter(|v| !face.held[*v] && face.shell.rest[*v].as_vec3().distance(at) < r)
                .map(|v| s[v])
                .collect();
            x.sort_by(f64::total_cmp);
            let mut dp: Vec<f32> = (0..n)
                .filter(|v| !face.held[*v] && face.shell.rest[*v].as_vec3().distance(at) < r)
                .map(|v| face.depth[v])
                .collect();
            dp.sort_by(f32::total_cmp);
            if x.is_empty() {
                continue;
            }
            println!(
                "{path} {:14} n {:3} strain 10% {:.3} median {:.3} 90% {:.3}  depth {:.4} {:.4} {:.4}",
                place.name,
                x.len(),
                x[x.len() / 10],
                x[x.len() / 2],
                x[x.len() * 9 / 10],
                dp[dp.len() / 10],
                dp[dp.len() / 2],
                dp[dp.len() * 9 / 10]
            );
        }
    }
}
