//! Skins, joints and VRM expressions.

use glam::{DVec3, Vec3};
use serde_json::{Value, json};
use zygoma_rig::formats::{Limits, gltf, read_rig};
use zygoma_rig::{JointRole, RigMesh};

use crate::support::{Maker, U16, lift};

const IDENTITY: [f32; 16] = [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.];

fn translated(x: f32, y: f32, z: f32) -> [f32; 16] {
    let mut matrix = IDENTITY;
    matrix[12..15].copy_from_slice(&[x, y, z]);
    matrix
}

/// The square skinned to a spine and a head, `share` of it to the head. The spine is at y = 1, the head at 1.5.
fn skinned(fraction: f32, with_matrices: bool) -> Maker {
    let mut maker = Maker::square(&[lift(2, 0.01)]);
    let joints = maker.accessor(bytemuck::cast_slice(&[[0u16, 1, 0, 0]; 4]), U16, "VEC4", 4);
    let weights: Vec<f32> = [1.0 - fraction, fraction, 0.0, 0.0].repeat(4);
    let weights = maker.floats("VEC4", &weights);
    let attributes = &mut maker.json["meshes"][0]["primitives"][0]["attributes"];
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(weights);
    // The node of a skinned mesh does not move it.
    maker.json["nodes"][0]["translation"] = json!([9.0, 9.0, 9.0]);
    maker.json["nodes"][0]["skin"] = json!(0);
    maker.push("nodes", json!({ "name": "Spine", "translation": [0.0, 1.0, 0.0], "children": [2] }));
    maker.push("nodes", json!({ "name": "mixamorig:Head", "translation": [0.0, 0.5, 0.0] }));
    maker.json["scenes"][0]["nodes"] = json!([0, 1]);
    let mut skin = json!({ "joints": [1, 2] });
    if with_matrices {
        // The mesh was bound with the head at y = 1.4: a rest pose that is not the bind pose.
        let matrices = [translated(0.0, -1.0, 0.0), translated(0.0, -1.4, 0.0)].concat();
        skin["inverseBindMatrices"] = json!(maker.floats("MAT4", &matrices));
    }
    maker.push("skins", skin);
    maker
}

#[test]
fn a_skinned_mesh_goes_with_its_head_joint() {
    let rig = skinned(0.3, true).rig();
    assert!(rig.skin().positions[0].distance(Vec3::Y * 0.1) < 1e-6, "{}", rig.skin().positions[0]);
    assert_eq!(rig.skin().shapes[0].deltas.offsets, [Vec3::Z * 0.01]);
    let head = &rig.joints[0];
    assert_eq!((head.role, head.name.as_str(), head.node), (JointRole::Head, "mixamorig:Head", 2));
    assert!(head.position.distance(DVec3::Y * 1.5) < 1e-9);
}

