//! Laws that every picture keeps.

use glam::{Vec2, Vec3};
use zygoma_picture::{
    Background, Bounds, Camera, ColorMap, Cut, Finish, Image, Lens, Paint, RenderOptions, Scene, Surface,
    View, Wireframe, render,
};

struct Mesh {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
}

/// A unit sphere of `rings` × 2 `rings` cells.
fn sphere(rings: u32) -> Mesh {
    let around = 2 * rings;
    let position = |i: u32| {
        let polar = (i / around) as f32 / rings as f32 * std::f32::consts::PI;
        let turn = (i % around) as f32 / around as f32 * std::f32::consts::TAU;
        Vec3::new(polar.sin() * turn.cos(), polar.cos(), polar.sin() * turn.sin())
    };
    let positions = (0..(rings + 1) * around).map(position).collect();
    let cell = |i: u32| {
        let next = i / around * around + (i + 1) % around;
        [[i, next, i + around], [next, next + around, i + around]]
    };
    Mesh { positions, triangles: (0..rings * around).flat_map(cell).collect() }
}

/// A square in the plane z = `z`, of the given half side.
fn square(half: f32, z: f32) -> Mesh {
    let positions = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
        .map(|[x, y]| Vec3::new(half * x, half * y, z))
        .to_vec();
    Mesh { positions, triangles: vec![[0, 1, 2], [0, 2, 3]] }
}

impl Mesh {
    fn plain(&self, color: [f32; 3]) -> Surface<'_> {
        Surface::new(&self.positions, &self.triangles).painted(Paint::Plain(color), Finish::Matte)
    }
}

fn camera(lens: Lens) -> Camera {
    Camera { eye: Vec3::new(0.0, 0.0, 6.0), target: Vec3::ZERO, up: Vec3::Y, lens }
}

const FLAT: Lens = Lens::Orthographic { height: 4.0 };

fn see_through(size: usize) -> RenderOptions {
    RenderOptions { background: Background::Transparent, ..RenderOptions::sized(size, size) }
}

fn covered(image: &Image) -> f64 {
    image.pixels().iter().map(|pixel| f64::from(pixel[3]) / 255.0).sum()
}

#[test]
fn a_sphere_covers_a_disc() {
    let mesh = sphere(96);
    let scene = Scene::new([mesh.plain([0.5; 3])]);
    let size = 400.0;
    // Orthographic: radius 1 of 4. Perspective: the outline is where the line of sight is tangent, sin = 1/6.
    let tangent = (1.0_f64 / 6.0).asin().tan() / 15_f64.to_radians().tan();
    for (lens, share) in [(FLAT, 0.5), (Lens::Perspective { angle: 30.0 }, tangent)] {
        let image = render(&scene, &camera(lens), &see_through(size as usize)).unwrap();
        let radius = 0.5 * size * share;
        let expected = std::f64::consts::PI * radius * radius;
        let found = covered(&image);
        assert!((found / expected - 1.0).abs() < 2e-3, "{lens:?}: {found} of {expected} pixels");
    }
}

#[test]
fn triangles_with_a_common_edge_leave_no_gap_and_do_not_overlap() {
    // A half transparent fan that covers the picture: a gap would show as a hole in an opaque one.
    let corners = 37;
    let rim = (0..corners).map(|i| {
        let angle = i as f32 / corners as f32 * std::f32::consts::TAU;
        Vec3::new(4.0 * angle.cos(), 4.0 * angle.sin(), 0.3 * (5.0 * angle).sin())
    });
    let positions: Vec<Vec3> = std::iter::once(Vec3::new(0.1234, -0.0567, 0.0)).chain(rim).collect();
    let triangles: Vec<[u32; 3]> = (0..corners).map(|i| [0, 1 + i, 1 + (i + 1) % corners]).collect();
    let mesh = Mesh { positions, triangles };
    for samples in [1, 2, 3] {
        let options = RenderOptions { samples, ..see_through(300) };
        let image =
            render(&Scene::new([mesh.plain([0.5; 3])]), &camera(Lens::Perspective { angle: 30.0 }), &options)
                .unwrap();
        assert!(image.pixels().iter().all(|pixel| pixel[3] == 255));
    }
}

#[test]
fn the_nearest_surface_wins_in_any_order() {
    let (near, far) = (square(0.5, 1.0), square(1.5, -1.0));
    let (red, blue) = (near.plain([0.8, 0.1, 0.1]), far.plain([0.1, 0.1, 0.8]));
    for lens in [FLAT, Lens::Perspective { angle: 40.0 }] {
        let options = RenderOptions::sized(120, 120);
        let one = render(&Scene::new([red.clone(), blue.clone()]), &camera(lens), &options).unwrap();
        let other = render(&Scene::new([blue.clone(), red.clone()]), &camera(lens), &options).unwrap();
        assert_eq!(one, other);
        let [r, _, b, _] = one.pixel(60, 60).unwrap();
        assert!(r > b, "the middle shows the near red square");
        let [r, _, b, _] = one.pixel(26, 60).unwrap();
        assert!(b > r, "the side shows the far blue square");
    }
}

