use std::sync::LazyLock;

use crate::body::Body;
use crate::model::Continue;
use crate::shell::{BuildParams, RunParams, ShellBody, build};
use zygoma_geometry::Faces;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_physics::shell::ShellParams;
use zygoma_rig::{RigMesh, Shape, SparseDeltas};

use super::*;

const SIDE: u32 = 25;

/// A domed square, 0.24 m tall, whose chin moves down and whose cheeks puff.
static FACE: LazyLock<FaceModel> = LazyLock::new(|| {
    let positions: Vec<Vec3> = (0..SIDE * SIDE)
        .map(|i| {
            let (x, y) = (0.01 * (i % SIDE) as f32 - 0.12, 0.01 * (i / SIDE) as f32 - 0.12);
            Vec3::new(x, y, 0.1 - 2.0 * (x * x + y * y))
        })
        .collect();
    let cells = (0..SIDE - 1).flat_map(|row| (0..SIDE - 1).map(move |column| row * SIDE + column));
    let triangles: Vec<[u32; 3]> =
        cells.flat_map(|a| [[a, a + 1, a + SIDE], [a + 1, a + SIDE + 1, a + SIDE]]).collect();
    let shape = |name: &str, offset: &dyn Fn(Vec3) -> Vec3| Shape {
        name: name.into(),
        deltas: SparseDeltas::from_dense(&positions.iter().map(|p| offset(*p)).collect::<Vec<_>>()),
    };
    let mesh = RigMesh {
        name: "dome".into(),
        shapes: vec![
            shape("jawOpen", &|p| if p.y < -0.06 { Vec3::NEG_Y * 0.02 } else { Vec3::ZERO }),
            shape("cheekPuff", &|p| Vec3::Z * 0.02 * (-(p.x.abs() - 0.06).powi(2) / 4e-4).exp()),
        ],
        faces: Faces::from_triangles(&triangles),
        positions,
        uvs: None,
        regions: Vec::new(),
        to_rig: glam::DAffine3::IDENTITY,
        quantum: 1e-7,
    };
    let params = BuildParams { triangles: 400, uniform_stiffness: Some(2.0), ..BuildParams::default() };
    build("dome", &mesh, &params, &mut |_| Continue::Yes).unwrap()
});

static PLACES: LazyLock<Landmarks> = LazyLock::new(|| Landmarks::new(&FACE));

fn script(text: &str) -> TouchScript {
    TouchScript::parse(text, &FACE, &PLACES).unwrap_or_else(|error| panic!("{error:#}: {text}"))
}

fn refusal(text: &str) -> String {
    format!("{:#}", TouchScript::parse(text, &FACE, &PLACES).map(|_| ()).unwrap_err())
}

/// Positions at each frame of a still face under a script.
fn performed(script: &TouchScript, seconds: f64) -> Vec<Vec<Vec3>> {
    let mut running = ShellBody::new(&FACE, RunParams::default().awake()).unwrap();
    let plain = FACE.neutral.clone();
    let mut shown = plain.clone();
    let mut player = Player::new(script);
    (0..=(100.0 * seconds) as usize)
        .map(|frame| {
            let moment = Moment { time: frame as f64 / 100.0, plain: &plain, shown: &shown };
            player.before(&mut running, &moment);
            shown = running.advance(0.01).positions.to_vec();
            player.after(&running);
            shown.clone()
        })
        .collect()
}

