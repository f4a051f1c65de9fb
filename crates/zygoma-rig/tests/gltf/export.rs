//! Rigs, takes and animated surfaces out, and in again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{DAffine3, DQuat, DVec3, Vec2, Vec3};
use serde_json::{Value, json};
use zygoma_geometry::Faces;
use zygoma_geometry::rigid::RigidMotion;
use zygoma_rig::formats::Limits;
use zygoma_rig::formats::gltf::{
    AnimatedProp, Beside, Document, MorphAnimation, MorphTarget, SkinMotion, read_rig, write_animated,
    write_reshaped, write_rig,
};
use zygoma_rig::{Interpolation, MotionTrack, WeightCurve, WeightTrack};
use zygoma_rig::{Joint, JointRole, Region, Rig, RigMesh, Shape, Source, SparseDeltas, Take, Units, UvMap};
use zygoma_testing::real_data;

use crate::support::{F32, Maker, lift};

/// Writes with `write`, and gives the rig that is read back with its JSON.
fn again(write: impl Fn(&Path)) -> (Rig, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.glb");
    write(&path);
    let left: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(left.as_slice(), std::slice::from_ref(&path), "nothing but the file is left behind");
    let rig = read_rig(&path, &Limits::default()).unwrap();
    let json = json_of(&rig);
    (rig, json)
}

fn json_of(rig: &Rig) -> Value {
    let Source::Gltf(document) = &rig.source else { panic!("not from glTF") };
    document.json.clone()
}

fn farthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

fn assert_same_shapes(a: &RigMesh, b: &RigMesh) {
    let names = |mesh: &RigMesh| mesh.shapes.iter().map(|shape| shape.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b));
    let count = a.positions.len();
    for (a, b) in a.shapes.iter().zip(&b.shapes) {
        let far = farthest(&a.deltas.to_dense(count), &b.deltas.to_dense(b_count(b, count))[..count]);
        assert!(far < 1e-6, "shape {} is off by {far}", a.name);
    }
}

fn b_count(shape: &Shape, least: usize) -> usize {
    shape.deltas.vertices.last().map_or(least, |last| least.max(*last as usize + 1))
}

/// The skin with weights applied, as any viewer does it.
fn posed(mesh: &RigMesh, weights: &[f32]) -> Vec<Vec3> {
    let mut positions = mesh.positions.clone();
    for (shape, weight) in mesh.shapes.iter().zip(weights) {
        for (vertex, offset) in shape.deltas.iter() {
            positions[vertex as usize] += *weight * offset;
        }
    }
    positions
}

/// A rig that code made: two quads with a texture seam between them, a joint and two takes.
fn generated() -> Rig {
    let mut faces = Faces::default();
    faces.push(&[0, 1, 4, 3]);
    faces.push(&[1, 2, 5, 4]);
    let corner = |x: f32, y: f32| Vec3::new(x, y, 0.01 * x);
    let uvs =
        [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0], [0.6, 0.0], [1.0, 0.0], [1.0, 1.0], [0.6, 1.0]];
    let shape = |name: &str, vertices: Vec<u32>| Shape {
        name: name.into(),
        deltas: SparseDeltas { offsets: vec![Vec3::new(0.0, -0.01, 0.003); vertices.len()], vertices },
    };
    let skin = RigMesh {
        name: "skin".into(),
        positions: vec![
            corner(-0.1, 0.0),
            corner(0.0, 0.0),
            corner(0.1, 0.0),
            corner(-0.1, 0.2),
            corner(0.0, 0.2),
            corner(0.1, 0.2),
        ],
        faces,
        uvs: Some(UvMap {
            coordinates: uvs.iter().map(|[u, v]| Vec2::new(*u, *v)).collect(),
            corners: Some(vec![0, 1, 2, 3, 4, 5, 6, 7]),
        }),
        shapes: vec![shape("jawOpen", vec![1]), shape("all", (0..6).collect()), shape("none", vec![])],
        regions: vec![Region { name: "lip".into(), vertices: 1..3 }],
        to_rig: DAffine3::from_scale(DVec3::splat(0.01)),
        quantum: 1e-7,
    };
    let teeth = RigMesh {
        name: "teeth".into(),
        uvs: None,
        regions: vec![],
        shapes: skin.shapes[..1].to_vec(),
        ..skin.clone()
    };
    let times: Arc<[f64]> = [0.0, 0.5, 1.0].into();
    let track = |shape: &str, interpolation: Interpolation| WeightTrack {
        shape: shape.into(),
        curve: WeightCurve { times: times.clone(), values: vec![0.0, 1.0, 0.25], interpolation },
    };
    let turn = RigidMotion { rotation: DQuat::from_rotation_y(0.4), translation: DVec3::new(0.0, 0.02, 0.0) };
    let still = RigidMotion { rotation: DQuat::IDENTITY, translation: DVec3::ZERO };
    let hinge = DVec3::new(0.0, 0.05, -0.05);
    let open = DQuat::from_rotation_x(0.3);
    let opened = RigidMotion { rotation: open, translation: hinge - open * hinge };
    let motions = vec![
        MotionTrack { role: JointRole::Head, times: times.clone(), motions: vec![still, turn, still] },
        MotionTrack { role: JointRole::Jaw, times: times.clone(), motions: vec![still, opened, still] },
    ];
    let cubic = Interpolation::Cubic { incoming: vec![0.0, 1.0, 2.0], outgoing: vec![3.0, 1.0, 0.0] };
    Rig {
        name: "made".into(),
        meshes: vec![teeth, skin],
        skin: 1,
        expressions: vec![],
        joints: vec![
            Joint {
                role: JointRole::Head,
                name: "head".into(),
                node: 0,
                position: DVec3::Y * 0.1,
                carries: vec![],
            },
            Joint { role: JointRole::Jaw, name: "jaw".into(), node: 0, position: hinge, carries: vec![] },
        ],
        takes: vec![
            Take {
                name: "talk".into(),
                weights: vec![track("jawOpen", Interpolation::Linear), track("all", Interpolation::Linear)],
                motions,
            },
            Take { name: "bend".into(), weights: vec![track("jawOpen", cubic)], ..Take::default() },
        ],
        units: Units { metres_per_unit: 0.01, reason: "made so".into() },
        notes: vec![],
        source: Source::Generated { texture: None },
    }
}