#[test]
fn pictures_are_equal_bit_for_bit_for_any_number_of_threads() {
    let mesh = sphere(40);
    let inner: Vec<Vec3> = mesh.positions.iter().map(|p| 0.5 * *p).collect();
    let scene = Scene::new([
        mesh.plain([0.8, 0.6, 0.5]).with_opacity(0.4).with_wireframe(Wireframe::default()),
        Surface::new(&inner, &mesh.triangles),
    ]);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let view = Camera::framing(View::THREE_QUARTER, &scene.bounds().unwrap(), 1.0);
        pool.install(|| render(&scene, &view, &RenderOptions::sized(211, 193)).unwrap())
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    let mut mesh = sphere(20);
    let clean = mesh.triangles.clone();
    let first_bad = mesh.positions.len() as u32;
    mesh.positions.extend([Vec3::NAN, Vec3::splat(f32::INFINITY), Vec3::splat(1e30), Vec3::splat(-1e30)]);
    let bad = first_bad;
    mesh.triangles.extend([[0, 1, bad], [bad + 1, 3, 4], [0, 0, 0], [7, 7, 9], [1, 2, 4_000_000_000]]);
    mesh.triangles.push([bad + 2, bad + 3, 5]);
    let options = RenderOptions::sized(100, 100);
    let view = camera(Lens::Perspective { angle: 30.0 });
    let image = render(&Scene::new([mesh.plain([0.5; 3])]), &view, &options).unwrap();
    assert_eq!(image.width(), 100);
    // Without the huge triangle, which does change what is in shadow, nothing of the rest is seen.
    mesh.triangles.pop();
    let image = render(&Scene::new([mesh.plain([0.5; 3])]), &view, &options).unwrap();
    let reference = Mesh { positions: mesh.positions[..bad as usize].to_vec(), triangles: clean };
    assert_eq!(image, render(&Scene::new([reference.plain([0.5; 3])]), &view, &options).unwrap());
}

#[test]
fn empty_scenes_odd_cameras_and_odd_sizes_do_not_fail() {
    let mesh = sphere(8);
    let scene = Scene::new([mesh.plain([0.5; 3])]);
    let inside = Camera { eye: Vec3::new(0.0, 0.0, 0.1), ..camera(Lens::Perspective { angle: 90.0 }) };
    let nowhere = Camera { eye: Vec3::ZERO, ..camera(Lens::Perspective { angle: 30.0 }) };
    let lost = Camera { eye: Vec3::NAN, ..camera(FLAT) };
    for view in [inside, nowhere, lost, camera(Lens::Orthographic { height: 0.0 })] {
        for (width, height) in [(30, 20), (1, 1), (0, 5), (3, 0)] {
            let options = RenderOptions::sized(width, height);
            let image = render(&scene, &view, &options).unwrap();
            assert_eq!((image.width(), image.height()), (width, height));
            render(&Scene::default(), &view, &options).unwrap();
        }
    }
    let huge = RenderOptions::sized(1 << 20, 1 << 20);
    assert!(render(&scene, &inside, &huge).unwrap_err().to_string().contains("too large"));
    // From within, everything around is seen: the near plane cuts, it does not drop.
    let image = render(&scene, &inside, &see_through(60)).unwrap();
    assert!(image.pixels().iter().all(|pixel| pixel[3] == 255));
}

#[test]
fn a_cut_removes_its_side() {
    let mesh = sphere(48);
    let scene = Scene::new([mesh.plain([0.5; 3])]);
    let whole = covered(&render(&scene, &camera(FLAT), &see_through(200)).unwrap());
    let cut = Cut { point: Vec3::ZERO, normal: Vec3::X };
    let image = render(&scene, &camera(FLAT), &RenderOptions { cut: Some(cut), ..see_through(200) }).unwrap();
    assert!((covered(&image) / whole - 0.5).abs() < 0.01);
    assert_eq!(image.pixel(140, 100).unwrap()[3], 0);
    assert_eq!(image.pixel(60, 100).unwrap()[3], 255);
}

#[test]
fn opacity_mixes_with_what_is_behind() {
    let mesh = square(1.0, 0.0);
    let opacity = |share| {
        let scene = Scene::new([mesh.plain([0.5; 3]).with_opacity(share)]);
        let image = render(&scene, &camera(FLAT), &see_through(50)).unwrap();
        f32::from(image.pixel(25, 25).unwrap()[3]) / 255.0
    };
    for share in [0.0, 0.25, 0.5, 1.0] {
        assert!((opacity(share) - share).abs() < 0.003);
    }
    let twice = Scene::new([mesh.plain([0.5; 3]).with_opacity(0.5), mesh.plain([0.5; 3]).with_opacity(0.5)]);
    let image = render(&twice, &camera(FLAT), &see_through(50)).unwrap();
    assert!((i32::from(image.pixel(25, 25).unwrap()[3]) - 191).abs() <= 1);
}

