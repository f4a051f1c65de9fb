//! Names of meshes and blendshapes when a file gives none, too few, or duplicates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::schema::Mesh;

/// A name that is not in `taken`: the name itself, or with the first free number appended.
pub(super) fn unique(name: String, taken: &mut BTreeMap<String, usize>) -> String {
    let mut number = taken.get(&name).copied().unwrap_or(1);
    let mut candidate = name.clone();
    while taken.contains_key(&candidate) {
        number += 1;
        candidate = format!("{name}_{number}");
    }
    taken.insert(name, number);
    taken.entry(candidate.clone()).or_insert(1);
    candidate
}

/// The names of a mesh's blendshapes: `extras.targetNames` of the mesh or of a primitive, else the names given by `otherwise`,
/// else numbers. Notes say where the file's names could not be kept.
pub(super) fn shape_names(
    mesh: &Mesh,
    mesh_name: &str,
    count: usize,
    otherwise: impl Fn(usize) -> Option<String>,
    notes: &mut Vec<String>,
) -> Vec<String> {
    let places =
        std::iter::once(&mesh.extras).chain(mesh.primitives.iter().map(|primitive| &primitive.extras));
    let lists: Vec<&Vec<Value>> = places.filter_map(|extras| extras.get("targetNames")?.as_array()).collect();
    let list = lists.iter().find(|list| list.len() == count);
    if let Some(wrong) = lists.first()
        && list.is_none()
    {
        notes.push(format!(
            "mesh \"{mesh_name}\" has {count} morph targets but {} names for them, which were ignored",
            wrong.len()
        ));
    }
    let mut taken = BTreeMap::new();
    let name = |index: usize| {
        let given = list.and_then(|list| list[index].as_str()).filter(|name| !name.is_empty());
        let name = given.map(str::to_owned).or_else(|| otherwise(index));
        let name = name.unwrap_or_else(|| format!("shape {index}"));
        let unique = unique(name.clone(), &mut taken);
        if unique != name {
            notes.push(format!(
                "mesh \"{mesh_name}\" has two shapes \"{name}\"; the later is \"{unique}\" here"
            ));
        }
        unique
    };
    (0..count).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(extras: &Value, primitive_extras: &Value, count: usize) -> (Vec<String>, Vec<String>) {
        let mesh: Mesh = serde_json::from_value(
            json!({ "extras": extras, "primitives": [{ "extras": primitive_extras }] }),
        )
        .unwrap();
        let mut notes = Vec::new();
        let names = shape_names(&mesh, "face", count, |_| None, &mut notes);
        (names, notes)
    }

    #[test]
    fn names_are_found_on_the_mesh_or_its_primitives() {
        let (found, notes) =
            names(&json!({ "targetNames": ["a", "b"] }), &json!({ "targetNames": ["c", "d"] }), 2);
        assert_eq!((found, notes.len()), (vec!["a".into(), "b".into()], 0));
        let (found, _) = names(&json!(null), &json!({ "targetNames": ["c", "d"] }), 2);
        assert_eq!(found, ["c", "d"]);
    }

    #[test]
    fn lists_of_the_wrong_length_or_type_give_numbers() {
        let (found, notes) = names(&json!({ "targetNames": ["a"] }), &json!({}), 2);
        assert_eq!((found, notes.len()), (vec!["shape 0".into(), "shape 1".into()], 1));
        assert_eq!(names(&json!({ "targetNames": "a" }), &json!(3), 1).0, ["shape 0"]);
        assert_eq!(names(&json!({ "targetNames": ["a", 7] }), &json!([]), 2).0, ["a", "shape 1"]);
    }

    #[test]
    fn the_same_name_twice_gets_a_number_that_is_free() {
        let (found, notes) = names(&json!({ "targetNames": ["a", "a_2", "a", "a"] }), &json!(null), 4);
        assert_eq!(found, ["a", "a_2", "a_3", "a_4"]);
        assert_eq!(notes.len(), 2);
    }
}
