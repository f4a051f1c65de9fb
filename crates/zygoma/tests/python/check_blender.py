"""Opens files in Blender (the bpy module) and reports what it sees as JSON on the last line of its output.

check_blender.py info FILE
    FILE is a .glb, .gltf or .obj: armatures with their bones, meshes with vertex and face counts, vertex
    groups, skin weights and shape keys, materials, images and actions.

check_blender.py cache MESH CACHE METRES_PER_UNIT FRAME=OBJ [FRAME=OBJ ...]
    Puts a .pc2 or .mdd on MESH with a mesh cache modifier and reports how far, in metres, its vertices are
    from those of the given OBJ files (in metres, in rig space) at these frames. METRES_PER_UNIT is the length
    of the mesh's own unit.
"""

import json
import sys
from pathlib import Path

import bpy
import numpy as np


def load(path):
    """Imports a file into an empty scene, vertices in the file's order."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if Path(path).suffix.lower() == ".obj":
        # These axes leave the coordinates as they are.
        bpy.ops.wm.obj_import(filepath=path, forward_axis="Y", up_axis="Z", validate_meshes=False)
    else:
        bpy.ops.import_scene.gltf(filepath=path)


def objects(kind):
    # The glTF importer draws bones with a shape of its own; that is no part of the file.
    shapes = {bone.custom_shape for rig in bpy.data.objects if rig.type == "ARMATURE" for bone in rig.pose.bones}
    return sorted(
        (thing for thing in bpy.data.objects if thing.type == kind and thing not in shapes),
        key=lambda thing: thing.name,
    )


def info(path):
    load(path)
    return {
        "armatures": [
            {"name": rig.name, "bones": sorted(bone.name for bone in rig.data.bones)}
            for rig in objects("ARMATURE")
        ],
        "meshes": [describe_mesh(thing) for thing in objects("MESH")],
        "materials": sorted(material.name for material in bpy.data.materials),
        "images": sorted(image.name for image in bpy.data.images),
        "actions": [
            {"name": action.name, "range": list(action.frame_range), "curves": len(action.fcurves)}
            for action in sorted(bpy.data.actions, key=lambda action: action.name)
        ],
    }


def describe_mesh(thing):
    mesh = thing.data
    keys = mesh.shape_keys.key_blocks if mesh.shape_keys else []
    weights = [group.weight for vertex in mesh.vertices for group in vertex.groups]
    return {
        "name": thing.name,
        "mesh": mesh.name,
        "vertices": len(mesh.vertices),
        "faces": len(mesh.polygons),
        "quads": sum(len(polygon.vertices) == 4 for polygon in mesh.polygons),
        "vertex_groups": sorted(group.name for group in thing.vertex_groups),
        "weights": len(weights),
        "weight_sum": float(np.sum(weights)),
        "shape_keys": [key.name for key in keys],
        "uv_layers": len(mesh.uv_layers),
        "armature": next((m.object.name for m in thing.modifiers if m.type == "ARMATURE" and m.object), None),
    }


def cache(mesh_path, cache_path, metres_per_unit, *expected):
    load(mesh_path)
    meshes = objects("MESH")
    if len(meshes) != 1:
        sys.exit(f"{mesh_path}: expected one mesh, found {len(meshes)}")
    thing = meshes[0]
    # Only the cache shall move the vertices.
    thing.modifiers.clear()
    if thing.data.shape_keys:
        thing.shape_key_clear()
    is_obj = Path(mesh_path).suffix.lower() == ".obj"
    modifier = thing.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format = Path(cache_path).suffix[1:].upper()
    modifier.filepath = str(Path(cache_path).resolve())
    modifier.interpolation = "NONE"
    modifier.frame_start = 0
    # The glTF importer turns +Y up into Blender's +Z up inside the mesh; the modifier must do the same.
    modifier.forward_axis, modifier.up_axis = ("POS_Y", "POS_Z") if is_obj else ("POS_Z", "NEG_Y")
    deviations = {}
    for item in expected:
        frame, path = item.split("=", 1)
        seen = cached_positions(thing, int(frame), is_obj) * float(metres_per_unit)
        wanted = obj_positions(path)
        if len(seen) != len(wanted):
            sys.exit(f"{path}: Blender's mesh has {len(seen)} vertices instead of {len(wanted)}")
        deviations[frame] = float(np.abs(seen - wanted).max())
    return {
        "vertices": len(thing.data.vertices),
        "faces": len(thing.data.polygons),
        "deviations": deviations,
        "max_deviation": max(deviations.values()),
    }


def cached_positions(thing, frame, is_obj):
    bpy.context.scene.frame_set(frame)
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    positions = np.empty(3 * len(evaluated.data.vertices), dtype=np.float32)
    evaluated.data.vertices.foreach_get("co", positions)
    positions = positions.reshape(-1, 3).astype(np.float64)
    # Blender's +Z up back to +Y up.
    return positions if is_obj else positions[:, [0, 2, 1]] * [1.0, 1.0, -1.0]


def obj_positions(path):
    with open(path, encoding="utf-8") as lines:
        return np.array([line.split()[1:4] for line in lines if line.startswith("v ")], dtype=np.float64)


def main():
    commands = {"info": (info, 1, 1), "cache": (cache, 4, None)}
    name, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    command, least, most = commands.get(name, (None, 0, 0))
    if command is None or len(arguments) < least or (most is not None and len(arguments) > most):
        sys.exit(__doc__)
    print(json.dumps(command(*arguments)), flush=True)


main()