#[test]
fn a_texture_has_its_first_row_at_v_0() {
    let mesh = square(1.0, 0.0);
    let pixels = vec![[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]];
    let image = Image::from_pixels(2, 2, pixels).unwrap();
    // glTF: v runs down, so the lower corners of the square have v = 1.
    let uvs = [Vec2::new(0.0, 1.0), Vec2::ONE, Vec2::new(1.0, 0.0), Vec2::ZERO];
    let paint = Paint::Texture { image: &image, uvs: &uvs, corners: None };
    let surface = Surface::new(&mesh.positions, &mesh.triangles).painted(paint, Finish::Chart);
    let picture =
        render(&Scene::new([surface.clone()]), &camera(FLAT), &RenderOptions::sized(80, 80)).unwrap();
    let strongest = |x, y| {
        let [r, g, b, _] = picture.pixel(x, y).unwrap();
        (0..3).max_by_key(|i| [r, g, b][*i]).unwrap()
    };
    assert_eq!([strongest(30, 30), strongest(50, 30), strongest(30, 50)], [0, 1, 2]);
    // Per corner, with the same entries, the picture is the same.
    let paint = Paint::Texture { image: &image, uvs: &uvs, corners: Some(&mesh.triangles) };
    let again = Scene::new([surface.painted(paint, Finish::Chart)]);
    assert_eq!(render(&again, &camera(FLAT), &RenderOptions::sized(80, 80)).unwrap(), picture);
}

#[test]
fn a_field_takes_the_colours_of_its_map() {
    let mesh = square(1.5, 0.0);
    let show = |values: Vec<f32>| {
        let surface = Surface::new(&mesh.positions, &mesh.triangles);
        let scene = Scene::new([surface.with_field(values, [0.0, 2.0], ColorMap::Diverging)]);
        render(&scene, &camera(FLAT), &RenderOptions::sized(60, 60)).unwrap().pixel(30, 33).unwrap()
    };
    let [low, high, odd] = [show(vec![0.0; 4]), show(vec![2.0; 4]), show(vec![f32::NAN; 4])];
    assert!(low[2] > low[0] && high[0] > high[2], "{low:?} {high:?}");
    assert!(odd[0] == odd[1] && odd[1] == odd[2]);
    assert_eq!(show(vec![0.0; 2]), odd, "missing values are unknown");
}

#[test]
fn corners_are_darker_than_open_places() {
    // A floor and a wall, seen at a slant; the same wall without the floor is the reference.
    let positions = [[-1, 0, 0], [1, 0, 0], [1, 1, 0], [-1, 1, 0], [-1, 0, 1], [1, 0, 1]]
        .map(|[x, y, z]| Vec3::new(x as f32, y as f32, z as f32));
    let (wall, floor) = (vec![[0, 1, 2], [0, 2, 3]], vec![[4, 5, 1], [4, 1, 0]]);
    let both: Vec<[u32; 3]> = wall.iter().chain(&floor).copied().collect();
    let bounds = Bounds { low: positions[0], high: Vec3::ONE };
    let view = Camera::framing(View { yaw: 0.0, pitch: 20.0 }, &bounds, 1.0);
    let normals = [Vec3::Z; 6];
    let brightness = |triangles: &[[u32; 3]], occlusion: f32| {
        let surface = Surface::new(&positions, triangles).painted(Paint::Plain([0.6; 3]), Finish::Matte);
        let scene = Scene::new([Surface { normals: Some(&normals), ..surface }]);
        let options = RenderOptions { occlusion, shadow: 0.0, ..RenderOptions::sized(200, 200) };
        let image = render(&scene, &view, &options).unwrap();
        // Just above the fold, in the middle of the wall.
        let fold = (0..200).rev().find(|y| image.pixel(100, *y) != image.pixel(0, 0)).unwrap();
        (0..fold).map(|y| u32::from(image.pixel(100, y).unwrap()[1])).min().unwrap()
    };
    assert!(brightness(&both, 1.0) + 10 < brightness(&both, 0.0));
    assert_eq!(brightness(&wall, 1.0), brightness(&wall, 0.0));
}

#[test]
fn lines_are_drawn_along_edges_only() {
    let mesh = square(1.0, 0.0);
    let lines = Wireframe { color: [0.0; 3], width: 3.0, opacity: 1.0 };
    let scene = Scene::new([mesh.plain([0.8; 3]).with_wireframe(lines)]);
    let image = render(&scene, &camera(FLAT), &RenderOptions::sized(200, 200)).unwrap();
    let brightness = |x, y| image.pixel(x, y).unwrap()[1];
    assert!(brightness(100, 100) < 60, "the diagonal crosses the middle");
    assert!(brightness(100, 50) < 60, "the upper side");
    assert!(brightness(80, 70) > 120 && brightness(120, 130) > 120, "the insides are free");
}