#[test]
fn a_generated_rig_comes_back() {
    let rig = generated();
    let (back, json) = again(|path| write_rig(&rig, path).unwrap());
    assert_eq!(back.units.metres_per_unit, 1.0);
    assert_eq!(back.meshes.len(), 2);
    let (skin, found) = (rig.skin(), back.skin());
    assert_eq!(found.name, "skin");
    // Two vertices on the seam are doubled, behind the others.
    assert_eq!(found.positions.len(), 8);
    assert!(farthest(&skin.positions, &found.positions[..6]) < 1e-6);
    assert_eq!(found.positions[6..], [skin.positions[1], skin.positions[4]]);
    assert_same_shapes(skin, found);
    assert_eq!(found.shapes[0].deltas.vertices, [1, 6]);
    assert!(found.shapes[2].deltas.is_empty());
    assert_eq!(found.faces.triangles(), [[0, 1, 4], [0, 4, 3], [6, 2, 5], [6, 5, 7]]);
    let uvs = &found.uvs.as_ref().unwrap().coordinates;
    assert_eq!((uvs[1], uvs[6]), (Vec2::new(0.5, 0.0), Vec2::new(0.6, 0.0)));
    assert_eq!(found.regions, skin.regions);
    assert_eq!(json["asset"]["generator"], json!("zygoma"));
}

#[test]
fn takes_of_a_generated_rig_come_back() {
    let rig = generated();
    let (back, _) = again(|path| write_rig(&rig, path).unwrap());
    let names: Vec<&str> = back.takes.iter().map(|take| take.name.as_str()).collect();
    assert_eq!(names, ["talk", "bend"]);
    for (take, found) in rig.takes.iter().zip(&back.takes) {
        for track in &take.weights {
            let again = found.weights.iter().find(|other| other.shape == track.shape).unwrap();
            assert_eq!(again.curve, track.curve);
        }
        assert_eq!(take.motions.len(), found.motions.len());
        for (track, again) in take.motions.iter().zip(&found.motions) {
            assert_eq!(track.role, again.role);
            for time in [0.0, 0.25, 0.5, 0.9] {
                let (a, b) = (track.sample(time).unwrap(), again.sample(time).unwrap());
                let place = rig.joints.iter().find(|joint| joint.role == track.role).unwrap().position;
                assert!(a.rotation.angle_between(b.rotation) < 1e-4, "{:?}", track.role);
                assert!(a.apply(place).distance(b.apply(place)) < 2e-4, "{:?} at {time}", track.role);
            }
        }
    }
}

#[test]
fn curves_with_keys_of_their_own_are_sampled_together() {
    let mut rig = generated();
    rig.takes.truncate(1);
    rig.takes[0].motions.clear();
    let other = WeightCurve::linear([0.1, 0.7].into(), vec![0.0, 0.6]);
    rig.takes[0].weights[1].curve = other.clone();
    let (back, _) = again(|path| write_rig(&rig, path).unwrap());
    let found = back.takes[0].weights.iter().find(|track| track.shape == "all").unwrap();
    assert_eq!(found.curve.times.len(), 5);
    for time in [0.0, 0.1, 0.3, 0.5, 0.65, 0.7, 1.0] {
        assert!((found.curve.sample(time) - other.sample(time)).abs() < 1e-6, "at {time}");
    }
}

