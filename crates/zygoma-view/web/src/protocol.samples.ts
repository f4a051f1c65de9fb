// One message of every kind. The type checker compares them with our types, and tests/server/protocol.rs with the server's.

import type { AnatomyHeader, ClientMessage, FaceHeader, Scene, ServerMessage, StiffnessHeader } from "./protocol";

export const clientSamples = [
  { "type": "rate", "hertz": 60.0 },
  { "type": "ack", "frame": 12 },
  { "type": "show", "rig": true, "contacts": false, "volume": true, "lips": false, "cut": { "normal": [1.0, 0.0, 0.0], "height": 0.25 }, "stiffness": null },
  { "type": "show", "rig": false, "contacts": false, "volume": false, "lips": true, "cut": null, "stiffness": -1 },
  { "type": "body", "body": "tissue" },
  { "type": "params", "values": [["stiffness", 1.0], ["gravity.y", -9.81]] },
  { "type": "hold", "values": [[3, 0.5]] },
  { "type": "letGo", "controls": [3] },
  { "type": "letGo", "controls": null },
  { "type": "transport", "take": 1, "playing": true, "time": 0.5, "speed": 2.0, "looped": false, "headMotion": true },
  { "type": "transport", "take": null, "playing": null, "time": null, "speed": null, "looped": null, "headMotion": null },
  { "type": "press", "id": 1, "input": 7, "at": [0.5, 0.25, 0.125], "radius": 0.5, "force": 4.0 },
  { "type": "pull", "id": 1, "input": 8, "at": [0.5, 0.25, 0.125], "to": [0.5, 0.25, 0.25], "radius": 0.5 },
  { "type": "release", "id": 1, "input": 9 },
  { "type": "paint", "control": 3, "point": 120, "radius": 0.5, "mu": 20.0, "lambda": null, "erase": false },
  { "type": "clearPaint", "control": -1 },
  { "type": "hand", "side": "left", "input": 11, "space": "world", "joints": [[0.5, 0.25, 0.125, 0.0, 0.0, 0.0, 1.0]], "radii": [0.0625] },
  { "type": "pinch", "input": 12, "thumb": [0.5, 0.25, 0.125], "finger": [0.5, 0.5, 0.125], "outward": [0.0, 0.0, 1.0] },
  { "type": "gesture", "gesture": "poke", "at": "cheek-left", "toward": null, "input": 13 },
  { "type": "gesture", "gesture": "stroke", "at": "cheek-left", "toward": "ear-left", "input": 14 },
  { "type": "handAway", "side": "right", "input": 15 },
  { "type": "handAway", "side": null, "input": 16 },
  { "type": "dragHead", "held": true, "yaw": 0.5, "pitch": -0.25, "input": 10 },
  { "type": "dials", "seed": 4, "values": [["nose_length", 0.5]], "settled": true },
  { "type": "open", "upload": "rig.glb" },
  { "type": "open", "upload": null },
  { "type": "addTake", "upload": "take.csv" },
  { "type": "build", "triangles": 2000 },
  { "type": "cancelBuild" },
  { "type": "anatomy" },
  { "type": "record", "on": true }
] satisfies ClientMessage[];

export const serverSamples = [
  { "type": "welcome", "protocol": 1, "version": "0.1.0", "session": "0123", "bodies": [{ "name": "tissue", "label": "Tissue", "about": "A layer.", "hasVolume": true, "isPaintable": false }], "defaultBody": "tissue" },
  { "type": "loading", "name": "rig.glb" },
  { "type": "report", "report": { "name": "rig", "skin": "face", "meshes": [{ "name": "face", "vertices": 3, "triangles": 1, "shapes": ["jawOpen"], "size": [0.5, 0.25, 0.125] }], "arkit": { "count": 1, "of": 52, "missing": [] }, "units": { "metres_per_unit": 1.0, "reason": "why" }, "notes": [], "problems": [] } },
  { "type": "build", "state": "running", "stage": "fitting", "fraction": 0.5, "seconds": 1.5, "worst": null },
  { "type": "body", "shown": "shell", "wanted": "tissue", "isTouchable": true, "stages": ["solve"], "params": [{ "name": "stiffness", "value": 1.0, "least": 0.03125, "most": 32.0, "isFactor": true }], "buildStage": "starting", "fraction": 0.25, "seconds": 1.5, "note": "" },
  { "type": "pace", "milliseconds": 12.5, "speed": 1.0 },
  { "type": "tissue", "tetrahedra": 6000, "contacts": 50, "sticky": 110, "penetration": 0.0, "volume": 1.0, "change": 0.25, "inverted": 0 },
  { "type": "certificate", "holds": true, "reason": "why" },
  { "type": "gestures", "gestures": ["poke"], "places": ["cheek-left"] },
  { "type": "takes", "takes": [{ "name": "tour", "duration": 12.0, "headMotion": true, "unmatched": 0 }], "current": 0 },
  { "type": "recording", "state": "ready", "seconds": 2.5, "bytes": 1000 },
  { "type": "anatomy", "state": "ready", "note": "why" },
  { "type": "error", "message": "why" }
] satisfies ServerMessage[];

export const sceneSamples = [
  { "name": "head", "origin": "builtIn", "meshes": [{ "name": "skin", "look": "skin", "neutral": { "start": 0, "bytes": 12 }, "points": { "start": 12, "bytes": 4 }, "uvs": null, "triangles": { "start": 16, "bytes": 12 }, "coarse": { "triangles": { "start": 28, "bytes": 12 }, "ranges": [] }, "ranges": [{ "start": 0, "count": 1, "material": -1, "look": "skin" }], "regions": null }], "skin": 0, "controls": [{ "name": "jawOpen", "group": "Jaw" }], "dials": [{ "name": "size", "about": "larger", "value": 0.5 }], "texture": null, "materials": { "start": 28, "bytes": 4 }, "regions": ["head"], "bounds": [[0.0, 0.0, 0.0], [0.5, 0.25, 0.125]], "pivot": [0.0, 0.5, 0.0], "same": false }
] satisfies Scene[];

export const faceSamples = [
  { "height": 0.25, "shellTriangles": 2, "fitted": true, "edges": { "start": 0, "bytes": 8 }, "corners": { "start": 8, "bytes": 12 }, "shares": { "start": 20, "bytes": 12 }, "strain": { "start": 32, "bytes": 4 }, "bending": { "start": 36, "bytes": 4 }, "depth": { "start": 40, "bytes": 4 } }
] satisfies FaceHeader[];

export const stiffnessSamples = [
  { "control": 3, "spots": 12, "mu": { "start": 0, "bytes": 4 } }
] satisfies StiffnessHeader[];

export const anatomySamples = [
  { "muscle": { "positions": { "start": 0, "bytes": 12 }, "triangles": { "start": 12, "bytes": 12 } }, "corners": { "start": 24, "bytes": 12 }, "shares": { "start": 36, "bytes": 12 }, "cranium": { "positions": { "start": 48, "bytes": 12 }, "triangles": { "start": 60, "bytes": 12 } }, "mandible": { "positions": { "start": 72, "bytes": 12 }, "triangles": { "start": 84, "bytes": 12 } }, "joint": [0.0, 0.5, 0.25], "jaw": [{ "control": 4, "turn": [0.5, 0.0, 0.0], "glide": [0.0, 0.0, 0.25] }] }
] satisfies AnatomyHeader[];
