// What the page says when there is nothing to show, something went wrong, or a build is under way.

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
      say("The viewer is not running", "Start it again with “zygoma view”; this page comes back by itself.", true);
    } else if (link === "connecting") {
      say("Connecting", "", true);
    } else if (loading !== null) {
      say(`Reading ${loading}`, "", true);
    } else if (!scene) {
      say("Making the head", "", true);
    } else {
      box.hidden = true;
    }
  };
  state.link.watch(show);
  state.scene.watch(show);
  state.loading.watch(show);
  return box;
}

/** A sentence about what went wrong, until it is closed. */
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

/** How the build is coming along. */
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
  state.build.watch((build) => {
    const busy = build.state === "running" || build.state === "preview";
    card.hidden = !busy;
    if (!busy) return;
    title.textContent = build.state === "preview" ? "You can touch it already" : "Making it touchable";
    const seconds = build.seconds > 1 ? `, ${build.seconds.toFixed(0)} s` : "";
    stage.textContent = build.stage ? `${build.stage}${seconds}` : "";
    if (build.share === null) {
      if (build.state !== "preview") bar.removeAttribute("value");
    } else bar.value = build.share;
  });
  return card;
}

/** One word about what is simulated, for the top bar. */
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
    else if (build === "preview") say("preview", "busy", "touchable; the stiffness is still being fitted");
    else if (build === "running") say("building", "busy");
    else say("plain rig", "", "build its face to touch it");
  };
  state.build.watch(show);
  state.certificate.watch(show);
  state.link.watch(show);
  return chip;
}
