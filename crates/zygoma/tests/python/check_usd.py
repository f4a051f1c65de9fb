"""Opens a USD file with Pixar's library and checks its largest mesh, which is animated.

check_usd.py FILE EXPECTED_SAMPLES EXPECTED_POINTS

Prints what it found as JSON; exits with 1 and a sentence if anything is not as expected.
"""

import json
import sys

from pxr import Usd, UsdGeom


def describe(path):
    stage = Usd.Stage.Open(path)
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    if not meshes:
        sys.exit(f"{path}: found no mesh")
    mesh = max(meshes, key=lambda mesh: len(mesh.GetPointsAttr().Get(0)))
    points = mesh.GetPointsAttr()
    times = points.GetTimeSamples()
    st = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    return {
        "meshes": {other.GetPrim().GetName(): len(other.GetPointsAttr().GetTimeSamples()) for other in meshes},
        "default_prim": str(stage.GetDefaultPrim().GetPath()),
        "metres_per_unit": UsdGeom.GetStageMetersPerUnit(stage),
        "up_axis": str(UsdGeom.GetStageUpAxis(stage)),
        "fps": stage.GetTimeCodesPerSecond(),
        "range": [stage.GetStartTimeCode(), stage.GetEndTimeCode()],
        "samples": len(times),
        "points": sorted({len(points.Get(time)) for time in times}),
        "faces": len(mesh.GetFaceVertexCountsAttr().Get()),
        "corners": len(mesh.GetFaceVertexIndicesAttr().Get()),
        "subdivision": mesh.GetSubdivisionSchemeAttr().Get(),
        "uv_interpolation": str(st.GetInterpolation()) if st.HasValue() else None,
        "uvs": len(st.ComputeFlattened()) if st.HasValue() else 0,
        "topology_error": topology_error(mesh),
        "extent_error": max(extent_error(mesh, time) for time in times) if times else None,
    }


def topology_error(mesh):
    counts = mesh.GetFaceVertexCountsAttr().Get()
    corners = mesh.GetFaceVertexIndicesAttr().Get()
    valid, reason = UsdGeom.Mesh.ValidateTopology(corners, counts, len(mesh.GetPointsAttr().Get(0)))
    return None if valid else reason


def extent_error(mesh, time):
    """How far the written bounds are from those of the points."""
    written = mesh.GetExtentAttr().Get(time)
    computed = UsdGeom.PointBased.ComputeExtent(mesh.GetPointsAttr().Get(time))
    return max((a - b).GetLength() for a, b in zip(written, computed))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    path, samples, points = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    found = describe(path)
    print(json.dumps(found))
    expected = {
        "samples": samples,
        "points": [points],
        "metres_per_unit": 1.0,
        "up_axis": "Y",
        "range": [0.0, samples - 1.0],
        "subdivision": "none",
        "topology_error": None,
        "extent_error": 0.0,
    }
    if found["uvs"]:
        expected |= {"uv_interpolation": "faceVarying", "uvs": found["corners"]}
    for key, value in expected.items():
        if found[key] != value:
            sys.exit(f"{path}: {key} is {found[key]} instead of {value}")


main()