/// A document with everything that must survive: a skin, materials, extras and extensions of others.
fn treasured() -> Maker {
    let mut maker = Maker::square(&[lift(2, 0.01), lift(1, 0.02)]);
    maker.json["meshes"][0]["extras"] =
        json!({ "targetNames": ["jawOpen", "eyeBlink_L"], "mine": [1, 2.5, null] });
    maker.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    maker.push("materials", json!({ "name": "skin", "extensions": { "ACME_glow": { "power": 0.1 } } }));
    maker.push("nodes", json!({ "name": "neck", "children": [2], "extras": { "note": "é" } }));
    maker.push("nodes", json!({ "name": "head", "translation": [0.0, 0.1, 0.0], "children": [0] }));
    maker.json["scenes"][0]["nodes"] = json!([1]);
    maker.json["extensionsUsed"] = json!(["ACME_glow", "ACME_thing"]);
    maker.json["extensions"] =
        json!({ "ACME_thing": { "b": 1, "a": [{ "deep": true }], "pi": 0.1234567890123456 } });
    let weights = maker.floats("SCALAR", &[0.0, 0.0, 1.0, 0.5]);
    maker.animate("x|talk|y", 0, "weights", &[0.0, 1.0], weights, "LINEAR");
    let moved = maker.floats("VEC3", &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
    maker.animate("z|talk|y", 1, "translation", &[0.0, 1.0], moved, "LINEAR");
    maker
}

#[test]
fn a_document_comes_back_whole() {
    let maker = treasured();
    let rig = maker.rig();
    let (back, json) = again(|path| write_rig(&rig, path).unwrap());
    assert_eq!(json, maker.json);
    assert_eq!(json.to_string(), maker.json.to_string(), "even the order of members");
    assert_eq!(back.skin().positions, rig.skin().positions);
    assert_eq!(back.takes, rig.takes);
}

#[test]
fn external_buffers_and_images_are_embedded() {
    let mut maker = treasured();
    let extra: Vec<u8> = bytemuck::cast_slice(&lift(3, 0.5)).to_vec();
    maker.push("buffers", json!({ "byteLength": extra.len(), "uri": "extra.bin" }));
    let view = maker.push("bufferViews", json!({ "buffer": 1, "byteLength": extra.len() }));
    let target = json!({ "bufferView": view, "componentType": F32, "type": "VEC3", "count": 4 });
    let target = maker.push("accessors", target);
    maker.json["meshes"][0]["primitives"][0]["targets"][1]["POSITION"] = json!(target);
    maker.json["buffers"][0]["uri"] = json!("face.bin");
    maker.json["images"] =
        json!([{ "uri": "skin.jpg", "name": "photo" }, { "uri": "data:image/png;base64,AAAA" }]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("face.gltf", maker.json.to_string().as_bytes());
    file("face.bin", &maker.binary);
    file("extra.bin", &extra);
    file("skin.jpg", b"\xff\xd8\xff not quite an image");
    let rig = read_rig(&folder.path().join("face.gltf"), &Limits::default()).unwrap();
    let (back, json) = again(|path| write_rig(&rig, path).unwrap());
    assert_eq!(json["buffers"].as_array().unwrap().len(), 1);
    assert!(json["buffers"][0].get("uri").is_none());
    assert_eq!(back.skin().shapes, rig.skin().shapes);
    assert_eq!(back.takes, rig.takes);
    let image = &json["images"][0];
    assert_eq!((&image["mimeType"], &image["name"]), (&json!("image/jpeg"), &json!("photo")));
    let Source::Gltf(document) = &back.source else { panic!() };
    let view = &json["bufferViews"][image["bufferView"].as_u64().unwrap() as usize];
    let number = |key: &str| view[key].as_u64().unwrap() as usize;
    let bytes = &document.buffers[0][number("byteOffset")..][..number("byteLength")];
    assert_eq!(bytes, b"\xff\xd8\xff not quite an image");
    assert_eq!(json["images"][1], maker.json["images"][1]);
}

#[test]
fn writing_twice_gives_the_same_bytes() {
    let (rig, maker) = (generated(), treasured());
    let bytes = |rig: &Rig| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.glb");
        write_rig(rig, &path).unwrap();
        std::fs::read(path).unwrap()
    };
    assert_eq!(bytes(&rig), bytes(&rig.clone()));
    assert_eq!(bytes(&maker.rig()), bytes(&maker.rig()));
}

#[test]
fn the_ending_gltf_is_refused_because_a_glb_is_written() {
    let error = write_rig(&generated(), Path::new("a.gltf")).unwrap_err().to_string();
    assert!(error.contains("a.gltf") && error.contains(".glb"), "{error}");
}

/// A take in which nothing moves.
fn named(name: &str) -> Take {
    Take { name: name.into(), ..Take::default() }
}

/// Two targets that bend the whole skin, over three frames.
fn bending(count: usize) -> MorphAnimation {
    let target = |k: usize| MorphTarget {
        positions: (0..count).map(|v| Vec3::new(0.001 * (v % 50) as f32, 0.002 * k as f32, 0.01)).collect(),
        normals: Some((0..count).map(|v| Vec3::new(0.0, 0.1 * v as f32, 0.0)).collect()),
    };
    let weights = vec![0.0, 0.0, 1.0, -0.5, 0.25, 2.0];
    MorphAnimation { fps: 25.0, start: 0.2, targets: vec![target(0), target(1)], weights }
}

/// Checks that what is read back moves as the animation says.
fn assert_plays(rig: &Rig, back: &Rig, animation: &MorphAnimation) {
    let count = rig.skin().positions.len();
    let take = &back.takes[0];
    for frame in 0..3 {
        let time = animation.start + frame as f64 / animation.fps;
        let weights: Vec<f32> = back
            .skin()
            .shapes
            .iter()
            .map(|shape| {
                let track = take.weights.iter().find(|track| track.shape == shape.name).unwrap();
                track.curve.sample(time)
            })
            .collect();
        let found = posed(back.skin(), &weights);
        let wanted: Vec<Vec3> = (0..count)
            .map(|v| {
                let moved = |k: usize| animation.weights[2 * frame + k] * animation.targets[k].positions[v];
                rig.skin().positions[v] + moved(0) + moved(1)
            })
            .collect();
        assert!(farthest(&wanted, &found[..count]) < 1e-6, "frame {frame}");
    }
}

#[test]
fn an_animated_surface_replaces_the_targets_of_a_document() {
    let mut maker = treasured();
    // A node transform that deltas must be taken back through, and a second material over the same vertices.
    maker.json["nodes"][0]["matrix"] = json!([0, 0.5, 0, 0, -0.5, 0, 0, 0, 0, 0, 2, 0, 0.1, 0.2, 0.3, 1]);
    let second = maker.indices(&[0, 2, 3]);
    let mut primitive = maker.json["meshes"][0]["primitives"][0].clone();
    primitive["indices"] = json!(second);
    maker.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(primitive);
    let rig = maker.rig();
    let animation = bending(4);
    let take = named("talk");
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&animation), &take, true, &Beside::default(), path).unwrap();
    });
    assert_plays(&rig, &back, &animation);
    assert_eq!(json["animations"].as_array().unwrap().len(), 1);
    let head = back.takes[0].motions[0].sample(1.0).unwrap();
    assert!(head.translation.distance(DVec3::X * 0.5) < 1e-6, "the head still moves");
    let primitives = &json["meshes"][0]["primitives"];
    assert_eq!(primitives[0]["targets"], primitives[1]["targets"], "shared vertices, shared targets");
    assert!(primitives[0]["targets"][0].get("NORMAL").is_none(), "the mesh has no normals to change");
    assert_eq!(json["meshes"][0]["extras"]["mine"], maker.json["meshes"][0]["extras"]["mine"]);
    for key in ["materials", "nodes", "extensions", "extensionsUsed", "scenes"] {
        assert_eq!(json[key], maker.json[key], "{key}");
    }
}

