//! Triangles and texture coordinates of primitives.

use glam::{DMat2, DVec2, Vec2};
use serde_json::Value;

use super::Document;
use super::accessor::Accessors;
use super::plan::{Block, MeshPlan, Surface, plan_meshes};
use super::scene::Tree;
use super::schema::{Primitive, Schema};
use crate::formats::Limits;
use crate::{Result, UvMap};

/// The triangles of a mesh, primitive after primitive, over the vertices of its plan.
pub(super) fn triangles(
    document: &Document,
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
) -> Result<Vec<[u32; 3]>> {
    let found = by_primitive(document, schema, accessors, plan)?;
    Ok(found.into_iter().flat_map(|(_, triangles)| triangles).collect())
}

/// The primitives of a mesh in the order of its triangles, and how many triangles each has.
pub(super) fn triangle_counts(
    document: &Document,
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
) -> Result<Vec<(usize, usize)>> {
    let found = by_primitive(document, schema, accessors, plan)?;
    Ok(found.into_iter().map(|(index, triangles)| (index, triangles.len())).collect())
}

/// The vertices of a mesh as Blender's importer lists them: primitive after primitive, of each the vertices that its triangles use, in order.
/// `None` if these are simply all vertices in their order.
pub fn imported_order(document: &Document, mesh: usize, limits: &Limits) -> Result<Option<Vec<u32>>> {
    let schema = Schema::read(document)?;
    let tree = Tree::new(document, &schema)?;
    let accessors = Accessors::new(document, &schema, limits)?;
    let plans = plan_meshes(document, &schema, &tree, limits, &mut Vec::new())?;
    let Some(plan) = plans.get(mesh) else { return Ok(None) };
    let mut order = Vec::new();
    for (_, triangles) in by_primitive(document, &schema, &accessors, plan)? {
        let mut used = triangles.into_flattened();
        used.sort_unstable();
        used.dedup();
        order.extend(used);
    }
    let is_same = order.iter().copied().eq(0..plan.vertex_count() as u32);
    Ok((!is_same).then_some(order))
}

/// A primitive's index and its triangles.
type PrimitiveTriangles = (usize, Vec<[u32; 3]>);

fn by_primitive(
    document: &Document,
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
) -> Result<Vec<PrimitiveTriangles>> {
    let mut found: Vec<PrimitiveTriangles> = Vec::new();
    for block in &plan.blocks {
        for index in &block.primitives {
            let primitive = &schema.meshes[plan.mesh].primitives[*index];
            let place = || format!("primitive {index} of mesh \"{}\"", plan.name);
            found.push((*index, primitive_triangles(document, accessors, block, primitive, &place)?));
        }
    }
    found.sort_by_key(|(index, _)| *index);
    Ok(found)
}

fn primitive_triangles(
    document: &Document,
    accessors: &Accessors,
    block: &Block,
    primitive: &Primitive,
    place: &dyn Fn() -> String,
) -> Result<Vec<[u32; 3]>> {
    let (start, count) = (block.vertices.start as u32, block.vertices.len() as u32);
    let corners: Vec<u32> = match primitive.indices {
        Some(accessor) => accessors.indices::<1>(accessor)?.into_iter().map(|[corner]| corner).collect(),
        None => (0..count).collect(),
    };
    if let Some(lost) = corners.iter().find(|corner| **corner >= count) {
        let problem = format!("{} has vertex index {lost}, past the end of its {count} vertices", place());
        return Err(document.malformed(problem));
    }
    // A strip of n corners triples; the other topologies do not grow.
    accessors.charge(corners.len() as u64 * 12)?;
    let surface = Surface::of(primitive).unwrap_or(Surface::Triangles);
    let triangles = assemble(surface, &corners).into_iter();
    Ok(triangles.map(|triangle| triangle.map(|corner| corner + start)).collect())
}

/// Triangles from the corners of a list, strip or fan (glTF 2.0, section 3.7.2.1).
fn assemble(surface: Surface, corners: &[u32]) -> Vec<[u32; 3]> {
    match surface {
        Surface::Triangles => corners.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
        Surface::Strip => {
            let triangles = corners.windows(3).enumerate();
            let oriented =
                triangles.map(|(i, t)| if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[0], t[2], t[1]] });
            // Degenerate triangles only join one strip to the next.
            oriented.filter(|[a, b, c]| a != b && b != c && c != a).collect()
        }
        Surface::Fan => match corners {
            [hub, rim @ ..] => rim.windows(2).map(|edge| [edge[0], edge[1], *hub]).collect(),
            [] => Vec::new(),
        },
    }
}

