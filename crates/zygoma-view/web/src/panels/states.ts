// Messages of the page: nothing to show yet, errors, and progress of a build.

import type { Connection } from "../connection";
import { h, icon, iconButton } from "../dom";
import type { State } from "../state";

/** Over the picture: connecting, loading, lost. */
export function curtain(state: State): HTMLElement {
  const title = h("h2", {});
  const text = h("p", {});
  const spinner = h("div", { class: "spinner" });
  const box = h("div", { class: "curtain", role: "status" }, spinner, title, text);
  const show = () => {
    const [link, scene, loading] = [state.link.value, state.scene.value, state.loading.value];
    const say = (head: string, more: string, busy: boolean) => {
      title.textContent = head;
      text.textContent = more;
      spinner.hidden = !busy;
    };
    box.classList.toggle("over", scene !== null);
    box.hidden = false;
    if (link === "lost") {
      say("The viewer is not running", "Start it again with “zygoma view” and open the address that it prints.", true);
    } else if (link === "foreign") {
      say("zygoma was started again", "Every launch has its own address: open the one that it printed.", false);
    } else if (link === "connecting") {
      say("Connecting", "", true);
    } else if (loading !== null) {
      say(`Reading ${loading}`, state.loadingNote.value, true);
    } else if (!scene) {
      say("Loading the head", "", true);
    } else {
      box.hidden = true;
    }
  };
  state.link.watch(show);
  state.scene.watch(show);
  state.loading.watch(show);
  state.loadingNote.watch(show);
  return box;
}

/** An error message, until it is closed. */
export function errorBar(state: State): HTMLElement {
  const text = h("span", {});
  const bar = h(
    "div",
    { class: "error", role: "alert", hidden: true },
    icon("alert"),
    text,
    iconButton("close", "Close", () => state.error.set(null)),
  );
  state.error.watch((error) => {
    bar.hidden = error === null;
    text.textContent = error ?? "";
  });
  return bar;
}

/** Progress of building the face. */
export function buildCard(state: State, connection: Connection): HTMLElement {
  const title = h("strong", {});
  const stage = h("span", { class: "build-stage" });
  const bar = h("progress", { max: 1, "aria-label": "Progress of the build" });
  const cancel = h(
    "button",
    { type: "button", class: "button small", click: () => connection.send({ type: "cancelBuild" }) },
    "Cancel",
  );
  const card = h("div", { class: "build", hidden: true }, h("div", { class: "build-head" }, title, cancel), bar, stage);
  const show = () => {
    const build = state.build.value;
    const busy = build.state === "running" || build.state === "preview";
    card.hidden = !busy;
    if (!busy) return;
    const isTouchable = build.state === "preview" && state.body.value.isTouchable;
    title.textContent = isTouchable ? "You can touch it already" : build.state === "preview" ? "Fitting the shell" : "Building the face";
    const seconds = build.seconds > 1 ? `, ${build.seconds.toFixed(0)} s` : "";
    stage.textContent = build.stage ? `${build.stage}${seconds}` : "";
    if (build.fraction === null) {
      if (build.state !== "preview") bar.removeAttribute("value");
    } else bar.value = build.fraction;
  };
  state.build.watch(show);
  state.body.watch(show);
  return card;
}

/** A summary of a rig that was just opened, with a button that makes it touchable. */
export function welcomeCard(state: State, connection: Connection): HTMLElement {
  const title = h("strong", {});
  const facts = h("p", {});
  const problems = h("ul", { class: "notes problems" });
  let dismissed: unknown = null;
  const build = h(
    "button",
    { type: "button", class: "button primary", click: () => connection.send({ type: "build", triangles: 2000 }) },
    "Make it touchable",
  );
  const close = iconButton("close", "Only look at it", () => {
    dismissed = state.scene.value;
    show();
  });
  const card = h(
    "section",
    { class: "build card", "aria-label": "The rig that was opened", hidden: true },
    h("div", { class: "build-head" }, title, close),
    facts,
    problems,
    h("div", { class: "row" }, build),
  );
  const show = () => {
    const [scene, report, { state: building }] = [state.scene.value, state.report.value, state.build.value];
    const waits = building === "none" || building === "cancelled" || building === "failed";
    card.hidden = !scene || !report || scene.origin !== "rig" || !waits || scene === dismissed || state.face.value !== null;
    if (!report || card.hidden) return;
    const skin = report.meshes.find((mesh) => mesh.name === report.skin);
    const count = skin?.shapes.length ?? 0;
    title.textContent = report.name;
    facts.textContent = `${skin?.vertices.toLocaleString("en") ?? 0} vertices of skin, ${count} shapes, ${report.arkit.count} of ARKit’s ${report.arkit.of}. ${
      count > 0 ? "Building takes a few seconds." : "It has no blendshapes, so it cannot be touched: export it with its shape keys."
    }`;
    const found = report.problems.map((problem) => h("li", {}, icon("alert"), h("span", {}, problem)));
    const fine = h("li", { class: "fine" }, icon("check"), h("span", {}, "No problems for simulation were found."));
    problems.replaceChildren(...(found.length > 0 ? found.slice(0, 4) : [fine]));
    build.hidden = count === 0;
  };
  state.scene.watch(show);
  state.report.watch(show);
  state.build.watch(show);
  state.face.watch(show);
  return card;
}

/** The state of the face in one word, for the top bar. */
export function statusChip(state: State): HTMLElement {
  const chip = h("span", { class: "chip", role: "status" });
  const show = () => {
    const [{ state: build }, certificate, link] = [state.build.value, state.certificate.value, state.link.value];
    const say = (text: string, kind: string, title = "") => {
      chip.textContent = text;
      chip.className = `chip ${kind}`;
      chip.title = title;
    };
    if (link !== "open") say("offline", "warn");
    else if (build === "ready" && certificate?.holds) say("certified", "good", certificate.reason);
    else if (build === "ready") say("outside the certificate", "warn", certificate?.reason ?? "");
    else if (build === "preview") say("preview", "busy", "it can be touched; its stiffness is still being fitted");
    else if (build === "running") say("building", "busy");
    else if (state.face.value) say("preview", "warn", "it can be touched, with the same stiffness everywhere");
    else say("plain rig", "", "build its face to touch it");
  };
  state.build.watch(show);
  state.certificate.watch(show);
  state.face.watch(show);
  state.link.watch(show);
  return chip;
}