/// Blender keeps weights between 0 and 1.
#[test]
fn weights_of_new_targets_are_between_0_and_1_and_rest_at_the_neutral() {
    let generated = generated();
    for rig in [treasured().rig(), generated] {
        let count = rig.skin().positions.len();
        let animation = bending(count);
        let motion = SkinMotion::Baked(&animation);
        let (back, json) = again(|path| {
            write_animated(&rig, motion, &named("bend"), false, &Beside::default(), path).unwrap();
        });
        assert_plays(&rig, &back, &animation);
        let tracks = back.takes[0].weights.iter().filter(|track| track.shape.starts_with("motion"));
        let weights: Vec<f32> = tracks.flat_map(|track| track.curve.values.clone()).collect();
        assert!(weights.len() == 6 && weights.iter().all(|w| (0.0..=1.0).contains(w)), "{weights:?}");
        let mesh = json["meshes"].as_array().unwrap().iter().find(|mesh| {
            mesh["weights"].is_array() && mesh["extras"]["targetNames"] == json!(["motion 0", "motion 1"])
        });
        let rest: Vec<f32> =
            mesh.unwrap()["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap() as f32).collect();
        assert!(rest.iter().any(|w| *w > 0.0), "{rest:?}");
        assert!(farthest(&rig.skin().positions, &posed(back.skin(), &rest)[..count]) < 1e-6);
    }
}

#[test]
fn kept_shapes_get_correctives_and_every_clip_plays() {
    let rig = treasured().rig();
    let correctives = bending(4);
    let weights = [0.0, 0.25, 0.5, 1.0, 1.0, 0.0];
    let motion = SkinMotion::Corrected { weights: &weights, correctives: &correctives };
    let (back, json) =
        again(|path| write_animated(&rig, motion, &named("bend"), false, &Beside::default(), path).unwrap());
    let names = json!(["jawOpen", "eyeBlink_L", "corrective 0", "corrective 1"]);
    assert_eq!(json["meshes"][0]["extras"]["targetNames"], names);
    let at = |take: &Take, time: f64| -> Vec<f32> {
        let track = |shape: &Shape| take.weights.iter().find(|track| track.shape == shape.name);
        back.skin().shapes.iter().map(|shape| track(shape).map_or(0.0, |t| t.curve.sample(time))).collect()
    };
    for frame in 0..3 {
        let shown =
            posed(back.skin(), &at(&back.takes[0], correctives.start + frame as f64 / correctives.fps));
        let mut wanted = posed(rig.skin(), &weights[2 * frame..][..2]);
        for (k, target) in correctives.targets.iter().enumerate() {
            let by = target.positions.iter().map(|offset| correctives.weights[2 * frame + k] * *offset);
            wanted.iter_mut().zip(by).for_each(|(position, by)| *position += by);
        }
        assert!(farthest(&wanted, &shown) < 1e-6, "frame {frame}");
    }
    // The clip that the file came with still shows what it did, head included.
    let (before, after) = (&rig.takes[0], &back.takes[1]);
    assert_eq!((&before.name, &before.motions), (&after.name, &after.motions));
    for time in [0.0, 0.4, 1.0] {
        let own: Vec<f32> = before.weights.iter().map(|track| track.curve.sample(time)).collect();
        assert!(
            farthest(&posed(rig.skin(), &own), &posed(back.skin(), &at(after, time))) < 1e-6,
            "at {time}"
        );
    }
}

#[test]
fn other_clips_lose_only_the_weights_of_replaced_targets() {
    let rig = treasured().rig();
    let animation = bending(4);
    let motion = SkinMotion::Baked(&animation);
    let (back, json) =
        again(|path| write_animated(&rig, motion, &named("bend"), false, &Beside::default(), path).unwrap());
    let names: Vec<&str> = back.takes.iter().map(|take| take.name.as_str()).collect();
    assert_eq!(names, ["bend", "talk"]);
    assert_eq!(back.takes[1].motions, rig.takes[0].motions);
    assert_eq!(json["animations"].as_array().unwrap().len(), 2, "a clip of weights alone is gone");
}

/// Accessors that nothing refers to, and bytes of the buffer that no accessor reads.
#[test]
fn nothing_is_left_of_what_was_replaced() {
    let mut maker = treasured();
    maker.json.as_object_mut().unwrap().remove("extensions");
    let rig = maker.rig();
    let animation = MorphAnimation {
        weights: vec![0.0, 0.5, 1.0],
        targets: vec![bending(4).targets[0].clone()],
        ..bending(4)
    };
    let motion = SkinMotion::Baked(&animation);
    let (back, json) =
        again(|path| write_animated(&rig, motion, &named("bend"), false, &Beside::default(), path).unwrap());
    let primitive = &json["meshes"][0]["primitives"][0];
    let mut used: Vec<u64> =
        primitive["attributes"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).collect();
    used.push(primitive["indices"].as_u64().unwrap());
    used.extend(primitive["targets"][0].as_object().unwrap().values().map(|v| v.as_u64().unwrap()));
    for animation in json["animations"].as_array().unwrap() {
        for sampler in animation["samplers"].as_array().unwrap() {
            used.extend([&sampler["input"], &sampler["output"]].map(|v| v.as_u64().unwrap()));
        }
    }
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), json["accessors"].as_array().unwrap().len());
    let views = json["bufferViews"].as_array().unwrap();
    let bytes: u64 = views.iter().map(|view| view["byteLength"].as_u64().unwrap().next_multiple_of(8)).sum();
    let Source::Gltf(document) = &back.source else { panic!() };
    assert!(document.buffers[0].len() as u64 <= bytes, "{} of {bytes}", document.buffers[0].len());
}

