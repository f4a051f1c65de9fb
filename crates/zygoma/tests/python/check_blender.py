"""Opens files in Blender (the bpy module) and reports what it sees as JSON on the last line of its output.

check_blender.py info FILE
    FILE is a .glb, .gltf or .obj: armatures with their bones, meshes with vertex and face counts, vertex
    groups, skin weights and shape keys, materials, images and actions.

check_blender.py cache RIG MESH CACHE FRAME=OBJ [FRAME=OBJ ...]
    Puts a .pc2 or .mdd on the mesh MESH of RIG as docs/caches.md says, by its very lines, and reports how far, in metres, the vertices are
    from those of the given OBJ files (in metres, in rig space) at these frames.

check_blender.py played GLB FPS METRES_PER_UNIT MESH FRAME=OBJ [FRAME=OBJ ...]
    Plays the first clip of GLB and reports how far, in metres, the vertices of MESH are from those of the given OBJ files
    (in metres, in rig space, with head motion) at these frames; and how far they are from rest=OBJ when nothing plays.
"""

import json
import re
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


def cache(rig, name, path, *expected):
    load(rig)
    if Path(rig).suffix.lower() == ".obj":
        name = objects("MESH")[0].name
    page = (Path(__file__).parents[4] / "docs/caches.md").read_text(encoding="utf-8")
    recipe = page.split("```python\n")[1].split("```")[0]
    caches = json.dumps({name: str(Path(path).resolve())})
    exec(re.sub(r"^CACHES = .*$", lambda _: f"CACHES = {caches}", recipe, flags=re.MULTILINE), {})
    thing = next(thing for thing in objects("MESH") if name in (thing.name, thing.data.name))
    deviations = {}
    for item in expected:
        frame, wanted = item.split("=", 1)
        bpy.context.scene.frame_set(int(frame))
        deviations[frame] = deviation(thing, wanted)
    return {
        "vertices": len(thing.data.vertices),
        "faces": len(thing.data.polygons),
        "deviations": deviations,
        "max_deviation": max(deviations.values()),
    }


def deviation(thing, path, metres_per_unit=1.0):
    """The farthest that a vertex is from where an OBJ file has it."""
    seen, wanted = world_positions(thing) * metres_per_unit, obj_positions(path)
    if len(seen) != len(wanted):
        sys.exit(f"{path}: Blender's mesh has {len(seen)} vertices instead of {len(wanted)}")
    return float(np.linalg.norm(seen - wanted, axis=1).max())


def played(path, fps, metres_per_unit, name, *expected):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    # The importer turns seconds into frames of the scene.
    scene.render.fps, scene.render.fps_base = round(float(fps)), round(float(fps)) / float(fps)
    bpy.ops.import_scene.gltf(filepath=path)
    thing = next(thing for thing in objects("MESH") if name in (thing.name, thing.data.name))
    deviations = {}
    for item in expected:
        frame, wanted = item.split("=", 1)
        if frame == "rest":
            # Without its clip a mesh shows the file's default weights.
            thing.data.shape_keys.animation_data_clear()
            for key, weight in zip(thing.data.shape_keys.key_blocks[1:], default_weights(path, thing)):
                key.value = weight
        else:
            scene.frame_set(int(frame))
        deviations[frame] = deviation(thing, wanted, float(metres_per_unit))
    values = [key.value for key in thing.data.shape_keys.key_blocks[1:]] if thing.data.shape_keys else []
    return {
        "deviations": deviations,
        "max_deviation": max(deviations.values()),
        "shape_keys": len(values),
        "actions": sorted(action.name for action in bpy.data.actions),
    }


def default_weights(path, thing):
    """The weights that the GLB gives to the mesh of an object."""
    data = Path(path).read_bytes()
    document = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
    names = [key.name for key in thing.data.shape_keys.key_blocks[1:]]
    return next(mesh["weights"] for mesh in document["meshes"] if mesh.get("extras", {}).get("targetNames") == names)


def world_positions(thing):
    """Vertices as they are shown, in the file's coordinates."""
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    positions = np.empty(3 * len(evaluated.data.vertices), dtype=np.float32)
    evaluated.data.vertices.foreach_get("co", positions)
    world = np.array(evaluated.matrix_world, dtype=np.float64)
    positions = positions.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]
    return positions[:, [0, 2, 1]] * [1.0, 1.0, -1.0]


def obj_positions(path):
    with open(path, encoding="utf-8") as lines:
        return np.array([line.split()[1:4] for line in lines if line.startswith("v ")], dtype=np.float64)


def main():
    commands = {"info": (info, 1, 1), "cache": (cache, 4, None), "played": (played, 5, None)}
    name, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    command, least, most = commands.get(name, (None, 0, 0))
    if command is None or len(arguments) < least or (most is not None and len(arguments) > most):
        sys.exit(__doc__)
    print(json.dumps(command(*arguments)), flush=True)


main()
