//! The data that VRM avatars add to glTF: the joints of the head, jaw and eyes, and expressions by name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::plan::MeshPlan;
use crate::{Expression, ExpressionBind, JointRole};

/// The face of a VRM avatar, of either version.
#[derive(Debug)]
pub(super) struct Vrm {
    /// VRM 0.x avatars look towards −Z, VRM 1.0 avatars towards +Z.
    pub(super) faces_backwards: bool,
    joints: Vec<(JointRole, usize)>,
    expressions: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    name: String,
    binds: Vec<Bind>,
}

/// One morph target's weight in an expression.
#[derive(Clone, Copy, Debug)]
struct Bind {
    owner: Owner,
    target: usize,
    weight: f64,
}

/// The owner of a morph target: VRM 0.x binds to meshes, VRM 1.0 to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Mesh(usize),
    Node(usize),
}

const BONES: [(&str, JointRole); 4] = [
    ("head", JointRole::Head),
    ("jaw", JointRole::Jaw),
    ("leftEye", JointRole::LeftEye),
    ("rightEye", JointRole::RightEye),
];

impl Vrm {
    /// `None` if the document is not a VRM.
    pub(super) fn read(json: &Value) -> Option<Self> {
        let extensions = json.get("extensions")?;
        if let Some(vrm) = extensions.get("VRMC_vrm") {
            return Some(Self::version_1(vrm));
        }
        extensions.get("VRM").map(Self::version_0)
    }

    fn version_0(vrm: &Value) -> Self {
        let bones = list(vrm.pointer("/humanoid/humanBones"));
        let joints = BONES.iter().filter_map(|(bone, role)| {
            let entry = bones.iter().find(|entry| entry.get("bone").and_then(Value::as_str) == Some(bone))?;
            Some((*role, index(entry, "node")?))
        });
        let groups = list(vrm.pointer("/blendShapeMaster/blendShapeGroups")).iter().filter_map(|group| {
            let bind = |bind: &Value| {
                let weight = bind.get("weight").and_then(Value::as_f64)? / 100.0;
                let owner = Owner::Mesh(index(bind, "mesh")?);
                Some(Bind { owner, target: index(bind, "index")?, weight })
            };
            let named = |key| group.get(key).and_then(Value::as_str).filter(|name| !name.is_empty());
            let name = named("name").or(named("presetName"))?.to_owned();
            Some(Group { name, binds: list(group.get("binds")).iter().filter_map(bind).collect() })
        });
        Self { faces_backwards: true, joints: joints.collect(), expressions: groups.collect() }
    }

    fn version_1(vrm: &Value) -> Self {
        let joints = BONES.iter().filter_map(|(bone, role)| {
            let entry = vrm.pointer("/humanoid/humanBones")?.get(bone)?;
            Some((*role, index(entry, "node")?))
        });
        let kinds = ["preset", "custom"].into_iter().filter_map(|kind| {
            vrm.get("expressions").and_then(|expressions| expressions.get(kind)).and_then(Value::as_object)
        });
        let groups = kinds.flatten().map(|(name, expression)| {
            let bind = |bind: &Value| {
                let weight = bind.get("weight").and_then(Value::as_f64)?;
                let owner = Owner::Node(index(bind, "node")?);
                Some(Bind { owner, target: index(bind, "index")?, weight })
            };
            let binds = list(expression.get("morphTargetBinds")).iter().filter_map(bind).collect();
            Group { name: name.clone(), binds }
        });
        Self { faces_backwards: false, joints: joints.collect(), expressions: groups.collect() }
    }

    /// The node that the avatar declares for a role.
    pub(super) fn joint(&self, role: JointRole) -> Option<usize> {
        self.joints.iter().find(|(declared, _)| *declared == role).map(|(_, node)| *node)
    }

    /// Names of morph targets, from expressions that consist of a single one.
    pub(super) fn shape_names(&self, plan: &MeshPlan) -> BTreeMap<usize, String> {
        let mut names = BTreeMap::new();
        for group in &self.expressions {
            if let [bind] = group.binds.as_slice()
                && bind.owner.is(plan)
            {
                names.entry(bind.target).or_insert_with(|| group.name.clone());
            }
        }
        names
    }

    /// The expressions in terms of the rig's meshes; notes name binds with missing targets.
    pub(super) fn expressions(&self, plans: &[MeshPlan], notes: &mut Vec<String>) -> Vec<Expression> {
        let expression = |group: &Group| {
            let mut binds = Vec::new();
            for bind in &group.binds {
                let users = plans.iter().enumerate().filter(|(_, plan)| bind.owner.is(plan));
                let found = binds.len();
                binds.extend(users.filter(|(_, plan)| bind.target < plan.targets).map(|(mesh, _)| {
                    ExpressionBind { mesh, shape: bind.target, weight: bind.weight as f32 }
                }));
                if found == binds.len() {
                    let note =
                        format!("expression \"{}\" drives a morph target that does not exist", group.name);
                    notes.push(note);
                }
            }
            Expression { name: group.name.clone(), binds }
        };
        self.expressions.iter().map(expression).collect()
    }
}

/// Removes the binds of expressions to a mesh whose morph targets have been replaced.
pub(super) fn drop_binds(json: &mut Value, mesh: usize, node: usize) {
    let drop_from = |binds: Option<&mut Value>, key: &str, owner: usize| {
        if let Some(Value::Array(binds)) = binds {
            binds.retain(|bind| index(bind, key) != Some(owner));
        }
    };
    if let Some(Value::Array(groups)) = json.pointer_mut("/extensions/VRM/blendShapeMaster/blendShapeGroups")
    {
        groups.iter_mut().for_each(|group| drop_from(group.get_mut("binds"), "mesh", mesh));
    }
    for kind in ["preset", "custom"] {
        let place = format!("/extensions/VRMC_vrm/expressions/{kind}");
        if let Some(Value::Object(expressions)) = json.pointer_mut(&place) {
            for expression in expressions.values_mut() {
                drop_from(expression.get_mut("morphTargetBinds"), "node", node);
            }
        }
    }
}

impl Owner {
    fn is(self, plan: &MeshPlan) -> bool {
        self == Self::Mesh(plan.mesh) || self == Self::Node(plan.node)
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn index(value: &Value, key: &str) -> Option<usize> {
    value.get(key)?.as_u64()?.try_into().ok()
}
