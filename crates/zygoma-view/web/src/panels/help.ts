// A page of keys.

import { h, iconButton } from "../dom";

const KEYS: [string, string][] = [
  ["Drag on the face", "press with a fingertip"],
  ["Shift + drag", "pull the skin"],
  ["Alt + drag", "shake the head"],
  ["Two fingers on the face", "pinch the skin and pull it along"],
  ["Double-click on tissue", "cut it open there"],
  ["Drag beside the face", "turn the camera"],
  ["Right button + drag", "move the camera"],
  ["Wheel", "zoom; while pressing, depth"],
  ["Space", "play or pause"],
  ["← →", "a frame back or forth; with Shift a second"],
  ["1 2 3 4 5", "press, pull, shake, camera, paint"],
  ["Shift + drag, painting", "take paint away"],
  ["Ctrl Z, painting", "take the last stroke back"],
  ["F", "show the whole face"],
  ["W  S  T  G", "mesh, split view, texture, graph"],
  ["O", "next overlay"],
  ["B  C", "next body; cut through the tissue"],
  ["R  0", "random expression, release all"],
  ["L  H", "loop, head motion"],
  ["/", "search expressions"],
  ["[  ]", "fold the left and the right panel"],
];

export function helpDialog(): HTMLDialogElement {
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Keys" },
    h("header", {}, h("h2", {}, "Touch and keys"), iconButton("close", "Close", () => dialog.close())),
    h("dl", {}, ...KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
