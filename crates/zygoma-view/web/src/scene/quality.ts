// Keeps the picture fluent: less of it where the machine is slow.

/** One step of quality. */
export interface Quality {
  /** Pixels per pixel of the display, at most. */
  pixels: number;
  /** Size of the shadow map; 0 for none. */
  shadows: number;
  /** Whether skin looks like skin: scattered light, reflections of the room. */
  rich: boolean;
  /** Whether creases get less light. */
  occlusion: boolean;
}

const STEPS: Quality[] = [
  { pixels: 2, shadows: 2048, rich: true, occlusion: true },
  { pixels: 1.5, shadows: 1024, rich: true, occlusion: true },
  { pixels: 1, shadows: 1024, rich: true, occlusion: false },
  { pixels: 1, shadows: 0, rich: true, occlusion: false },
  { pixels: 1, shadows: 0, rich: false, occlusion: false },
  { pixels: 0.75, shadows: 0, rich: false, occlusion: false },
  { pixels: 0.55, shadows: 0, rich: false, occlusion: false },
  { pixels: 0.4, shadows: 0, rich: false, occlusion: false },
];

/** Where software rendering starts. */
const MODEST = 4;

/** Below this many frames a second less is drawn; above that many, for a while, more is tried. */
const TOO_SLOW = 24;
const FAST = 50;

/** Measurements in a row that must be fast, at first. Every attempt that was too much doubles it, so that it ends. */
const FAST_IN_A_ROW = 6;

/** Seconds over which frames are counted. */
const WINDOW = 1.2;

let known: boolean | null = null;

/** Whether pictures are drawn by a program rather than a graphics card. */
export function isSoftware(): boolean {
  known ??= askRenderer();
  return known;
}

function askRenderer(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const named = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** The step that the address asks for (`?quality=0` is the best), for pictures of the page. */
function wanted(): number | null {
  const step = Number.parseInt(new URLSearchParams(location.search).get("quality") ?? "", 10);
  return step >= 0 && step < STEPS.length ? step : null;
}

/** Whether the address asks for a quality, whatever the machine can do. */
export const isFixed = () => wanted() !== null;

export class Governor {
  private step: number;
  private readonly fixed = wanted();
  private frames = 0;
  private since = performance.now();
  private fast = 0;
  private needed = FAST_IN_A_ROW;
  /** The best step that is tried. */
  private readonly best: number;
  /** Frames a second, measured. */
  fps = 60;

  constructor(
    software: boolean,
    private readonly apply: (quality: Quality) => void,
  ) {
    this.best = software ? MODEST : 0;
    this.step = this.fixed ?? this.best;
    this.notify();
  }

  private notify(): void {
    this.apply(STEPS[this.step] as Quality);
  }

  /** To be called for every frame that is drawn. */
  tick(now: number): void {
    this.frames++;
    const seconds = (now - this.since) / 1000;
    if (seconds < WINDOW) return;
    this.fps = this.frames / seconds;
    this.frames = 0;
    this.since = now;
    // A tab that was in the background has drawn little, and not because it is slow.
    if (seconds < 2 * WINDOW && this.fixed === null) this.choose();
  }

  /** Goes a step down when it is slow, and up again when it has been fast for long. */
  private choose(): void {
    this.fast = this.fps > FAST ? this.fast + 1 : 0;
    if (this.fps < TOO_SLOW && this.step < STEPS.length - 1) {
      this.step++;
      this.needed *= 2;
      this.notify();
    } else if (this.fast >= this.needed && this.step > this.best) {
      this.fast = 0;
      this.step--;
      this.notify();
    }
  }

  /** Forgets what was counted, after something that took long. */
  pause(): void {
    this.frames = 0;
    this.since = performance.now();
  }
}