#[test]
fn an_animated_surface_without_kept_nodes_moves_the_head_of_the_take() {
    let rig = treasured().rig();
    let talk = &generated().takes[0];
    let animation = bending(4);
    let (back, _) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&animation), talk, false, &Beside::default(), path).unwrap();
    });
    assert_plays(&rig, &back, &animation);
    let (wanted, found) = (&talk.motions[0], &back.takes[0].motions[0]);
    assert_eq!(found.role, JointRole::Head);
    for time in [0.0, 0.3, 0.5] {
        let (a, b) = (wanted.sample(time).unwrap(), found.sample(time).unwrap());
        assert!(a.rotation.angle_between(b.rotation) < 1e-4);
        assert!(a.apply(DVec3::Y * 0.1).distance(b.apply(DVec3::Y * 0.1)) < 2e-4);
    }
}

#[test]
fn an_animated_surface_of_a_generated_rig_plays() {
    let rig = generated();
    let animation = bending(6);
    let take = &rig.takes[0];
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&animation), take, false, &Beside::default(), path).unwrap();
    });
    assert_plays(&rig, &back, &animation);
    assert!(json["meshes"][1]["primitives"][0]["targets"][1].get("NORMAL").is_some());
    assert_eq!(json["meshes"][0]["extras"]["targetNames"], json!(["jawOpen"]), "the teeth keep their shapes");
    assert_eq!(back.takes[0].motions.len(), 2);
    let jaw = back.takes[0].weights.iter().find(|track| track.shape == "jawOpen").unwrap();
    assert_eq!(jaw.curve.values, [0.0, 1.0, 0.25]);
}