#[test]
fn mistakes_are_reported_with_their_line_and_a_way_out() {
    let push = |more: &str| format!("[[push]]\nat = \"chin\"\nfrom = 1\nto = 2\ndepth = 5\n{more}");
    for (text, wanted) in [
        (
            "\n[[push]]\nat = \"chim\"\nfrom = 0\nto = 1\ndepth = 1\n".to_owned(),
            "line 3: there is no place 'chim'; did you mean 'chin'?",
        ),
        ("[[push]]\nat = \"windscreen\"\nfrom = 0\nto = 1\ndepth = 1\n".to_owned(), "there are brow-left"),
        ("[[push]]\nat = [1, 2]\nfrom = 0\nto = 1\ndepth = 1\n".to_owned(), "line 2: "),
        ("[[push]]\nat = 7\nfrom = 0\nto = 1\ndepth = 1\n".to_owned(), "position [x, y, z]"),
        ("[[shove]]\n".to_owned(), "line 1: unknown field `shove`"),
        ("[[push]]\nat = \"chin\"\n".to_owned(), "missing field `from`"),
        ("unit = \"inch\"\n".to_owned(), "line 1: "),
        ("[[push\n".to_owned(), "line 1: "),
        (push("wobble = 3\n"), "line 6: unknown field `wobble`"),
        (push("radius = 0\n"), "line 1: the radius must be above 0"),
        (push("force = -1\n"), "the force must be above 0"),
        (push("friction = -1\n"), "friction must be 0 or more"),
        (push("length = 10\n"), "longer than its diameter"),
        (push("direction = [0, 0, 0]\n"), "the direction has no length"),
        (push("ease = 0.6\n"), "does not fit between 1 and 2 s"),
        (
            "[[pull]]\nat = \"chin\"\nfrom = 2\nto = 1\nby = [0, 0, 5]\n".to_owned(),
            "'from' must be before 'to'",
        ),
        (
            "[[pull]]\nat = \"chin\"\nfrom = 0\nto = 1\nby = [0, 0, 5]\nease = 0.5\nease_out = 0.6\n"
                .to_owned(),
            "ease and ease_out",
        ),
        ("[[sphere]]\nradius = 5\nkeys = []\n".to_owned(), "line 1: a sphere needs keys"),
        (
            "[[sphere]]\nradius = 5\nkeys = [{ time = 1, at = \"chin\" }, { time = 1, at = \"chin\" }]\n"
                .to_owned(),
            "whose times increase",
        ),
    ] {
        let error = refusal(&text);
        assert!(error.contains(wanted) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn a_push_dents_the_skin_where_it_presses_and_lets_it_come_back() {
    let touches = script("[[push]]\nat = \"forehead\"\nfrom = 0.2\nto = 1.0\ndepth = 8\nradius = 10\n");
    let frames = performed(&touches, 3.0);
    let vertex = PLACES.find("forehead").unwrap().vertex as usize;
    let moved = |frame: usize, v: usize| frames[frame][v].distance(frames[0][v]);
    assert!((0.007..0.010).contains(&moved(60, vertex)), "{}", moved(60, vertex));
    let far = (0..frames[0].len()).filter(|v| frames[0][*v].distance(frames[0][vertex]) > 0.1);
    assert!(far.map(|v| moved(60, v)).fold(0.0, f32::max) < 1e-3);
    let left = (0..frames[0].len()).map(|v| moved(300, v)).fold(0.0, f32::max);
    assert!(left < 2e-4, "{left} m are left of the dent");
}

#[test]
fn a_pull_drags_the_skin_along_and_lets_go() {
    let touches = script("[[pull]]\nat = \"chin\"\nfrom = 0.1\nto = 0.9\nby = [5, 0, 10]\n");
    let frames = performed(&touches, 3.0);
    let vertex = PLACES.find("chin").unwrap().vertex as usize;
    let dragged = frames[80][vertex] - frames[0][vertex];
    assert!(dragged.distance(Vec3::new(0.005, 0.0, 0.010)) < 2e-3, "{dragged}");
    assert!(frames[300][vertex].distance(frames[0][vertex]) < 2e-4);
}

#[test]
fn a_sphere_goes_from_key_to_key_in_any_unit() {
    let millimetres = script(
        "[[sphere]]\nradius = 10\nkeys = [{ time = 0, at = [0, 0, 130] }, { time = 1, at = [40, 0, 130] }]\n",
    );
    let metres = script(
        "unit = \"m\"\n[[sphere]]\nradius = 0.01\nkeys = [{ time = 0, at = [0, 0, 0.13] }, { time = 1, at = [0.04, 0, 0.13] }]\n",
    );
    for touches in [millimetres, metres] {
        let mut running = ShellBody::new(&FACE, RunParams::default()).unwrap();
        let mut player = Player::new(&touches);
        let plain = FACE.neutral.clone();
        let head = RigidMotion { rotation: glam::DQuat::from_rotation_y(0.5), translation: glam::DVec3::Y };
        for frame in 0..=6 {
            let time = f64::from(frame) / 4.0;
            running.set_head_pose(&head);
            player.before(&mut running, &Moment { time, plain: &plain, shown: &plain });
            running.advance(0.25);
            player.after(&running);
        }
        let props = player.into_props();
        let at: Vec<Option<Vec3>> = props[0].poses.iter().map(|pose| pose.map(|p| p.translation)).collect();
        // The surface that is shown is one step old, and so are its colliders.
        let step = ShellParams::default().step_time as f32;
        for (frame, place) in at.iter().enumerate().take(5) {
            let time = (0.25 * frame as f32 - step).max(0.0);
            let wanted = Vec3::new(0.04 * time, 0.0, 0.13);
            assert!(place.unwrap().distance(wanted) < 1e-5, "the head's motion changes nothing: {place:?}");
        }
        assert_eq!(at[5..], [None, None], "it is gone after its last key");
    }
}

#[test]
fn the_shipped_script_fits_any_face() {
    let touches = script(include_str!("../../../../../examples/tour.toml"));
    assert_eq!(touches.touches.len(), 5);
    assert!(touches.is_touched(1.0, 0.5) && touches.is_touched(2.1, 0.5) && !touches.is_touched(0.3, 0.5));
}
