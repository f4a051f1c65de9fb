// The rig that is shown: its contents, building its face, and downloads.

import type { Connection } from "../connection";
import { h, icon, section } from "../dom";
import type { State } from "../state";

const SIZES = [1000, 2000, 4000, 8000];

export function rigSection(state: State, connection: Connection, openFile: () => void): HTMLElement {
  const facts = h("dl", { class: "facts" });
  const problems = h("ul", { class: "notes problems" });
  const notes = h("ul", { class: "notes" });
  const size = h(
    "select",
    { "aria-label": "Triangles of the simulation mesh" },
    ...SIZES.map((value) => h("option", { value, selected: value === 2000 }, `${value.toLocaleString("en")} triangles`)),
  );
  const build = h(
    "button",
    { type: "button", class: "button", click: () => connection.send({ type: "build", triangles: Number(size.value) }) },
    "Build",
  );
  const download = h("a", { class: "button small", download: "face.safetensors" }, icon("download"), "Download face");
  const open = h("button", { type: "button", class: "button small", click: openFile }, icon("open"), "Open a rig…");
  const builtIn = h(
    "button",
    { type: "button", class: "button small", click: () => connection.send({ type: "open", upload: null }) },
    icon("head"),
    "Built-in head",
  );
  state.report.watch((report) => {
    if (!report) return;
    const skin = report.meshes.find((mesh) => mesh.name === report.skin);
    const all = report.meshes.reduce((sum, mesh) => sum + mesh.vertices, 0);
    const rows: [string, string][] = [
      ["Rig", report.name],
      ["Skin", `${report.skin}, ${skin?.vertices.toLocaleString("en") ?? 0} vertices`],
      ["Meshes", `${report.meshes.length}, ${all.toLocaleString("en")} vertices`],
      ["Shapes", `${skin?.shapes.length ?? 0}, ${report.arkit.count} of ${report.arkit.of} ARKit`],
      ["Size", skin ? `${skin.size.map((side) => (100 * side).toFixed(0)).join(" × ")} cm` : ""],
      ["Units", report.units.reason],
    ];
    facts.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    problems.replaceChildren(...report.problems.map((problem) => h("li", {}, icon("alert"), h("span", {}, problem))));
    if (report.problems.length === 0) {
      problems.append(h("li", { class: "fine" }, icon("check"), h("span", {}, "No problems for simulation were found.")));
    }
    notes.replaceChildren(...report.notes.map((note) => h("li", {}, h("span", {}, note))));
  });
  state.build.watch(({ state: building }) => {
    const busy = building === "running" || building === "preview";
    build.textContent = building === "ready" ? "Build again" : busy ? "Building…" : "Build";
    (build as HTMLButtonElement).disabled = busy;
    download.hidden = building !== "ready";
    download.href = `download/${state.session.value}/face.safetensors`;
  });
  state.scene.watch((scene) => {
    const isFace = scene?.origin === "face";
    build.hidden = isFace;
    size.hidden = isFace;
    builtIn.hidden = scene?.origin === "builtIn";
  });
  return section(
    "Rig",
    false,
    facts,
    problems,
    notes,
    h("div", { class: "row" }, size, build),
    h("div", { class: "row" }, download, open, builtIn),
  );
}