#[test]
fn a_mesh_that_others_show_too_is_copied_before_it_changes() {
    let mut maker = treasured();
    maker.push("nodes", json!({ "mesh": 0, "name": "twin", "translation": [0.5, 0.0, 0.0] }));
    maker.json["scenes"][0]["nodes"] = json!([1, 3]);
    let rig = maker.rig();
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&bending(4)), &named("bend"), false, &Beside::default(), path)
            .unwrap();
    });
    assert_eq!(json["meshes"][0], maker.json["meshes"][0]);
    assert_eq!(back.meshes[1].shapes, rig.meshes[1].shapes);
    assert_eq!(back.meshes[0].shapes.len(), 2);
    assert_eq!(json["nodes"][0]["mesh"], json!(1));
}

#[test]
fn expressions_let_go_of_targets_that_are_gone() {
    let mut maker = treasured();
    maker.json["extensions"]["VRMC_vrm"] = json!({ "expressions": { "preset": { "happy": {
        "isBinary": false, "morphTargetBinds": [{ "node": 0, "index": 1, "weight": 1.0 }] } } } });
    let rig = maker.rig();
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&bending(4)), &named("bend"), false, &Beside::default(), path)
            .unwrap();
    });
    let happy = &json["extensions"]["VRMC_vrm"]["expressions"]["preset"]["happy"];
    assert_eq!(happy, &json!({ "isBinary": false, "morphTargetBinds": [] }));
    assert!(back.expressions[0].binds.is_empty());
}

#[test]
fn shapes_of_another_rig_join_those_of_a_document_and_leave_all_else() {
    let mut maker = treasured();
    maker.json["extensions"]["VRMC_vrm"] = json!({ "expressions": { "preset": { "happy": {
        "isBinary": false, "morphTargetBinds": [{ "node": 0, "index": 1, "weight": 1.0 }] } } } });
    let before = maker.rig();
    let mut rig = before.clone();
    let count = before.skin().positions.len();
    let lifted = |by: f32| SparseDeltas::from_dense(&vec![Vec3::Y * by; count]);
    let skin = &mut rig.meshes[before.skin];
    skin.shapes[0].deltas = lifted(0.03);
    skin.shapes.push(Shape { name: "mouthPucker".to_owned(), deltas: lifted(-0.01) });
    let (back, json) = again(|path| write_reshaped(&before, &rig, path).unwrap());
    assert_same_shapes(rig.skin(), back.skin());
    assert_eq!(back.skin().positions, before.skin().positions);
    // The clip still plays the two shapes that it knows, and the expression still has its bind.
    let sample = |rig: &Rig| -> Vec<f32> {
        let tracks = rig.takes[0].weights.iter().filter(|track| track.shape != "mouthPucker");
        tracks.map(|track| track.curve.sample(0.75)).collect()
    };
    assert_eq!((sample(&back), &back.takes[0].motions), (sample(&before), &before.takes[0].motions));
    assert_eq!(json["extensions"], maker.json["extensions"]);
    assert_eq!(json["materials"], maker.json["materials"]);
    assert_eq!(back.expressions[0].binds, before.expressions[0].binds);
}

#[test]
fn a_changed_neutral_moves_the_base_of_a_document_and_leaves_all_else() {
    let maker = treasured();
    let before = maker.rig();
    let mut rig = before.clone();
    rig.meshes[before.skin].positions.iter_mut().for_each(|p| *p += Vec3::new(0.0, 0.02, 0.5 * p.x));
    let (back, json) = again(|path| write_reshaped(&before, &rig, path).unwrap());
    for (written, wanted) in back.skin().positions.iter().zip(&rig.skin().positions) {
        assert!(written.distance(*wanted) < 1e-6, "{written} {wanted}");
    }
    assert_same_shapes(rig.skin(), back.skin());
    for (mesh, unchanged) in (0..).zip(&before.meshes).filter(|(mesh, _)| *mesh != before.skin) {
        assert_eq!(back.meshes[mesh].positions, unchanged.positions);
    }
    for kept in ["materials", "skins", "extensions"] {
        assert_eq!(json[kept], maker.json[kept]);
    }
    let moments = |rig: &Rig| -> Vec<f32> {
        rig.takes[0].weights.iter().map(|track| track.curve.sample(0.75)).collect()
    };
    assert_eq!(moments(&back), moments(&before));
}

