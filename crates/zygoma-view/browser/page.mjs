// A running viewer, a browser, and words for what a user does.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { ZYGOMA = "zygoma", SHARED = "", SCREENSHOTS = "screenshots" } = process.env;
mkdirSync(SCREENSHOTS, { recursive: true });

/** How long anything may take, and how long a build may: machines that test are busy. */
const PATIENCE = 120_000;
const BUILD_PATIENCE = 400_000;

/** A file of the shared data, if it is there. */
export function shared(path) {
  const file = join(SHARED, path);
  return SHARED && existsSync(file) ? file : null;
}

/** Starts `zygoma view` and gives its address and a way to end it. */
export async function startServer(args = [], options = {}) {
  const cache = options.cache ?? mkdtempSync(join(tmpdir(), "zygoma-cache-"));
  const child = spawn(ZYGOMA, ["view", "--no-open", ...args], {
    env: { ...process.env, ZYGOMA_CACHE: cache },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const found = text.match(/http:\/\/\S+/);
      if (found) resolve(found[0]);
    });
    child.once("exit", (code) => reject(new Error(`zygoma view ended with ${code}: ${text}`)));
  });
  return {
    url,
    cache,
    port: new URL(url).port,
    /** Ctrl-C. */
    async stop() {
      if (child.exitCode !== null) return child.exitCode;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGINT");
      const code = await ended;
      if (!options.keepCache) rmSync(cache, { recursive: true, force: true });
      return code;
    },
    /** As if the machine had lost it. */
    async kill() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export async function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
  });
}

/** The farthest way of a point of the skin since it was remembered, in metres. */
function farthest() {
  const [before, now] = [window.remembered, window.zygoma.stage.head.skin.positions];
  let most = 0;
  for (let i = 0; i < before.length; i += 3) most = Math.max(most, Math.hypot(now[i] - before[i], now[i + 1] - before[i + 1], now[i + 2] - before[i + 2]));
  return most;
}