#[test]
fn an_added_mesh_goes_with_the_joint_that_carries_it() {
    let mut maker = skinned(0.3, true);
    maker.json["nodes"][2]["children"] = json!([3]);
    maker.json["nodes"][2]["rotation"] = json!([0.0, 0.6, 0.0, 0.8]);
    maker.push("nodes", json!({ "name": "Jaw", "translation": [0.0, -0.1, 0.05], "scale": [2.0, 2.0, 2.0] }));
    let rig = maker.rig();
    let bone = |name: &str| RigMesh { name: name.to_owned(), shapes: Vec::new(), ..rig.skin().clone() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bones.glb");
    let roles = [("cranium", JointRole::Head), ("mandible", JointRole::Jaw)];
    let added = roles.map(|(name, role)| (bone(name), role));
    gltf::write_rig_with(&rig, &added, &path).unwrap();
    let written = gltf::Document::read(&path, &Limits::default()).unwrap().json;
    for ((name, _), joint) in roles.into_iter().zip([2, 3]) {
        let nodes = written["nodes"].as_array().unwrap();
        let node = nodes.iter().position(|node| node["name"] == name).unwrap();
        assert!(nodes[joint]["children"].as_array().unwrap().contains(&json!(node)), "{name}: {nodes:?}");
        assert_ne!(written["scenes"][0]["nodes"], json!([node]));
    }
    let again = read_rig(&path, &Limits::default()).unwrap();
    for (name, _) in roles {
        let found = again.meshes.iter().find(|mesh| mesh.name == name).unwrap();
        let off = found.positions.iter().zip(&rig.skin().positions).map(|(p, q)| p.distance(*q));
        assert!(off.fold(0.0, f32::max) < 1e-5, "{name}: {:?}", found.positions);
    }
}

#[test]
fn without_weight_on_the_head_the_heaviest_joint_counts() {
    let rig = skinned(0.0, true).rig();
    assert!(rig.skin().positions[0].length() < 1e-6);
}

#[test]
fn a_skin_without_matrices_was_bound_at_the_origin() {
    let rig = skinned(1.0, false).rig();
    assert!(rig.skin().positions[0].distance(Vec3::Y * 1.5) < 1e-6);
}

#[test]
fn broken_skins_are_named() {
    let refuse = |break_it: &dyn Fn(&mut Value), wanted: &str| {
        let mut maker = skinned(1.0, true);
        break_it(&mut maker.json);
        let error = maker.error();
        assert!(error.contains(wanted), "{error}");
    };
    refuse(&|json| json["nodes"][0]["skin"] = json!(5), "skin 5");
    refuse(&|json| json["skins"][0]["joints"] = json!([1, 77]), "node 77");
    refuse(&|json| json["skins"][0]["joints"] = json!([1]), "joint 1 of 1");
    refuse(&|json| json["skins"][0]["joints"] = json!([1, 1, 2]), "2 inverse bind matrices for 3 joints");
}

#[test]
fn a_skeleton_in_centimetres_scales_mesh_and_joints_alike() {
    let mut maker = skinned(1.0, true);
    maker.push("nodes", json!({ "name": "Armature", "children": [1], "scale": [100, 100, 100] }));
    maker.json["scenes"][0]["nodes"] = json!([0, 3]);
    maker.json["meshes"][0]["extras"] = json!({ "targetNames": ["jawOpen"] });
    let rig = maker.rig();
    // One lifted corner has no height, so that the unit must come from another shape.
    assert_eq!(rig.units.metres_per_unit, 1.0);
    let tall = [lift(0, 0.01), lift(2, 0.01)];
    let targets: Vec<Value> =
        tall.iter().map(|target| json!({ "POSITION": maker.floats("VEC3", target) })).collect();
    maker.json["meshes"][0]["primitives"][0]["targets"] = json!(targets);
    maker.json["meshes"][0]["extras"] = json!({ "targetNames": ["jawOpen", "browInnerUp"] });
    let rig = maker.rig();
    assert_eq!(rig.units.metres_per_unit, 0.01);
    assert!(rig.skin().positions[0].distance(Vec3::Y * 0.1) < 1e-6);
    assert!(rig.joints[0].position.distance(DVec3::Y * 1.5) < 1e-9);
}

fn vrm_0() -> Maker {
    let mut maker = Maker::square(&[lift(2, 0.01), lift(1, 0.02), lift(0, 0.02)]);
    maker.push("nodes", json!({ "name": "Kopf", "translation": [0.0, 0.0, 0.1] }));
    maker.push("nodes", json!({ "name": "head" }));
    maker.json["scenes"][0]["nodes"] = json!([0, 1, 2]);
    maker.json["extensionsUsed"] = json!(["VRM"]);
    maker.json["extensions"] = json!({ "VRM": {
        "humanoid": { "humanBones": [{ "bone": "head", "node": 1 }] },
        "blendShapeMaster": { "blendShapeGroups": [
            { "name": "Joy", "presetName": "joy", "binds": [{ "mesh": 0, "index": 1, "weight": 50 }] },
            { "name": "", "presetName": "sorrow", "binds": [
                { "mesh": 0, "index": 0, "weight": 100 }, { "mesh": 0, "index": 1, "weight": 25 } ] },
            { "name": "Lost", "binds": [{ "mesh": 0, "index": 9, "weight": 100 }] },
        ] },
    } });
    maker
}

#[test]
fn vrm_0_expressions_are_read_and_the_avatar_is_turned() {
    let rig = vrm_0().rig();
    assert_eq!(rig.skin().positions[1], Vec3::new(-0.2, 0.0, 0.0));
    assert!(rig.notes.iter().any(|note| note.contains("VRM 0.x")));
    let names: Vec<&str> = rig.skin().shapes.iter().map(|shape| shape.name.as_str()).collect();
    assert_eq!(names, ["shape 0", "Joy", "shape 2"], "an expression of one shape names it");
    let names: Vec<&str> = rig.expressions.iter().map(|expression| expression.name.as_str()).collect();
    assert_eq!(names, ["Joy", "sorrow", "Lost"]);
    assert_eq!(rig.expressions[0].binds[0].weight, 0.5);
    assert_eq!(rig.expressions[1].binds.len(), 2);
    assert!(rig.expressions[2].binds.is_empty());
    assert!(rig.notes.iter().any(|note| note.contains("\"Lost\"")));
    let head = &rig.joints[0];
    assert_eq!(head.name, "Kopf", "the declared bone wins over the name");
    assert!(head.position.distance(DVec3::Z * -0.1) < 1e-9);
}

#[test]
fn vrm_1_expressions_are_read_and_the_avatar_is_not_turned() {
    let mut maker = vrm_0();
    maker.json["extensions"] = json!({ "VRMC_vrm": {
        "specVersion": "1.0",
        "humanoid": { "humanBones": { "head": { "node": 1 }, "leftEye": { "node": 2 } } },
        "expressions": {
            "preset": { "happy": { "morphTargetBinds": [{ "node": 0, "index": 2, "weight": 0.75 }] } },
            "custom": { "wink": { "morphTargetBinds": [{ "node": 0, "index": 0, "weight": 1.0 }] } },
        },
    } });
    maker.json["extensionsRequired"] = json!(["VRMC_vrm", "KHR_materials_unlit", "KHR_texture_basisu"]);
    let rig = maker.rig();
    assert_eq!(rig.skin().positions[1], Vec3::new(0.2, 0.0, 0.0));
    let names: Vec<&str> = rig.expressions.iter().map(|expression| expression.name.as_str()).collect();
    assert_eq!(names, ["happy", "wink"]);
    let bind = rig.expressions[0].binds[0];
    assert_eq!((bind.mesh, bind.shape, bind.weight), (0, 2, 0.75));
    let roles: Vec<JointRole> = rig.joints.iter().map(|joint| joint.role).collect();
    assert_eq!(roles, [JointRole::Head, JointRole::LeftEye]);
}