#[test]
fn a_prop_comes_goes_and_moves_in_the_scenes_own_unit() {
    let mut rig = treasured().rig();
    // A file in centimetres, as if its face had said so.
    rig.units.metres_per_unit = 0.01;
    let turned =
        RigidMotion { rotation: DQuat::from_rotation_z(0.5), translation: DVec3::new(0.1, 0.2, 0.3) };
    let prop = AnimatedProp {
        name: "finger".into(),
        positions: vec![Vec3::ZERO, Vec3::X * 0.01, Vec3::Y * 0.01],
        triangles: vec![[0, 1, 2]],
        color: [0.1, 0.2, 0.6],
        motions: vec![None, Some(turned), None],
    };
    let animation = bending(4);
    let write = |path: &Path, prop: &AnimatedProp| {
        write_animated(
            &rig,
            SkinMotion::Baked(&animation),
            &named("bend"),
            false,
            &Beside { props: std::slice::from_ref(prop), ..Beside::default() },
            path,
        )
    };
    let (_, json) = again(|path| write(path, &prop).unwrap());
    let nodes = json["nodes"].as_array().unwrap();
    let node = nodes.iter().position(|node| node["name"] == "finger").unwrap();
    let scene = json["scenes"][0]["nodes"].as_array().unwrap();
    assert!(scene.contains(&json!(node)), "it is in the scene");
    assert_eq!(nodes[node]["scale"], json!([100.0, 100.0, 100.0]), "a metre is a hundred units");
    let channels = json["animations"][0]["channels"].as_array().unwrap();
    let own = channels.iter().filter(|channel| channel["target"]["node"] == json!(node));
    let paths: Vec<&str> = own.clone().filter_map(|channel| channel["target"]["path"].as_str()).collect();
    assert_eq!(paths, ["translation", "rotation", "scale"]);
    let accessor = |channel: &Value, key: &str| {
        let sampler = &json["animations"][0]["samplers"][channel["sampler"].as_u64().unwrap() as usize];
        (json["accessors"][sampler[key].as_u64().unwrap() as usize].clone(), sampler["interpolation"].clone())
    };
    let scale = own.clone().next_back().unwrap();
    let (times, kind) = accessor(scale, "input");
    assert_eq!((times["count"].as_u64(), kind.as_str()), (Some(3), Some("STEP")), "hidden, shown, hidden");
    let broken = AnimatedProp { triangles: vec![[0, 1, 7]], ..prop };
    let folder = tempfile::tempdir().unwrap();
    assert!(write(&folder.path().join("a.glb"), &broken).unwrap_err().to_string().contains("finger"));
}

#[test]
fn a_still_surface_needs_no_targets() {
    let rig = treasured().rig();
    let animation = MorphAnimation { fps: 30.0, start: 0.0, targets: vec![], weights: vec![] };
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&animation), &named("rest"), false, &Beside::default(), path)
            .unwrap();
    });
    assert!(back.skin().shapes.is_empty());
    let names: Vec<&str> = back.takes.iter().map(|take| take.name.as_str()).collect();
    assert_eq!(names, ["talk"], "the head's own clip stays");
    assert!(json["meshes"][0].get("weights").is_none());
}

#[test]
fn animations_that_do_not_fit_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    let rig = treasured().rig();
    let refuse = |change: &dyn Fn(&mut MorphAnimation)| {
        let mut animation = bending(4);
        change(&mut animation);
        let error = write_animated(
            &rig,
            SkinMotion::Baked(&animation),
            &named("x"),
            false,
            &Beside::default(),
            &path,
        )
        .unwrap_err();
        assert!(error.to_string().contains("\"face\""), "{error}");
    };
    refuse(&|animation| animation.fps = 0.0);
    refuse(&|animation| animation.targets[0].positions.truncate(3));
    refuse(&|animation| animation.targets[1].positions[2].x = f32::NAN);
    refuse(&|animation| animation.targets[1].normals = Some(vec![]));
    refuse(&|animation| animation.weights.push(0.0));
    refuse(&|animation| animation.weights.clear());
    refuse(&|animation| animation.weights[0] = f32::INFINITY);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_take_drives_the_shapes_it_names_and_leaves_the_others_at_zero() {
    let rig = treasured().rig();
    let talk = &generated().takes[0];
    let curve = talk.weights[0].curve.clone();
    let take = Take {
        name: "mapped".into(),
        weights: vec![WeightTrack { shape: "eyeBlink_L".into(), curve }],
        motions: talk.motions[..1].to_vec(),
    };
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Shapes, &take, false, &Beside::default(), path).unwrap();
    });
    let names: Vec<&str> = back.takes.iter().map(|take| take.name.as_str()).collect();
    assert_eq!(names, ["mapped", "talk"], "the new take comes first and the old ones stay");
    let track = |shape: &str| back.takes[0].weights.iter().find(|track| track.shape == shape).unwrap();
    assert_eq!(track("eyeBlink_L").curve, talk.weights[0].curve);
    assert_eq!(track("jawOpen").curve.values, [0.0; 3]);
    assert_eq!(back.takes[0].motions.len(), 1);
    assert_eq!(json["meshes"], treasured().json["meshes"]);
}