/// Texture coordinates, one per vertex; none if no primitive has any.
pub(super) fn uvs(
    document: &Document,
    schema: &Schema,
    accessors: &Accessors,
    plan: &MeshPlan,
) -> Result<Option<UvMap>> {
    let primitives = &schema.meshes[plan.mesh].primitives;
    let source = |block: &Block| {
        block.primitives.iter().find_map(|index| {
            let primitive = &primitives[*index];
            Some((primitive, *primitive.attributes.get("TEXCOORD_0")?))
        })
    };
    if plan.blocks.iter().all(|block| source(block).is_none()) {
        return Ok(None);
    }
    let mut coordinates = vec![Vec2::ZERO; plan.vertex_count()];
    for block in &plan.blocks {
        let Some((primitive, accessor)) = source(block) else { continue };
        let given = accessors.vectors::<2>(accessor, Some(block.vertices.len()))?;
        let transform = match accessors.step(accessor) {
            // Integers are not texture coordinates yet: the material's texture size scales them.
            Some(1.0) => texture_transform(document, primitive),
            _ => TextureTransform::default(),
        };
        for (coordinate, given) in coordinates[block.vertices.clone()].iter_mut().zip(given) {
            *coordinate = transform.apply(given);
        }
    }
    Ok(Some(UvMap { coordinates, corners: None }))
}

/// `KHR_texture_transform` of a texture.
struct TextureTransform {
    offset: DVec2,
    linear: DMat2,
}

impl Default for TextureTransform {
    fn default() -> Self {
        Self { offset: DVec2::ZERO, linear: DMat2::IDENTITY }
    }
}

impl TextureTransform {
    fn apply(&self, [u, v]: [f32; 2]) -> Vec2 {
        (self.linear * DVec2::new(u.into(), v.into()) + self.offset).as_vec2()
    }
}

fn texture_transform(document: &Document, primitive: &Primitive) -> TextureTransform {
    let found = primitive.material.and_then(|index| {
        let material = document.list("materials").get(index)?;
        ["/pbrMetallicRoughness/baseColorTexture", "/normalTexture", "/emissiveTexture"]
            .iter()
            .find_map(|texture| material.pointer(texture)?.pointer("/extensions/KHR_texture_transform"))
    });
    let Some(transform) = found else { return TextureTransform::default() };
    let pair = |key: &str, otherwise: DVec2| {
        let numbers = transform.get(key).and_then(Value::as_array);
        let number = |k: usize| numbers.and_then(|numbers| numbers.get(k)?.as_f64());
        DVec2::new(number(0).unwrap_or(otherwise.x), number(1).unwrap_or(otherwise.y))
    };
    let scale = pair("scale", DVec2::ONE);
    let (sin, cos) = transform.get("rotation").and_then(Value::as_f64).unwrap_or(0.0).sin_cos();
    // The extension's rotation is clockwise in a frame whose v points down.
    let rotation = DMat2::from_cols(DVec2::new(cos, -sin), DVec2::new(sin, cos));
    TextureTransform { offset: pair("offset", DVec2::ZERO), linear: rotation * DMat2::from_diagonal(scale) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_alternate_and_drop_their_joints() {
        let strip = assemble(Surface::Strip, &[0, 1, 2, 3, 3, 4, 4, 5, 6]);
        assert_eq!(strip, [[0, 1, 2], [1, 3, 2], [4, 5, 6]]);
        assert!(assemble(Surface::Strip, &[0, 1]).is_empty());
    }

    #[test]
    fn fans_turn_around_their_hub() {
        assert_eq!(assemble(Surface::Fan, &[9, 1, 2, 3]), [[1, 2, 9], [2, 3, 9]]);
        assert!(assemble(Surface::Fan, &[]).is_empty());
    }

    #[test]
    fn lists_ignore_what_is_left_over() {
        assert_eq!(assemble(Surface::Triangles, &[0, 1, 2, 3, 4]), [[0, 1, 2]]);
    }
}
