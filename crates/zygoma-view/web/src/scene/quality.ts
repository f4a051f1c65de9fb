// Keeps the picture fluent: less of it where the machine is slow.

/** One step of quality. */
export interface Quality {
  /** Pixels per pixel of the display, at most. */
  pixels: number;
  /** Size of the shadow map; 0 for none. */
  shadows: number;
}

const STEPS: Quality[] = [
  { pixels: 2, shadows: 2048 },
  { pixels: 1.5, shadows: 1024 },
  { pixels: 1, shadows: 0 },
  { pixels: 0.75, shadows: 0 },
  { pixels: 0.55, shadows: 0 },
  { pixels: 0.4, shadows: 0 },
];

/** Below this many frames a second less is drawn. */
const TOO_SLOW = 26;

/** Seconds over which frames are counted. */
const WINDOW = 1.2;

/** Whether a renderer is a program rather than a graphics card. */
export function isSoftware(gl: WebGLRenderingContext | WebGL2RenderingContext): boolean {
  const named = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

export class Governor {
  private step: number;
  private frames = 0;
  private since = performance.now();
  /** Frames a second, measured. */
  fps = 60;

  constructor(
    software: boolean,
    private readonly apply: (quality: Quality) => void,
  ) {
    this.step = software ? 3 : 0;
    this.tell();
  }

  private tell(): void {
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
    if (seconds < 2 * WINDOW && this.fps < TOO_SLOW && this.step < STEPS.length - 1) {
      this.step++;
      this.tell();
    }
  }

  /** Forgets what was counted, after something that took long. */
  pause(): void {
    this.frames = 0;
    this.since = performance.now();
  }
}