#[test]
fn a_rig_that_no_longer_matches_its_document_is_refused() {
    let mut rig = treasured().rig();
    rig.meshes[0].positions.pop();
    let error =
        write_animated(&rig, SkinMotion::Shapes, &named("x"), false, &Beside::default(), Path::new("a.glb"))
            .unwrap_err()
            .to_string();
    assert!(error.contains("no longer"), "{error}");
}

#[test]
fn real_files_come_back_whole() {
    for file in [
        "rigs/facecap.glb",
        "rigs/lee_perry_smith.glb",
        "gltf-samples/MorphStressTest.glb",
        "gltf-samples/SimpleMorph_embedded.gltf",
        "gltf-samples/AnimatedMorphCube-Quantized/AnimatedMorphCube.gltf",
        "hands/generic_hand_left.glb",
        "hands/generic_hand_right.glb",
    ] {
        let Some(path) = real_data(file) else { continue };
        let rig = read_rig(&path, &Limits::default()).unwrap();
        let (back, json) = again(|path| write_rig(&rig, path).unwrap());
        for (a, b) in rig.meshes.iter().zip(&back.meshes) {
            assert!(farthest(&a.positions, &b.positions) < 1e-6);
            assert_eq!((&a.name, &a.shapes, &a.faces), (&b.name, &b.shapes, &b.faces));
        }
        assert_eq!((&rig.takes, &rig.joints), (&back.takes, &back.joints));
        if file.ends_with(".glb") {
            assert_eq!(json, json_of(&rig), "{file}");
        }
    }
}

#[test]
fn facecap_becomes_an_animated_surface_and_stays_an_avatar() {
    let Some(path) = real_data("rigs/facecap.glb") else { return };
    let rig = read_rig(&path, &Limits::default()).unwrap();
    let animation = bending(rig.skin().positions.len());
    let take = &rig.takes[0];
    let (back, json) = again(|path| {
        write_animated(&rig, SkinMotion::Baked(&animation), take, true, &Beside::default(), path).unwrap();
    });
    assert_plays(&rig, &back, &animation);
    assert_eq!(back.meshes[0].positions, rig.meshes[0].positions);
    assert_eq!(back.takes[0].motions, rig.takes[0].motions);
    assert_eq!(
        (&json["materials"], &json["images"]),
        (&json_of(&rig)["materials"], &json_of(&rig)["images"])
    );
    // Nothing is left that a viewer would have to decompress.
    assert_eq!(json["buffers"].as_array().unwrap().len(), 1);
    assert!(!json["extensionsUsed"].to_string().contains("meshopt"));
    assert!(!json["bufferViews"].to_string().contains("meshopt"));
}

#[test]
fn head_motion_of_any_take_carries_the_eyes_of_facecap_along() {
    let Some(path) = real_data("rigs/facecap.glb") else { return };
    let mut rig = read_rig(&path, &Limits::default()).unwrap();
    rig.takes[0].name = "again".into();
    let (back, _) = again(|path| {
        write_animated(&rig, SkinMotion::Shapes, &rig.takes[0], false, &Beside::default(), path).unwrap();
    });
    let (take, found) = (&rig.takes[0], &back.takes[0]);
    assert_eq!((found.name.as_str(), found.motions.len()), ("again", 3));
    assert_eq!(found.weights, take.weights);
    for (track, again) in take.motions.iter().zip(&found.motions) {
        assert_eq!(track.role, again.role);
        let place = rig.joints.iter().find(|joint| joint.role == track.role).unwrap().position;
        for time in [0.1, 2.0, 5.5, 11.0] {
            let (a, b) = (track.sample(time).unwrap(), again.sample(time).unwrap());
            assert!(a.rotation.angle_between(b.rotation) < 1e-4, "{:?} at {time}", track.role);
            assert!(a.apply(place).distance(b.apply(place)) < 1e-5, "{:?} at {time}", track.role);
        }
    }
}

#[test]
fn a_rig_from_a_document_can_be_written_anew() {
    // As a rig from elsewhere would be: in metres, with its shapes and its take.
    let Some(path) = real_data("rigs/facecap.glb") else { return };
    let mut rig = read_rig(&path, &Limits::default()).unwrap();
    rig.source = Source::Generated { texture: None };
    let (back, _) = again(|path| write_rig(&rig, path).unwrap());
    assert!(farthest(&rig.skin().positions, &back.skin().positions) < 1e-6);
    assert_same_shapes(rig.skin(), back.skin());
    assert_eq!(back.takes[0].weights.len(), 52);
    assert_eq!(back.takes[0].motions.len(), 3);
    let joints =
        |rig: &Rig| rig.joints.iter().map(|joint| (joint.role, joint.name.clone())).collect::<Vec<_>>();
    assert_eq!(joints(&back), joints(&rig));
}

#[test]
fn documents_say_where_they_came_from() {
    let document =
        Document::from_slice(&treasured().glb(), Path::new("made.glb"), &Limits::default()).unwrap();
    assert_eq!(document.path(), Path::new("made.glb"));
}