/** A tab with the viewer. Errors in its console fail the test that closes it. */
export class Viewer {
  constructor(page) {
    this.page = page;
    this.problems = [];
    /** While a server is down, a browser logs every attempt to reach it, and of being refused by the next launch. */
    this.mayLoseServer = false;
    page.on("pageerror", (error) => this.problems.push(error.message));
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      if (this.mayLoseServer && /WebSocket|ERR_CONNECTION|ERR_SOCKET_NOT_CONNECTED|403 \(Forbidden\)/.test(message.text())) return;
      // Software rendering is slow at reading pixels back, and Chromium says so.
      if (/GPU stall due to ReadPixels/.test(message.text())) return;
      this.problems.push(`${message.type()}: ${message.text()}`);
    });
  }

  /** Opens a tab; `scripts` run in it before the page's own. */
  static async open(browser, url, { scripts = [], ...options } = {}) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: "dark", ...options });
    page.setDefaultTimeout(PATIENCE);
    for (const script of scripts) await page.addInitScript(script);
    const viewer = new Viewer(page);
    await page.goto(url);
    return viewer;
  }

  /** Closes the tab, which must not have complained. */
  async close() {
    await this.page.close();
    assert.deepEqual(this.problems, [], "no errors in the console");
  }

  /** Waits until something about the page holds. */
  until(condition, argument) {
    return this.page.waitForFunction(condition, argument, { timeout: PATIENCE, polling: 100 });
  }

  /** Waits until the skin is fitted. */
  isBuilt() {
    const ready = () => window.zygoma.state.build.value.state === "ready";
    return this.page.waitForFunction(ready, undefined, { timeout: BUILD_PATIENCE, polling: 200 });
  }

  async isShown() {
    await this.until(() => window.zygoma?.state.scene.value && window.zygoma.frame());
  }

  /** The head that is shown now, for `isReplaced`. */
  head() {
    return this.page.evaluateHandle(() => window.zygoma.stage.head);
  }

  /** Waits until another head is shown: its pictures are read first. */
  async isReplaced(head) {
    await this.until((head) => window.zygoma.stage.head !== head, head);
  }

  async isTouchable() {
    await this.until(() => window.zygoma?.state.face.value && (window.zygoma.frame()?.flags & 1) !== 0);
  }

  /** Lets the face rest: no take, all sliders free. */
  async rest() {
    await this.page.getByLabel("Take", { exact: true }).selectOption("-1");
    await this.until(() => window.zygoma.frame()?.weights.every((weight) => weight === 0));
    await this.settled();
  }

  /** Waits until the skin no longer moves, that of a head that replaces this one meanwhile included. */
  async settled() {
    await this.page.evaluate(async () => {
      for (let quiet = 0, tries = 0; quiet < 3 && tries < 30; tries++) {
        const { head } = window.zygoma.stage;
        const before = head.skin.positions.slice();
        // A new head has no frame yet, and counts from the start.
        const number = window.zygoma.frame()?.number ?? 0;
        while (!(window.zygoma.frame()?.number >= number + 8) && window.zygoma.stage.head === head) await new Promise((resolve) => setTimeout(resolve, 30));
        const moved = before.reduce((most, value, i) => Math.max(most, Math.abs(value - head.skin.positions[i])), 0);
        quiet = moved < 2e-5 && window.zygoma.stage.head === head ? quiet + 1 : 0;
      }
    });
  }

  /** Waits for some more frames, however fast they come. */
  async moreFrames() {
    const number = await this.page.evaluate(() => window.zygoma.frame()?.number ?? 0);
    await this.until((number) => window.zygoma.frame()?.number > number + 3, number);
  }

  /** Where the middle of a region of the skin is on the page. */
  place(region) {
    return this.page.evaluate((region) => {
      const { stage } = window.zygoma;
      const { head } = stage;
      const sum = [0, 0, 0];
      let count = 0;
      for (let point = 0; point < head.skin.count; point++) {
        if (head.regionOf(point) !== region) continue;
        for (let axis = 0; axis < 3; axis++) sum[axis] += head.skin.positions[3 * point + axis];
        count++;
      }
      if (count === 0) throw new Error(`there is no ${region}`);
      const middle = stage.camera.position.clone().set(sum[0] / count, sum[1] / count, sum[2] / count);
      return stage.project(middle);
    }, region);
  }

  /** Remembers the skin as it is now. */
  async remember() {
    await this.page.evaluate(`window.farthest = ${farthest}`);
    await this.page.evaluate(() => {
      window.remembered = window.zygoma.stage.head.skin.positions.slice();
      window.rememberedNormals = window.zygoma.stage.head.skin.normals.slice();
    });
  }

  /** The largest displacement since, in millimetres: its length, its part along the old normal, and its region. */
  moved() {
    return this.page.evaluate(() => {
      const { head } = window.zygoma.stage;
      const [before, now, normals] = [window.remembered, head.skin.positions, window.rememberedNormals];
      let [most, point] = [0, 0];
      for (let i = 0; i < before.length; i += 3) {
        const d = Math.hypot(now[i] - before[i], now[i + 1] - before[i + 1], now[i + 2] - before[i + 2]);
        if (d > most) [most, point] = [d, i / 3];
      }
      let along = 0;
      for (let k = 0; k < 3; k++) along += (now[3 * point + k] - before[3 * point + k]) * normals[3 * point + k];
      return { most: 1000 * most, along: 1000 * along, region: head.regionOf(point) };
    });
  }

  /** Waits until the skin has moved by so many millimetres since it was remembered. */
  hasMoved(millimetres) {
    return this.until((metres) => window.farthest() > metres, millimetres / 1000);
  }

  /** Waits until the skin is within so many millimetres of where it was remembered. */
  isBack(millimetres) {
    return this.until((metres) => window.farthest() < metres, millimetres / 1000);
  }

  /** Waits until so many hands are drawn. */
  hasHands(count) {
    return this.until((count) => window.zygoma.stage.hands.count === count, count);
  }

  /** Colours of the picture on a coarse grid. */
  picture() {
    return this.page.evaluate(() => {
      const { stage } = window.zygoma;
      stage.render();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [96, 64];
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(stage.canvas, 0, 0, 96, 64);
      return Array.from(context.getImageData(0, 0, 96, 64).data);
    });
  }

  async screenshot(name) {
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  }

  /** Drops files or folders of this machine, as a file manager does. */
  async dropPaths(paths) {
    const devtools = await this.page.context().newCDPSession(this.page);
    const data = { items: [], files: paths, dragOperationsMask: 1 };
    for (const type of ["dragEnter", "dragOver", "drop"]) {
      await devtools.send("Input.dispatchDragEvent", { type, x: 600, y: 300, data });
    }
    await devtools.detach();
  }

  /** Drops files on the page: name and bytes. */
  async drop(files) {
    const data = files.map(({ name, bytes }) => ({ name, bytes: Buffer.from(bytes).toString("base64") }));
    await this.page.evaluate(async (files) => {
      const transfer = new DataTransfer();
      for (const { name, bytes } of files) {
        const content = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
        transfer.items.add(new File([content], name));
      }
      window.dispatchEvent(new DragEvent("dragenter", { dataTransfer: transfer }));
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
    }, data);
  }
}

/** How much of two pictures differs, 0 to 1. */
export function difference(a, b) {
  let different = 0;
  for (let i = 0; i < a.length; i += 4) {
    if (Math.abs(a[i] - b[i]) + Math.abs(a[i + 1] - b[i + 1]) + Math.abs(a[i + 2] - b[i + 2]) > 36) different++;
  }
  return different / (a.length / 4);
}
